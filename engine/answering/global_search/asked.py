"""Reading of a question about the whole: its subject, the aspect it asks for, and where that is.

An abstract noun is an aspect of what is told, no subject: "what conflicts run through these" is
searched by the words that texts tell of conflicts with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from graph.text.cjk import has_han

from ...storage.graph_api import Chunk, content_words
from ...storage.tokenization import TokenWeight, tokens, tokens_of
from ..named_documents import (
    A_DOCUMENT,
    FOR_WHOM,
    ON_SUBJECT,
    POLITE,
    STEM,
    document_asked,
    is_document,
)

_COMMON = 0.25
"""Share of the greatest weight that words beside an aspect have."""


@dataclass(frozen=True)
class Aspect:
    """Nouns that ask for one side of what is told, and words that texts tell of it with."""

    name: str
    nouns: re.Pattern[str]
    told: str
    kind: str = ""
    """The graph's type of the things that are asked for."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words it is told with, as the keyword index has them."""
        return frozenset(tokens(self.told))


def _aspect(name: str, english: str, chinese: str, told: str = "", kind: str = "") -> Aspect:
    return Aspect(name, re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE), told, kind)


PEOPLE, TIME = "people", "time"
_ASPECTS = (
    _aspect(PEOPLE, r"(?:(?:main|key|important|central) )?"
            r"(?:(?<!do )(?<!can )(?<!some )(?<!many )(?<!most )people|persons?|characters?"
            r"|actors?|players?|protagonists?|figures|who'?s who)"
            r"|who(?: all)? (?:is|are) (?:in|mentioned|named)\b.*",
            "(?<!这个)(?<!这位)(?<!这一)(?<!该)人物|角色|主人公|主角|有哪些人|有谁|哪些人"
            "|谁是.{0,12}(?:重要|主要|关键)的人",
            kind="PERSON"),
    _aspect("organisations", r"organi[sz]ations?|institut(?:e|ion)s?|compan(?:y|ies)|firms|bodies"
            r"|agencies", "机构|组织|公司|企业|单位", kind="ORGANISATION"),
    _aspect("places", r"places?|locations?|cit(?:y|ies)|towns?|countr(?:y|ies)",
            "地方|地点|地名|城市|国家", kind="PLACE"),
    _aspect("products", r"programs?|software|tools?|products?|applications?|ships?|vessels?"
            r"|instruments?|devices?|machines?", "软件|程序|工具|产品|船只?|仪器|设备",
            kind="PRODUCT"),
    _aspect(TIME, r"(?:what |which |the )?(?:key |main )?"
                  r"(?:events?|happen\w*\b(?! in\b)|took place)"
                  r"(?: and)? ?(?:when|in what order)?"
            r"|when|timeline|chronolog\w+|sequence of events|in what order",
            "时间线|年表|大事记|先后|经过|发生了?什么|大事|事件|时间顺序"),
    _aspect("conflict", r"conflicts?|disputes?|disagree\w*|tensions?|quarrels?|controvers\w+"
                        r"|feuds?|rival\w*"
            r"|contradictions?|clash\w*|divid\w+"
            r"|divisions?", "矛盾|冲突|分歧|争议|争端|争论|恩怨|对立",
            "dispute disputed disagree disagreed objected refused blamed accused against opposed"
            " fought campaign"
            " quarrel rejected protest patent complained 争议 反对 拒绝 指责 不满 冲突 争夺 抗议"
            " 对抗 攻打 不服"),
    _aspect("risk", r"risks?|dangers?|hazards?|threats?|vulnerabilit\w+", "风险|危险|隐患|威胁",
            "risk danger dangerous threat attack damage loss fail unsafe vulnerable injured"
            " warning lost storm"
            " 风险 危险 威胁 攻击 损失 故障 警告 不安全 隐患"),
    _aspect("lesson", r"lessons?|morals?|(?<!can i )(?<!can we )(?<!can you )learn\w*|teach\w*"
                      r"|recommend\w*", "教训|经验|启示|建议|道理",
            "lesson learned rule never again must should found failed recommendation since"
            " changed mistake better"
            " regret 教训 必须 应当 不能 发现 以后 建议 规定 错误"),
    _aspect("decision", r"decisions?|decid\w+|resolutions?|resolved|agree(?:d|ments?)|outcomes?",
            "决定|决议|决策|协议", "decided decision resolved agreed voted vote approved rejected"
            " adopted signed"
            " referendum chose ordered 决定 决议 同意 表决 批准 通过 签署 采纳 下令 选择"),
    _aspect("problem", r"problems?|challenges?|difficult\w+|concerns?|complaints?|obstacles?"
                       r"|weakness\w*"
            r"|went wrong|failures?|gaps?|shortcomings?"
            r"|worr\w+", "(?<!这个)(?<!这一)(?<!该)问题|困难|难题|挑战|担忧|弱点|不足|缺点",
            "problem failed failure lack difficult complained wrong loss lost stole blamed delay"
            " concern missing"
            " dispute 问题 困难 失败 损失 缺乏 担心 错误 批评 争议 挪用 丢失"),
    _aspect("change", r"chang\w+|developments?|consequences?|effects?|impacts?|results?|evol\w+",
            "变化|变迁|影响|后果|结果|改变", "since changed became replaced introduced ended new"
            " now led rule"
            " founded opened abolished warmer risen 以后 此后 改为 成为 新 取消 建立 结束 上升"),
    _aspect("money", r"money|costs?|fund(?:s|ing)?|financ\w+|budgets?|spending|expens\w+",
            "资金|经费|费用|花费|预算|钱", "million euro € £ $ paid cost fund budget price grant"
            " received raised sum"
            " 万元 欧元 资金 费用 支付 预算 经费 拨款"),
    _aspect("aim", r"goals?|aims?|purposes?|plans?|intentions?|hopes?", "目标|目的|计划|愿望|打算",
            "aim plan intend purpose propose hope want goal 目标 计划 打算 希望 旨在"),
)  # fmt: skip
_BETWEEN = re.compile(
    r",?\s*(?:and\s+)?"
    r"(?:how (?:are|is|do|does) (?:they|these|each)(?: people| characters)?(?: all)?"
    r"\s+(?:relat|connect|link)\w*(?: to (?:each other|one another))?"
    r"|what (?:do|does) (?:they|each)(?: of them)? do"
    r"|(?:what (?:is|are) )?(?:their|the) (?:relation\w*|connections)"
    r"(?: (?:between|among|to) (?:them|each other|one another))?)"
    r"|[，,。]?\s*(?:(?:以?及|和|与)?(?:他们|它们)?(?:彼此|相互|互相)?(?:之间)?(?:的|是|有)?(?:什么|怎样的?|哪些)?"
    r"关系(?:是什么|如何|怎样)?)",
    re.IGNORECASE,
)
"""Part of a question that asks what things of a kind do, or have to do with each other."""
_RELATE = re.compile(r"relat|connect|link|关系", re.IGNORECASE)
_LIGHT = re.compile(
    r"\b(?:appear\w*|occur\w*|involved?|feature[sd]?|come|came|made?|learn\w*|taught|found|see"
    r"|seen|show\w*|get|got|go|goes|work\w*|any|some|each|other|others|between|over|up|out|here|there|else|into|through|reported"
    r"|different|various|named|raised|arise\w*|face[ds]?|did|much|many|set|people|institutions?"
    r"|parts?|roles?|play(?:s|ed)?"
    r"|lasting|gr[eo]w|described|listed|told|teach\w*|run|through)\b"
    r"|structured|organi[sz]ed|divided|有没有|那|[章节]|用到"
    r"|书?\s*由?分?\s*[为成]?\s*几?个?部分(?:[组构]成)?|这?[前后]?[几一二三四五六七八九十百\d]+[章回节卷篇]"
    r"|哪?[些几]?事情?(?=\W*$)|(?:是?怎)?么一?回事|[都先]|讲讲|说说|谈谈|种类|类型|一下|存在|提到|出现|遇到|哪里|去了?|来自?|几",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:these|those|all|the)\s+(?:report|page)s?\b(?!\s+(?:in|of|on|for|from)\b)"
    r"|\breports?(?=\s+(?:about|that)\b)|\breport(?=\W*$)",
    re.IGNORECASE,
)
"""Reports and pages that are the documents themselves, and the verb; neither is a subject."""
_WHOLE = re.compile(
    r"\b(?:main|major|key|central|common|overall|everything|themes?|topics?|subjects?|ideas?"
    r"|points?"
    r"|issues?|findings?|takeaways?|conclusions?|trends?|patterns?|threads?|strands?|story ?lines?"
    r"|documents?|corpus"
    r"|collection|texts?|files?|folders?|library|archives?|sources?|papers?|articles?|reports?|material"
    r"|records"
    r"|dataset"
    r"|data|summar\w+|overview|outline|about|contain\w*|cover\w*|in here|picture|gist|contents?"
    r"|meetings?|books?|novels?|stor(?:y|ies)|plots?|manuals?|handbooks?|guides?|all this"
    r"|all of it|tl;?dr|the (?:whole )?lot)\b"
    r"|主要|总体|整体|所有|全部|整个|这些|这批|主题|内容|话题|议题|要点|文档|文件夹?|资料|材料|文章"
    r"|章回|[章回节]里|[这那]一?部分|[这前后][几一二三四五六七八九十百\d]+[章回节]|文库|语料|报告|总结|概括|概述"
    r"|归纳|综述|[这本全]书|整[部本]书|小说|手册|指南|故事|情节|大意|介绍|讲了",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(?:summar\w+|sum up|outline|overview of|gist|tl;?dr)\b|概括|概述|总结|归纳|大意"
    r"|\b(?:about|say|cover\w*|main (?:points|topics|findings))\b.*\b(?:reports?|chapter|document"
    r"|paper"
    r"|article|minutes|letters?|interview|diary|log|e-?mails?|contract|charter)\b"
    r"|(?:报告|文件|章|纪要|日志|访谈|手册|信|文章).*(?:讲|说|内容)",
    re.IGNORECASE,
)


