"""Word lists for names: common headings, and words that are no names alone.

English and Chinese; all lower case and without accents, as name keys are.
"""

from __future__ import annotations

_ONE_WORD_HEADINGS = """
abstract acknowledgement acknowledgements acknowledgment acknowledgments addendum agenda annex
answer answers appendices appendix article attachments background bibliography body chapter
chapters conclusion conclusions contact contacts content contents copyright cover credits data
definition definitions description details discussion disclaimer document documents draft
epilogue example examples faq figure figures footnotes foreword general glossary
heading history home index info information intro introduction license licence links list
main method methodology methods minutes misc miscellaneous more motivation news note notes
objective objectives other outline overview page part preamble preface prologue purpose
question questions readme reference references related remarks report result results review
scope section see slide sheet source sources subject summary table tables text title topic
topics unknown untitled usage
"""

_LONGER_HEADINGS = """
table of contents; see also; further reading; external links; related work; executive summary
getting started; frequently asked questions; list of figures; list of tables
materials and methods; future work; early life; personal life; key points; next steps
action items; release notes; change log; changelog; new document; untitled document
microsoft word; powerpoint presentation
"""

_CHINESE_HEADINGS = """
引言 目录 目錄 前言 序言 序 绪论 緒論 摘要 概述 概要 概览 简介 簡介 介绍 介紹 背景 总结 總結 小结
结论 結論 结语 讨论 附录 附錄 参考 参考文献 參考文獻 参考资料 致谢 后记 後記 正文 内容 说明 說明
定义 方法 结果 图表 索引 历史 歷史 其他 备注 注释 问题 常见问题 联系方式 外部链接 相关条目 更多
无标题 标题 文档 报告
"""

GENERIC_HEADINGS = frozenset(
    [
        *_ONE_WORD_HEADINGS.split(),
        *(h.strip() for line in _LONGER_HEADINGS.split("\n") for h in line.split(";")),
        *_CHINESE_HEADINGS.split(),
    ]
)

_FUNCTION_WORDS = """
a about above according across actually additionally after afterwards again against all almost
along already also although always am among amongst an and another any anybody anyone anything
are aren't around as at away back be became because become been before behind being below
beneath beside besides between beyond both briefly but by can cannot can't consequently could
couldn't currently dear despite did didn't do does doesn't doing don't down due during each
earlier either else even eventually ever every everybody everyone everything except few finally
first firstly following for formerly fortunately from further furthermore generally give given
go had has have having he he'd he'll hello hence her here hers herself he's him himself his
historically how however i i'd if i'll i'm in including indeed initially instead into is isn't
it its it's itself i've just last lastly later latter less let let's like likewise many may
maybe me meanwhile might more moreover most mostly much must my myself namely near nearly
neither never nevertheless next no nobody none nonetheless nor not nothing notably now nowadays
of off often oh ok on once one ones only onto opposite or originally other others otherwise our
ours ourselves out over overall own per perhaps please plus previously prior probably quite
rather re really recently regarding same second secondly several shall she she'd she'll she's
should since so some somebody someone something sometimes somewhat soon specifically still
subsequently such than thank thanks that that's the their theirs them themselves then thence
there thereafter thereby therefore there's these they they'd they'll they're they've third this
those though three through throughout thus till to today together too toward towards two
typically under unfortunately unless unlike until unto up upon us usually various very via was
wasn't we we'd well we'll were we're we've what whatever what's when whence whenever where
whereas whereby wherein wherever whether which while who whoever whole whom who's whose why will
with within without won't would wouldn't yes yet you you'd you'll your you're yours yourself
yourselves you've
"""

FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Sentence-initial words that are no names by themselves."""

_CALENDAR = """
january february march april may june july august september october november december jan feb mar
apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
ad bc bce ce am pm
"""

CALENDAR = frozenset(_CALENDAR.split())

_JOINTS = """
of de del della delle der den des di da das do dos du van von vom zu zur la le las los les el al
bin ibn ben & y for
"""

JOINTS = tuple(_JOINTS.split())
"""Small words over which a run of capitalised words goes on."""

_CHINESE_FUNCTION_WORDS = """
我们 你们 他们 她们 它们 自己 大家 这个 那个 这些 那些 什么 怎么 怎样 如何 为什么 哪些 哪个 哪里
谁的 因为 所以 但是 如果 虽然 然而 而且 并且 或者 以及 还有 由于 对于 关于 根据 通过 进行 可以 可能
应该 需要 没有 不是 就是 已经 正在 现在 目前 当时 以后 以前 之后 之前 其中 其他 其它 一个 一些 一种
一样 这样 那样 这里 那里 时候 时间 今天 明天 昨天 今年 去年 明年 不同 主要 所有 全部 部分 许多 很多
非常 比较 一般 不过 只是 只有 同时 此外 另外 第一 第二 第三 成为 作为 使用 包括 认为 表示 开始 之间
之一
"""

CHINESE_FUNCTION_WORDS = frozenset(_CHINESE_FUNCTION_WORDS.split())
"""Common words of two characters or more that no dictionary of names should match."""
