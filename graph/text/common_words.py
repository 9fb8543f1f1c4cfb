"""Shares of texts in which common nouns and adjectives stand: a fixed reference for key phrases.

Counted once in passages of encyclopaedic articles, papers, meetings, manuals and novels, in English
and Chinese; a word is listed if several of these kinds have it. A word that is not listed is rarer
than all of these. The list is fixed, so that what is characteristic of one text never depends on
another one.
"""

from __future__ import annotations

import math

_FREQUENT = """
american area cell country early film first high human level many member more number other part
result role state study such system time year 名称 工作 情况 文件 服务 部分
"""
_COMMON = """
activity analysis body case central change child city common company complex control datum day
death development different disease effect event example family force form former french
function general good government great group growth hand head higher important independent key
large largest last law life line little long low major man model most music name new non old own
patient people period place political population power problem process production public region
response right same season second series several significant single site small specific
television term third total type use various way woman work world 一人 事件 位置 先生 公司 内容
国家 国际 地址 地方 数据 方法 时间 消息 版本 结果 设计 语言 项目
"""
_KNOWN = """
ability action active addition age approach article available band basis blood book brother
building business canadian capital cause center chain character chinese church class community
component condition culture current decade decision degree design direct director distinct
division economic education end energy european evidence eye face feature few field figure
foreign formation free full game german greater half health heart history home host hour house
idea indian individual infection influence information institution interest international island
land late lead light like limited local location loss lower main majority meeting method month
movement much multiple national native nature necessary network next night novel office official
one only open order organization origin original particular party physical player point policy
position possible practice presence present primary principle professional program project
property purpose rate recent record regulation relationship release research responsible room
rule school self service set short show side similar simple son song source space stage steam
story strong structure style subject surface survival team thing today top town unit unknown
voice water week weight west western word young 下文 两人 中文 任务 会议 保护 全部 协议 名字
地下 大小 学校 意思 技术 日志 时候 机会 来源 母亲 法律 父亲 相关 知识 结构 编号 船上 船只 西方
身份 限制 颜色
"""
_SELDOM = """
able academic act additional administration advance agent air alternative ancient animal answer
anti appearance architecture arm attack australian author authority average barrier base
beginning best black border brain branch campaign candidate capacity care centre certain
challenge chamber channel charge chief civil classic clear close coach cold collection
combination commercial communication competition complete concept connection consequence contact
core course crime date daughter defense destruction difficult disorder distance district
domestic double due earlier effort element entire entry environment equal era establishment
expansion extensive external fact fall father female final financial focus following food foot
format fourth friend further future generation global gold grade ground heavy highest
improvement income industry initial instance internal interview invasion issue italian joint
kind knowledge lack larger latter least length less library likely limit link list male
management manner map market mass matter medium memory middle mind minute money mother musical
natural need negative northern notable nuclear numerous object observation oil older opening
operation opportunity overall paper participant partner passenger past path pattern performance
person plan plant portion positive post pre previous price private product prominent protection
province publication quarter question radio range rare real reason recognition red reduction
reference reform relation report representative requirement resident resistance resource rest
rich river road rock round scale science score screen sea seat section separate session severe
sex sister situation size smaller social society spanish special spirit sport stable standard
station status street substantial success successful sufficient summer support technique
technology temperature terminal test trade traditional transmission trial true turn university
value variety version video view volume white whole wide wife wind winter 一方 专利 主张 争议
事务 事情 事故 人情 作者 做法 冲突 基金 声音 大会 大楼 姓名 岸上 建议 意见 报告 数字 方案 日期
朋友 未知 条款 档案 比例 父母 理由 申请 电话 答案 缩写 规定
"""

_BANDS = ((0.07, _FREQUENT), (0.035, _COMMON), (0.018, _KNOWN), (0.009, _SELDOM))
_SHARE = {word: share for share, words in _BANDS for word in words.split()}
_RARE = 0.002
"""The share of a word that is not listed."""


def rarity(word: str) -> float:
    """Return how much a word of a text says about it: the logarithm of its inverse share."""
    return -math.log(_SHARE.get(word, _RARE))


def is_common(word: str) -> bool:
    """Check for a common noun or adjective, also in the plural."""
    return word in _SHARE or word.removesuffix("s") in _SHARE