_ASKS_HAN = re.compile(
    r"谁|[吗呢]$|^哪[些个里儿种位]?$|^[都事有是的在做说讲到了吧去来把被让给就还也很]$"
)
"""Chinese that asks, and single characters that are no word of a subject."""
_CLAUSE = re.compile(r"[,.;:?!，。；：？！]\s*|\band (?=wh|how)")
_ON = re.compile(r"\W*(?:on|about|regarding|concerning|as (?:for|to))\b|关于|对于|至于|有关", re.I)
"""Beginning of a clause that names a subject."""
_CONTENTS = re.compile(
    r"\b(?:about|deals?|dealing|cover\w*|contain\w*|topics?|themes?|subjects?|contents?|gist"
    r"|story ?lines?|threads?|strands?"
    r"|summar\w+|overview|outline|learn|structured|organi[sz]ed|divided)\b"
    r"|讲|内容|主题|介绍|概述|概括|总结|部分|种类|类型",
    re.IGNORECASE,
)
"""Words that ask what documents contain."""


_SUM_UP = (
    r"(?:(?:give|write|show)(?: me| us)? )?(?:(?:an?|the) )?(?:(?:short|brief|quick) )?"
    r"(?:overview|summary|outline|gist) (?:of|on|about)"
    r"|summari[sz]e|sum up|recap|condense|outline(?= (?:the|how|what|which|why|all) )"
    r"|what (?:do|does) (?:it|they|(?:the|these|this) (?:documents?|texts?|files?|papers?|books?"
    r"|manuals?|handbooks?|guides?|library|collection))"
    r" (?:say|tell|report)(?: us)? (?:about|of|on)"
    r"|(?:tell (?:me|us) )?what(?: is|['’]s) (?:there on|(?:said|told) (?:about|of))"
    r"|explain the main points (?:of|about|on)"
)
_TELL_ZH = r"(?:讲|说|写|谈|介绍|提到)(?:了|到|过)?(?:些|了些)?"
_DOCUMENTS_ZH = r"(?:这[些批份本部]?)?(?:文件|文档|资料|材料|手册|书|指南|小说|文章)[里中]?"
_SUM_UP_ZH = (
    r"^\W*请?(?:你|帮我)?(?:简单)?(?:总结|概括|概述|归纳)(?![法会报])(?:一下)?"
    rf"|^\W*{_DOCUMENTS_ZH}(?:关于|对于|谈到)(?=.+什么\W*$)"
    rf"|^\W*{_DOCUMENTS_ZH}对(?!应)(?=.+(?:{_TELL_ZH}(?:什么|哪些)|(?:是)?怎么{_TELL_ZH}的?)\W*$)"
    r"|^\W*关于(?=.+(?:有哪些|有什么)内容\W*$"
    rf"|[^，,]+[，,](?:{_DOCUMENTS_ZH})?(?:都|分别|主要)?{_TELL_ZH}(?:什么|哪些)(?:内容|方面)?\W*$)"
)
_BROADLY = (
    r"\b(?:walk|run|take|talk) (?:me|us) through\b|\bbring (?:me|us) up to speed\b"
    r"|\b(?:short|brief|quick|rough) (?:portrait|sketch|account|tour) of\b|\bthe gist of\b"
    r"|\bthe (?:broad|big|general|overall) picture\b|\btl;?dr\b"
    r"|梳理一下|综述|(?:整体|总体|全面)(?:地)?(?:介绍|说明)|来龙去脉"
)
"""Words for a broad answer, wherever they stand."""
_TO_SUM_UP = re.compile(rf"{POLITE}(?:{_SUM_UP})\b|{_SUM_UP_ZH}|{_BROADLY}", re.IGNORECASE)
_AROUND = re.compile(
    rf"{_BROADLY}|{POLITE}(?:{_SUM_UP}|tell (?:me|us)(?: (?:all|everything))? about|describe)"
    r"(?: what (?:the|this|these) (?:\w+ ){1,5}?(?:ha(?:s|ve) to say|says?|tells? us)(?: about| on)"
    r"| what| how| the documents say about)?\s"
    rf"|{_SUM_UP_ZH}|^\W*请?介绍一下"
    r"|(?:都|分别)?(?:说|讲|写|谈|介绍|提到)(?:了|到)?(?:些|了些)?什么\W*$|(?:的|有哪些|有什么)内容\W*$"
    r"|(?:都|分别)?(?:是)?怎么(?:说|讲|写|谈|介绍)的?\W*$|有(?:什么|哪些)(?:说法|介绍)\W*$",
    re.IGNORECASE,
)
"""Words around a subject that ask for an overview of it."""
_LEAD = re.compile(
    r"^.{0,60}?\b(?:sum up|summari[sz]e|recap|outline|(?:walk|run|take|talk) (?:me|us) through"
    r"|(?:fill (?:me|us) in|catch (?:me|us) up|bring (?:me|us) up to speed) (?:on|about)"
    r"|tell (?:me|us) (?:all |everything |more )?about)\s+"
    r"|^\W*(?:(?:please|can you|could you|would you|i['’]d like|i would like|i want|i need|give"
    r"|tell|show|write|me|us|to have|what['’]s|what is|is there|the|an?|whole|full|short|brief"
    r"|quick|complete|entire|general|overall|simple|rough)\W+){0,9}(?:story|account|rundown|run-down"
    r"|overview|summary|picture|recap|breakdown|lowdown|tour|walk-?through|introduction|intro|briefing"
    r"|timeline|state of play|everything|ins and outs|deal)\s+(?:there is\s+)?"
    r"(?:of|about|on|behind|regarding|concerning|with)\s+"
    r"|^(?:on|about|of|with|regarding)\s+"
    r"|^.{0,12}?(?:(?:梳理|讲讲|说说|谈谈|总结|概括|归纳|捋|汇总)(?:一[讲说谈理捋下遍])?"
    r"|(?:介绍|理|讲|说)一[下理讲说])(?:关于)?(?=..)",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r"\b(?:about|regarding|concerning|towards?)\s+(?!it\b|this\b|these\b|that\b)\w"
    r"|关于|对于|对(?![应比照话方])(?=..)",
    re.IGNORECASE,
)
"""Words in front of a subject."""
_TAIL = re.compile(
    r"的?(?:来龙去脉|(?:从头到尾的)?经过|始末|前因后果|全过程|前后经过)(?:是(?:怎样|怎么样|什么)的?)?\W*$"
    r"|(?:都|分别)?是?(?:怎么|怎样|如何)(?:一步一?步地?)?(?:发展|演变|变化|形成|展开|进行)"
    r"(?:起来|下去|过来|出来)?的?\W*$|(?:这[个一件])(?:问题|事情?)(?=都|分别|主要|\W*$)"
)
"""Words before and behind the subject of a broad account."""
_MANNER = re.compile(
    r"\b(?:in|with) (?:an? )?(?:few|couple of|one|two|three|short|simple|plain)"
    r" (?:words|sentences?|lines?|paragraphs?)\b"
    r"|\b(?:short(?:ly)?|brief(?:ly)?|quick(?:ly)?|simply|description|hold(?:s|ing)?)\b"
    r"|\bkinds? of (?:information|things?|content)\b"
    r"|\b(?:can|could|will|would|might|should) (?:i|we|one|you|they|an? reader|readers|people)"
    r" (?:find|learn|get|expect|read|see|know)(?: out(?: of)?)?\b|\bshould read\b"
    r"|\b(?:please|pls|thanks|roughly|tl;?dr|(?:of )?the (?:whole )?lot"
    r"|(?:i am |i['’]m )?new here|pile of|taken together)\b"
    r"|\bfrom (?:the )?(?:start|beginning) to (?:the )?(?:finish|end)\b"
    r"|\beach(?: one| of (?:them|these))?\b"
    r"|[给帮替]我|用[几一两三][句段]话|从头[到至]尾|简单地?|大概|大致|[说讲]一[遍下]|[这那]一?部分(?=故事|内容|章回|[里中]|主要|都|大概|大致|[讲说写])|文件夹里?|这?一?整[套个份部本批]书?"
    r"|这(?:[套个份批些]|部(?!分))"
    r"|大体上?|总的来说|(?:我们?|大家|读者)?能?(?:学到|看到|了解到?|得到|读到)(?:了|些)*什么|[看读]完"
    r"|适合(?:什么样?的?|哪些|谁)人?来?[看读]?|是?干什么用?的|能不能|可不可以|能否|告诉我|列个|就行|合起来",
    re.IGNORECASE,
)
"""Words for the manner of an overview, and for its reader; they are no subject."""
_COURTESY = re.compile(r"[,.]?\s+(?:please|pls|plz|thanks|thank you|thx)\W*$", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?<=[?.])\s+(?:just )?(?:an? )?(?:(?:short|brief|quick) )?(?:summary|overview|outline)"
    r"(?:,? please)?\W*$|"
    r"(?<=\?)\s+(?:please )?(?:(?:give|write)(?: me| us)?(?: an?| the)?"
    r"(?: (?:short|brief|quick))? (?:overview|summary|outline)"
    r"(?: of (?:it|this|that|the process|what is (?:said|told|written)))?"
    r"|summari[sz]e(?: (?:it|this|that|what (?:these|the) (?:documents|texts) (?:say|tell)"
    r"|what is (?:said|told|written)(?: about (?:it|this|that))?))?"
    r"|sum (?:it|this|that) up"
    r"|what do (?:these|the) (?:documents|texts) (?:say|tell) about (?:it|this|that))\W*$"
    r"|(?<=[？?，,])\s*(?:能不能|能否|能|可以|请|帮我|麻烦)*(?:简单|作|做|给|来)?(?:我)?(?:个|一下)?"
    r"(?:总结|概括|概述|归纳|概览|简介)(?:一下)?(?:手册|文档|书)?里?的?(?:相[应关](?:的)?(?:部分|章节|内容))?吗?\W*$",
    re.IGNORECASE,
)


