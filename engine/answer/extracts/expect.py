"""Answer types of a question, and tests whether a text contains one.

A table of pairs of expressions for English and Chinese. A kind is a hint that raises a sentence's
score; nothing is excluded by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任"
    "沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔"
    "向汤关蓝温欧司诸上"
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_NUMBER = (
    rf"(?<![\d.,:/-])(?!(?:1[5-9]|20)\d\d\b|\d{{1,2}} {_MONTH})\d[\d.,]*(?![\d:/年月日-])"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
    r"|million|billion|dozen|half)\b|[一二两三四五六七八九十百千万亿]+[余多]?[个位名人次年月天日米岁元吨座艘项所部条种家]"
)
_COPULA = r"\b(?:is|are|was|were)\s+(?:an?|the|one)\b|\b(?:means?|refers? to|stands for)\b|是|指|即"


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    asked: re.Pattern[str]
    shown: re.Pattern[str]


def _kind(name: str, asked: str, shown: str) -> _Kind:
    return _Kind(name, re.compile(asked, re.IGNORECASE), re.compile(shown))


_KINDS = (
    _kind(
        "time",
        r"\bwhen\b|\b(?:what|which)\s+(?:\w+\s+)?(?:year|date|day|month|century|decade)\b"
        r"|\bhow (?:long|old)\b|\b(?:first|earlier|later|older|younger|born)\b.*\bor\b"
        r"|何时|什么时候|什么时间|哪一?年|哪天|哪一天|几月|哪个?月|日期|年代",
        rf"\b1[0-9]{{3}}\b|\b20\d\d\b|{_MONTH}\b|\b\d{{1,2}}:\d\d\b|\d\s*[年月日]|世纪|[一二三四五六七八九十]月"
        r"|\b(?:years?|months?|days?|weeks?|hours?|minutes?)\b",
    ),
    _kind(
        "amount",
        r"\bhow (?:many|much|large|big|high|tall|deep|far|wide|fast|heavy)\b"
        r"|\bwhat (?:is|was|are|were)?\s*(?:the )?(?:\w+ )?(?:number|price|cost|population"
        r"|percentage|length|height|depth|weight|capacity|amount|rate|share|size|distance|speed|temperature)\b"
        r"|多少|几[个位次岁米项人名所部条种家艘座]|多[大长高深远重久]",
        _NUMBER,
    ),
    _kind(
        "money",
        r"\bhow much\b|\b(?:cost|price|pay|paid|budget|fee|salary|capital|sum|invoice)s?\b"
        r"|多少钱|费用|价格|成本|预算|花了|金额|出资",
        r"[€$£¥]\s?\d|(?<!\d)(?<!\d[.,])\d[\d.,]*"
        r"\s*(?:million |billion |thousand )?(?:EUR|USD|GBP|euros?|dollars?"
        r"|pounds?|crowns?|yuan)\b|\b(?:EUR|USD|GBP)\s?\d|\d\s*[万亿]?\s*(?:元|欧元|美元|英镑|克朗)",
    ),
    _kind(
        "person",
        r"\b(?:who|whom|whose)\b|谁|何人|哪位|哪一位",
        r"\b[A-Z][\w'’.-]+(?:\s+(?:de|von|van|of|the|al|bin)\b)*\s+[A-Z][\w'’-]+"
        r"|\b(?:Mr|Mrs|Ms|Dr|Prof|Sir|Lady|Lord|King|Queen|Captain)\.?\s+[A-Z]"
        rf"|[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}|[\u4e00-\u9fff]{{2,}}·[\u4e00-\u9fff]{{2,}}"
        r"|先生|女士|教授|博士|队长|站长|主任",
    ),
    _kind(
        "place",
        r"\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|town|village|place|state|county"
        r"|island|river|street|region|province)\b|哪里|哪儿|在哪|何地|何处|哪个?(?:省|市|国|县|岛|城市|国家|地方)|位于",
        r"\b(?:in|at|on|near|from|to|of)\s+(?:the\s+)?[A-Z]|[省市县区镇村岛湾港州国路街山河湖]|位于|坐落",
    ),
    _kind(
        "cause",
        r"\bwhy\b|\bwhat (?:caused|led to)\b|为什么|为何|原因|怎么会|缘何",
        r"\b(?:because|due to|since|caused?|as a result|so that|led to|owing to|therefore|in order"
        r" to|after)\b|因为|由于|因此|所以|导致|以致|为了|原因",
    ),
    _kind(
        "code",
        r"\b(?:code|number|serial|identifier|id|version|call ?sign|part)\b"
        r"|编号|代号|代码|型号|序列号|版本",
        r"\b[A-Z]{1,6}[- ]?\d[\w.-]*\b|\b\d[\d.-]*[A-Z]\w*\b|\b\w+-\d+\b|\d",
    ),
    _kind(
        "birth",
        r"\b(?:born|birth|birthplace|birthday)\b|出生|生于|诞生",
        r"\bborn\b|\bnative of\b|\(\s*(?:\d{1,2} )?[A-Z]?\w* ?\d{3,4}\s*[–-]|出生|生于",
    ),
    _kind(
        "death",
        r"\b(?:die[sd]?|death|dead|killed|buried)\b|去世|逝世|死于|死亡",
        r"\b(?:died|dead|death|killed|buried|murdered|executed)\b|[–-]\s*(?:\d{1,2} )?[A-Z]?\w*"
        r" ?\d{3,4}\s*\)|\bd\. |去世|逝世|死于|病逝|卒",
    ),
    _kind(
        "nationality",
        r"\bnationality\b|\bwh(?:at|ich) country\b|\bcitizen|国籍|哪国",
        r"\b[A-Z][a-z]+(?:can|ian|ean|an|ese|ish|ch|ss|ni)\b|国",
    ),
    _kind(
        "kin",
        r"\b(?:father|mother|son|daughter|child(?:ren)?|parents?|brother|sister|husband|wife|spouse"
        r"|grand\w+|uncle|aunt|cousin|\w+-in-law|married)\b|父亲|母亲|儿子|女儿|丈夫|妻子|兄弟|姐妹|祖父|祖母",
        r"\b(?:father|mother|sons?|daughters?|child(?:ren)?|parents?|brother|sister|husband|wife"
        r"|married|marriage|wed)\b|之[子女妻]|[长次三四]?[子女]|父|母|娶|嫁|结婚",
    ),
    _kind(
        "definition",
        r"^\W*what (?:is|are|was|were)\b|\bstands? for\b|\bmeans?\b|是什么|什么是|指什么|何谓",
        _COPULA,
    ),
)

_ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|many|much|did|does|do|is|are|was|were|has|have"
    r"|had|list|tell|please|name|give|describe|explain)\b|谁|什么时候|什么|哪一?[个位年家座所条天种项部]|哪些|哪里|哪儿|哪|何时"
    r"|何地|何处|何人|为什么|为何|多少|多[大长高深远重久]|几|吗|呢|是否|怎么样?|怎样|如何|请问?|有没有",
    re.IGNORECASE,
)


def answer_types(question: str) -> tuple[str, ...]:
    """Return the expected answer types in table order; often one or none."""
    return tuple(kind.name for kind in _KINDS if kind.asked.search(question))


def has_answer_type(text: str, kinds: tuple[str, ...]) -> float:
    """Return the share of expected types the text holds, 0–1; 0 without any."""
    if not kinds:
        return 0.0
    shown = sum(1 for kind in _KINDS if kind.name in kinds and kind.shown.search(text))
    return shown / len(kinds)


def strip_question_words(question: str) -> str:
    """Return the question without its question words."""
    return " ".join(_ASKING.sub(" ", question).split())
