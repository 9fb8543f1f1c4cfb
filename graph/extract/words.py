"""Word lists of the LLM-free extractor, English and Chinese."""

from __future__ import annotations

_PLACE_WORDS = """
river lake island islands bay harbour harbor street road avenue square mountain mountains valley
county province strait peninsula cape bridge lighthouse beach canal peak coast sea ocean village
town sound isle isles
"""
_ORGANISATION_WORDS = """
university college institute institution council committee commission ministry department agency
company corporation association society foundation trust ltd inc gmbh llc plc bank party union
academy authority consortium bureau laboratory school hospital group league federation office
board
"""
_EVENT_WORDS = """
war battle festival olympics championship championships inquiry expedition conference referendum
summit election revolution treaty storm disaster siege
"""
HEAD_WORDS = (
    ("ORGANISATION", frozenset(_ORGANISATION_WORDS.split())),
    ("PLACE", frozenset(_PLACE_WORDS.split())),
    ("EVENT", frozenset(_EVENT_WORDS.split())),
)
"""Head words of names and the type that they tell."""

_VAGUE_NOUNS = """
time year day week month way thing part number man woman people person one lot kind sort case fact
place side end point hand today morning evening night use name amount piece couple bit example
role class work son daughter brother sister father mother wife husband child family life world
addition result order set group member reason term century decade hour minute
"""
VAGUE_NOUNS = frozenset(_VAGUE_NOUNS.split())
"""Nouns that make no noun phrase worth a concept."""

_VAGUE_MODIFIERS = """
other many same such several few more most own first last next new old great good different
various
certain whole entire only much little second third former latter recent early late current
previous
following
"""
VAGUE_MODIFIERS = frozenset(_VAGUE_MODIFIERS.split())

_NEVER_FIRST = """
yesterday today tomorrow tonight now then here there still yet perhaps maybe suddenly meanwhile
later
soon ask see note sometimes
"""
NEVER_FIRST = frozenset(_NEVER_FIRST.split())
"""Words that begin sentences and no names, whatever a tagger says."""

_CLASS_NOUNS = """
project programme program institute company station island river ship vessel team family school
band
film novel book song album festival agency council committee university college group party bridge
harbour museum system cable protocol expedition inquiry award prize sauce dish label club magazine
journal newspaper airport airline stadium tower castle railway rocket satellite mission
"""
CLASS_NOUNS = frozenset(_CLASS_NOUNS.split())
"""Class nouns after names: "the Apollo programme"."""

_HAN_ORGANISATIONS = """
大学 学院 研究所 研究院 研究中心 公司 集团 委员会 理事会 议会 银行 协会 学会 基金会 报社 出版社
博物馆
图书馆 医院 中学 小学 剧院 电台 电视台 俱乐部 联盟 联合会 工会 法院 警察局 海洋局 政府 事务所
实验室
工作室 乐队 球队 舰队 档案馆 观测站 测候站 气象站 工作站 研究站 水文站 站 局 厅 署 党 社 厂 队
"""
_HAN_PLACES = """
市 县 省 镇 村 区 乡 州 岛 群岛 半岛 湾 河 江 山 湖 海 港 路 街 桥 寺 塔 灯塔 火车站 车站 码头
广场 公园
海峡 盆地 高原 峡 礁 堤
"""
_HAN_PROJECTS = """
计划 工程 项目 海缆 电缆 协议 号
"""
_HAN_EVENTS = """
战役 之战 事件 运动 起义 大会 会议 奥运会 锦标赛 杯赛 条约 风暴
"""
HAN_SUFFIXES = tuple(
    sorted(
        [(suffix, "ORGANISATION") for suffix in _HAN_ORGANISATIONS.split()]
        + [(suffix, "PLACE") for suffix in _HAN_PLACES.split()]
        + [(suffix, "EVENT") for suffix in _HAN_EVENTS.split()]
        + [(suffix, "NAME") for suffix in _HAN_PROJECTS.split()],
        key=lambda pair: (-len(pair[0]), pair[0]),
    )
)
"""`(suffix, type)`, the longest first."""
HAN_EVENT_SUFFIXES = tuple(_HAN_EVENTS.split())

_HAN_VAGUE = """
时候 时间 地方 方面 问题 情况 东西 事情 人们 人员 部分 方式 方法 原因 结果 内容 工作 一部分 目前
期间 世纪
年代 先生 女士 博士 教授 人物 作品 故事 名字 名称 地区 国家 城市 学生 老师 孩子 女子 男子 父亲
母亲 儿子
女儿 兄弟 同时 机会 关系 影响 活动 作用 历史 世界 社会 生活 身份 意思 样子 声音 站长 所长 部长
火车站 车站
欧元 美元 英镑 日元 人民币 中文 英文 汉语 英语 论文 顾问 加盟 出场 对阵 客场 主场 比赛 网站
官方网站 码头 政府 公司 大学 学院 本站 全市 全省 全县
"""
HAN_VAGUE = frozenset(_HAN_VAGUE.split())

_HAN_AUXILIARIES = """
有 能 会 可以 要 想 应该 可能 必须 开始 继续 使 让 令 没有 没 不 称 称为 叫 姓 名
"""
HAN_AUXILIARIES = frozenset(_HAN_AUXILIARIES.split())
HAN_OFFICES = frozenset({"任", "担任", "曾任", "出任", "兼任", "现任", "就任"})
HAN_NEGATIONS = frozenset(
    {"不", "没", "没有", "未", "未能", "从未", "并非", "不是", "非", "别", "无"}
)
TRANSLITERATION = frozenset(
    "阿埃艾爱安昂奥巴白班邦保贝本比彼宾波伯博布查达戴丹当德迪蒂丁顿多恩尔法凡菲费芬冯佛弗福盖冈高戈格贡古"
    "哈海汉豪赫亨胡华怀霍基吉加贾杰金卡凯坎康考科克肯库夸拉莱兰朗劳勒雷里理利丽莉莲良列林琳龙隆卢鲁露伦罗"
    "洛吕马玛迈麦曼毛梅门蒙孟米密蜜明莫默姆穆纳娜南内尼妮宁纽努诺欧帕潘庞佩彭皮平珀普齐奇恰乔切琼丘让热日"
    "荣茹瑞萨塞赛桑瑟森莎沙珊什圣施史舒斯丝司苏索塔泰坦汤唐特滕提廷图托瓦娃万旺威韦维魏温沃乌武伍西希锡"
    "席夏香肖歇谢辛休逊雅亚延扬耶叶伊依因英尤约宰泽扎詹珍芝朱兹佐派登敦堡津勃策察杜嘉捷瑙佳廖缅契松厄危瓜"
)
"""Characters with which Chinese writes foreign names."""