_PART = r"(?:part|bit|chapter|stave|section|appendix|passage|page)s?"
_OR_PAPER = rf"(?:{_PART}|(?P<kind>report|paper|letter|article|document|story))"
_ABOUT = (
    r"(?:about|on(?! (?:page\b|the \d|\d))|where(?: it)?|in which|concerning"
    r"|(?:that |which )?(?:(?:is|talks?) about"
    r"|explain\w*|describ\w+|tell\w* (?:how|of|about)|cover\w*|deal\w* with|discuss\w*))\s+"
)
_TELLING = r"(?:explains?|describes?|tells? (?:how|of|about)|talks? about|says? how|covers?)"
_DESCRIBED = re.compile(
    r"^\W*(?:somewhere|there(?:['’]s| is| was| must be)"
    r"|(?:one|some) of [^.;!?]{3,40}? (?:has|have|contains?)"
    r"|(?:it|(?:the|this|that) \w+) (?:has|contains?))\s+"
    rf"(?:(?:it |they )?{_TELLING}\s+|(?:an?|the|some) (?:\w+ )?{_OR_PAPER} {_ABOUT})"
    r"(?P<part>[^.;:!?]{8,200})[.;:!?]\s+(?:(?:please|now|so|can you|could you),? )*"
    r"(?:(?:sum|boil|break) (?:it|that|this)(?: (?:part|bit|section|chapter))? (?:up|down)\b"
    r"[^.;!?]{0,40}"
    r"|(?:summari[sz]e|recap)\b(?: (?:it|that|this))?(?: (?:part|bit|section|chapter))?(?: for me)?"
    r"|what does (?:it|that|this|the)(?: (?:part|bit|section|chapter))? (?:say|tell)(?: us| me)?"
    r"|what(?:['’]s| is) the gist(?: of (?:it|that))?|what are (?:its|the) main points"
    r"|(?:give|tell) (?:me|us) (?:the |a )?(?:gist|main points|summary|short version)"
    r"(?: of (?:it|that))?"
    r"|(?:a )?summary(?:,? please)?)\W*$",
    re.IGNORECASE,
)
"""Sentence that describes a part, and one that asks for it."""
_TOLD_BY = re.compile(
    rf"^\W*what (?:does|do|did) (?:the|that) (?:\w+ )?{_OR_PAPER} {_ABOUT}"
    r"(?P<part>[^.;:!?]{3,120}?) (?:say|advise|recommend|tell|explain|describe|teach|suggest"
    r"|report|conclude|find)(?: us| me)?\W*"
    r"(?:\((?![^)]*\b(?:who|what|when|where|why|how|which)\b)[^)]*\))?\W*$",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:sum up|summari[sz]e|recap|condense)\s+what\s+(?P<part>(?!happen)(?:[\w'’-]+ ){0,4}?"
    r"(?:council|board|committee|commission|cabinet|parliament|assembly|jury|team|members|delegates"
    r"|participants|ministers|we) (?:decided|discussed|agreed|resolved|debated|voted)\b"
    r"[^.;:!?]{0,80}?)\W*$",
    re.IGNORECASE,
)
_DESCRIBED_ZH = re.compile(
    r"^(?P<part>[^，。？！我你]{4,40}的?[那这]一?[回章节段])[，,。]?(?:[你请帮我给]|麻烦|能不能)*"
    r"(?:的?(?:主要)?内容是什么"
    r"|(?:主要)?[讲写说]了?(?:些|的是)?什么(?:内容|故事|事情?|东西|呢)?|(?:简单)?(?:总结|概括|概述|归纳)(?:一下)?)\W*$"
)


_PART_ON = re.compile(
    r"^(?:the |this |that )?"
    r"(?:chapter|stave|section|part|bit|scene|appendix|passage|report|meeting|document|paper"
    r"|article|how-?to|walk-?through|(?:(?:e-?mail|mail|letter) )?(?:thread|exchange)|e-?mail"
    r"|correspondence)s?"
    r" (?:in which|on|about|of|that|which|where|concerning|covering|describing|dealing with)\b",
    re.IGNORECASE,
)
"""Words in front of what a part of a document is on."""
_OF_DOCUMENTS = re.compile(r"\W*what (?:do|does)\b|\W*what is (?:there|said|told)\b", re.IGNORECASE)
"""Beginnings that ask what documents say of something, which is no document."""
_WAS_SAID = (
    r"^\W*what (?:was|were|is) (?:discussed|decided|said|agreed|talked about)(?: and \w+)?"
    r" (?:at|in|during)\b"
)
_CHAPTER_NAMED = re.compile(
    r"\b(?:chapter|stave|section|part|bit|scene)\b|[章节回](?:$|[里中讲说写])", re.IGNORECASE
)
_TELLS = re.compile(
    rf"{_WAS_SAID}"
    r"|(?:主要|都|分别)?(?:讲|说|谈|写|讨论|商量)(?:到|的|了|论)?(?:是|些|了些)?(?:什么|哪些)?"
    r"(?:事情?|内容|问题)?$|(?:主要|都|分别)$",
    re.IGNORECASE,
)
"""Words around a part of which the question asks what it tells."""
_OF_PART = re.compile(rf"{_WAS_SAID}|[那这]一?[章节回][里中]?(?:主要|都)?[讲说写]", re.IGNORECASE)
"""The same that ask to sum it up."""


def asks_to_sum_up(question: str) -> bool:
    """Check for a question that asks in so many words to sum up what is told of something."""
    is_asked = _TO_SUM_UP.search(question) is not None or without_closing(question) != question
    is_said = _OF_PART.search(question) is not None
    return is_asked or (is_said and (has_han(question) or is_document(question)))


def without_closing(question: str) -> str:
    """Return a question without a last sentence that only asks to sum up what it asks for.

    A part that is described in a sentence of its own, *there is a bit about masts: sum it up*, is
    what is to be summed up.
    """
    if found := _DESCRIBED_ZH.search(question):
        return f"概括一下{found['part']}"
    bare = _CLOSING.sub("", question)
    if found := _DECIDED.search(bare):
        return f"Summarise the meeting about {found['part']}"
    found = _DESCRIBED.search(question) or _TOLD_BY.search(bare)
    if found is None:
        return bare
    kind = found["kind"] or "section"
    return f"Summarise the {kind} about {found['part'].replace(',', '')}"


@dataclass(frozen=True)
class Asked:
    """A question about the whole: an aspect, the words of a subject, and what to search for."""

    question: str
    aspect: Aspect | None
    subject: tuple[str, ...]
    kinds: tuple[Aspect, ...] = ()
    """Aspects that ask for all things of a kind, where nothing else is asked about."""
    documents: frozenset[str] = frozenset()
    """Documents that are asked what they tell of the subject; all where there are none."""

    @classmethod
    def read(cls, question: str, weight: TokenWeight) -> Asked:
        """Read a question; the nouns of its aspect are no words of its subject.

        Nor are, beside an aspect, words that most of the documents have.
        """
        whole = question = without_closing(question)
        question = _MANNER.sub(" ", question) if _WHOLE.search(question) else question
        found = [one for one in _ASPECTS if all(map(one.nouns.search, (whole, question)))]
        first, *further = _CLAUSE.split(question)
        if any(map(str.strip, further)) and _asks_for_contents(
            first
        ):  # what else is asked for stands in an overview
            found = []
        kinds = tuple(one for one in found if one.kind)
        least = _COMMON * weight("\0")
        if kinds and len(kinds) == len(found):
            words = _beside(kinds, _BETWEEN.sub(" ", question))
            if not any(weight(word) >= least for word in words):
                return cls(whole, kinds[0], (), kinds)
        found = [one for one in found if not one.kind or one.name == PEOPLE]
        ranked = [one for one in found if one.told] or found
        aspect = ranked[0] if ranked else None
        if aspect:
            told = _BETWEEN.sub(" ", question) if aspect.kind else question
            words = [word for word in _beside((aspect,), told) if weight(word) >= least]
        elif any(map(_asks_for_contents, clauses := _CLAUSE.split(question))):
            named = (one for one in clauses if _ON.match(one))
            words = tokens(_LIGHT.sub(" ", content_words(" ".join(named))))
        else:
            content = content_words(_REPORTS.sub(" ", _told(question)))
            is_light = _SUMMARY.search(question) is not None
            words = tokens(_LIGHT.sub(" ", content) if is_light else content)
        words = [word for word in words if not _ASKS_HAN.search(word)]
        return cls(whole, aspect, tuple(dict.fromkeys(words)))

    @property
    def is_on_something(self) -> bool:
        """Check for a word that stands before a subject, as *about* and 关于."""
        return _EXPLICIT.search(self.question) is not None

    @property
    def names_subject(self) -> bool:
        """Check for words that ask for an account, with a subject behind them."""
        said = self.question.strip()
        told = _told(said)
        behind = [
            said[one.end() - (not has_han(one[0])) :]  # an English one ends in its subject
            for one in _EXPLICIT.finditer(said)
        ]
        named = map(_names_a_thing, [told] if told != said else behind)
        return bool(self.subject) and any(named)

    @property
    def relates(self) -> bool:
        """Check for a question that asks what things of a kind have to do with each other."""
        found = _BETWEEN.search(self.question)
        return found is not None and _RELATE.search(found[0]) is not None

    @property
    def is_chinese(self) -> bool:
        """Check for a question in Chinese."""
        return has_han(self.question)

    @property
    def topic(self) -> str:
        """The question without the words that ask for an overview."""
        return _told(self.question).strip(" ?？。.") or self.question

    @property
    def part(self) -> str:
        """The thing to be summed up, without the word for its document; empty where nothing is."""
        topic = _TELLS.sub("", self.topic).strip()
        is_asked = topic != self.topic or asks_to_sum_up(self.question)
        is_named = is_document(topic) or _PART_ON.match(topic) is not None
        is_of_subject = _OF_DOCUMENTS.match(self.question) or ON_SUBJECT.search(topic)
        is_asked &= is_named and not is_of_subject
        name = document_asked(self.question) or (topic if is_asked else "")
        return _PART_ON.sub("", _CLAUSE.split(name)[0]).strip()

    @property
    def names_part(self) -> bool:
        """Check for a word for the document, chapter or meeting that is to be summed up."""
        name = document_asked(self.question) or _TELLS.sub("", self.topic).strip()
        return is_document(name) or _PART_ON.match(name) is not None

    @property
    def describes_part(self) -> bool:
        """Check for a part that is described by more than words for documents, as *this manual*."""
        bare = A_DOCUMENT.sub(" ", _WHOLE.sub(" ", content_words(self.part)))
        return self.names_part and bool(tokens(_LIGHT.sub(" ", bare)))

    @property
    def asks_documents(self) -> bool:
        """Check for a question for what the documents say of something."""
        return bool(_OF_DOCUMENTS.match(self.question) or ON_SUBJECT.search(self.question))

    @property
    def kinds_of_document(self) -> frozenset[str]:
        """The words of the part for the kind of document it is: *diary*, *letters*; no chapter."""
        if self.names_chapter:
            return frozenset()
        name = document_asked(self.question) or self.topic
        kinds = tokens_of(*(found[0] for found in A_DOCUMENT.finditer(name)))
        return frozenset(kind for kind in kinds if len(kind) > 1)

    @property
    def names_chapter(self) -> bool:
        """Check for a word for a chapter or section."""
        return _CHAPTER_NAMED.search(self.topic) is not None

    @property
    def query(self) -> str:
        """Text to search for: the question with words that its aspect is told with."""
        if self.aspect is None or not self.aspect.told:
            return self.question
        told = (word for word in self.aspect.told.split() if has_han(word) == self.is_chinese)
        return " ".join((self.question, *islice(told, 8)))


@dataclass(frozen=True)
class Found:
    """Chunks that tell of what is asked, by how well they do, and the words to tell it by.

    `near` are all that the search found, also those that have few of the words.
    """

    chunks: Mapping[str, Chunk]
    scores: Mapping[str, float]
    words: Mapping[str, float]
    near: Mapping[str, Chunk] = field(default_factory=dict)

    def within(self, documents: Set[str]) -> Found:
        """Return what some documents tell; all where they tell nothing."""
        near = {key: one for key, one in self.near.items() if one.document_id in documents}
        chunks = {key: one for key, one in near.items() if key in self.chunks}
        return replace(self, chunks=chunks, near=near) if chunks else self

    def weight(self, held: Set[str]) -> float:
        """Return the share of the subject's words, by weight, that are held."""
        total = sum(self.words.values()) or 1.0
        return sum(self.words[word] for word in self.akin(held)) / total

    def akin(self, held: Set[str]) -> list[str]:
        """Return the subject's words that are held or begin a held one: "print" in "printer"."""
        return [
            word
            for word in self.words
            if word in held or (len(word) >= STEM and any(other.startswith(word) for other in held))
        ]


def _told(question: str) -> str:
    """Return what a question asks to be told of, without the words around it."""
    bare = _AROUND.sub(" ", _COURTESY.sub("", question.strip())).strip()
    before = ""
    while bare != before:
        before, bare = bare, _LEAD.sub("", bare).strip() or bare
    return _TAIL.sub("", bare) or bare


def _beside(aspects: Iterable[Aspect], question: str) -> list[str]:
    """Return the words of a question that are none of its aspects' nouns."""
    content = content_words(_REPORTS.sub(" ", question))
    for aspect in aspects:
        content = aspect.nouns.sub(" ", content)
    words = tokens(_LIGHT.sub(" ", content))
    return [word for word in words if len(word) > 1 or not has_han(word)]


def _asks_for_contents(clause: str) -> bool:
    """Check for a clause that asks what documents contain and names no subject."""
    return (
        _WHOLE.search(clause) is not None
        and _CONTENTS.search(clause) is not None
        and not tokens(_WHOLE.sub(" ", _LIGHT.sub(" ", content_words(clause))))
    )


def _names_a_thing(text: str) -> bool:
    """Check that the first clause of a text holds more than words for the documents."""
    clause = _WHOLE.sub(" ", _MANNER.sub(" ", FOR_WHOM.sub("", _CLAUSE.split(text.strip())[0])))
    return bool(tokens(_LIGHT.sub(" ", content_words(clause))))
