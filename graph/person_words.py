"""Word lists for name parts: titles, surnames, given names, corporate suffixes.

English words are lower case and without accents, as name keys are.
"""

from __future__ import annotations

_MALE = "mr mister sir lord king prince duke uncle father brother baron monsieur"
_FEMALE = """
mrs ms miss madam madame mme lady queen princess duchess aunt sister dame mother baroness
"""
_NEUTRAL = """
dr doctor prof professor captain capt colonel col general gen major lieutenant lt sergeant sgt
reverend rev judge president senator governor chancellor minister commander admiral inspector
director chairman bishop archbishop pope saint st emperor empress count hon mayor harbourmaster
"""
MALE_TITLES = frozenset(_MALE.split())
FEMALE_TITLES = frozenset(_FEMALE.split())
TITLES = MALE_TITLES | FEMALE_TITLES | frozenset(_NEUTRAL.split())

MARRIED_TITLES = frozenset({"mrs", "lady", "madame", "mme", "夫人", "太太"})
"""Titles that may go with a husband's name: the full name at hand may be his."""
NAMELIKE_TITLES = frozenset(
    {"general", "major", "saint", "st", "count", "prince", "king", "sister"}
)
"""Titles that also begin other names: "General Electric", "St Ives"."""

GENERATIONS = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
"""Generation suffixes that separate parent and child."""

_NAMED_AFTER_PERSONS = """
& and academy airport arena award awards band bridge building center centre church college
collection company cup ensemble expedition experience foundation fund gallery group hall hospital
house institute lecture library medal memorial motors museum mysteries orchestra park prize
quartet quintet records school series sextet show singers society stadium story street studio
studios theater theatre tour tower trio trophy trust university
"""
NAMED_AFTER_PERSONS = frozenset(_NAMED_AFTER_PERSONS.split())
"""Class words that make a personal name something else."""

_CORPORATE = """
ltd limited inc incorporated corp corporation co company llc plc gmbh ag sa nv bv oy ab
"""
CORPORATE_SUFFIXES = frozenset(_CORPORATE.split())

_HAN_TITLES = """
博士 教授 先生 女士 小姐 夫人 太太 站长 所长 院长 校长 局长 部长 市长 县长 镇长 主任 主席 总统 总理
将军 上校 少校 上尉 老师 医生 大夫 律师 经理 总经理 董事长 队长 船长 工程师 秘书长 书记 研究员 馆长
会长 村长 社长 总监 议员 法官 同志 师傅 警官 导演 教练 大使 司令 参谋长 行长 处长 科长 组长 班长
省长 委员 检察官 记者 编辑 总 丞相 太尉 太傅 都督 太守 使君 公
"""
HAN_TITLES = tuple(_HAN_TITLES.split())
VENERABLE = "公"
"""A title of old texts that modern ones have in other words as well (雷公, 周公)."""
HAN_MALE_TITLES = frozenset({"先生"})
HAN_FEMALE_TITLES = frozenset({"女士", "小姐", "夫人", "太太"})

_COMPOUND_SURNAMES = """
欧阳 司马 诸葛 上官 夏侯 东方 皇甫 尉迟 公孙 令狐 慕容 司徒 宇文 长孙 太史 端木 独孤 南宫 百里
"""
COMPOUND_SURNAMES = frozenset(_COMPOUND_SURNAMES.split())
SURNAMES = frozenset(
    "王李张刘陈杨黄赵周吴徐孙朱马胡郭林何高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁"
    "沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾赖武康贺严尹钱"
    "施牛洪龚汤陶黎温莫易樊乔文安殷颜庄章鲁倪庞邢俞翟蓝聂齐向申葛柴伍覃骆关焦柳欧祝纪尚毕耿芦左季管苗"
    "詹曲靳祁路涂宁费霍阮裴柯荀甘邝闵简盛鲍房辛凌卫解虞冉岳褚边姬穆桂牟刁臧娄车卓糜典蒯滕麋审淳宗"
)

_GIVEN_NAMES = """
aaron adam alan albert alex alexander alfred alice amanda amy andrea andrew angela ann anna anne
anthony arthur barbara ben benjamin bernard betty bill bob brian bruce carl carlos carol caroline
catherine charles charlie charlotte chris christian christina christine christopher claire daniel
david deborah dennis diana donald dorothy douglas edward edwin eleanor elizabeth ellen emily emma
eric ernest eugene eva evelyn florence frances francis frank fred frederick gary george gerald
grace greg gregory hannah harold harry heather helen henry herbert howard hugh ian irene isabel
jack jacob james jane janet jason jean jeff jennifer jerry jessica jim joan joe john jonathan jose
joseph joyce juan judith julia julie karen karl kate katherine keith kelly ken kenneth kevin kim
larry laura lawrence lee leo leon leonard lewis linda lisa louis louise lucy luke margaret maria
marie mark martha martin mary matthew max michael michelle mike nancy nicholas nick nicole oliver
oscar pamela patricia patrick paul peter philip rachel ralph raymond rebecca richard robert roger
ronald rose roy russell ruth ryan sam samuel sandra sara sarah scott sean sharon simon sophia
sophie stephen steve steven stuart susan teresa theodore thomas tim timothy tom tony victor
victoria vincent walter wayne wendy william
"""
COMMON_GIVEN_NAMES = frozenset(_GIVEN_NAMES.split())
"""Given names so common that one alone says too little about who is meant."""
