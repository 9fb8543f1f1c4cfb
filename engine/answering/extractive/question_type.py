"""Question types, and the dates, countries and other values that answer them.

*Who* wants a person, *which city* a place, *what is the number of* a code: the first expression in
order decides, for English and Chinese; anything else asks for a thing. A type raises a sentence's
score and excludes none. Dates are (year, month, day) with 0 for what is not said, and compare only
as far as both are said. Countries are general knowledge, not gazetteer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Literal

from graph.text.cjk import HAN, count_han, simplified
from graph.text.patterns import lazy_regex

from ...prompts import Language, language_of
from ...storage.tokenization import tokens

Kind = Literal[
    "person", "place", "time", "amount", "money", "code", "nationality", "reason", "definition",
    "verdict", "thing",
]  # fmt: skip

_PEOPLE = (
    r"actors?|actress(?:es)?|artists?|authors?|bassist|captain|chairman|coach|composers?"
    r"|director|drummer|emperor"
    r"|engineer|father|founders?|general|governor|guitarist|grand(?:father|mother|son|daughter)"
    r"|husband|king|leader"
    r"|lyricist|man|mayor|members?|minister|mother|musicians?|novelist|person|philosopher"
    r"|players?|poet|politician"
    r"|president|producer|professor|queen|rapper|ruler|scientist|screenwriter|singers?|spouse"
    r"|son|star|wife|woman|writers?"
)
_PLACES = (
    r"city|country|countries|town|village|place|state|county|counties|island|river|street|region"
    r"|province|continent"
    r"|district|municipality|location|neighbou?rhood|borough|birthplace|capital|lake|mountain"
)
_WHICH = r"\b(?:what|which)\s+(?:(?!is\b|was\b|are\b|were\b|did\b|does\b|do\b)[\w'’-]+\s+){0,3}?"
_OF_WHAT = (
    r"\bwhat(?:'s|’s| is| was| are| were)?\s+(?:the |his |her |its |their )?(?:[\w-]+\s+){0,2}?"
)
_ENGLISH: tuple[tuple[Kind, str], ...] = (
    ("verdict", r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b"),
    ("money", r"\bhow much (?:money|did\b.*\b(?:pay|cost|raise|spend|receive)|does\b.*\bcost"
     r"|was\b.*\b(?:paid|raised)|capital)"
              r"|\bwhat (?:did|does|would|will)\b.*\bcosts?\b|\bhow much\b.*\b(?:cost|pay|paid"
              r"|raise)\b"),
    ("code", rf"{_WHICH}(?:\w+ )?(?:code|serial|identifier|version|call ?sign)\b"
             rf"|{_OF_WHAT}(?:[\w-]+ )?(?:code|(?:serial|certificate|registration|phone|model"
             rf"|part|licen[cs]e|herbarium|patent|report|contract|id) number|serial|identifier"
             rf"|version)\b|\bcertificate number\b|\bserial\b"
             rf"|\bnumber of the (?:\w+ ){0,3}(?:report|certificate|specimen|patent|contract"
             rf"|document)\b"),
    ("time", r"\bwhen\b(?=\s+(?:was|were|did|does|do|is|are|will|has|had)\b|\s*\??$)|^\W*when\b"
             rf"|{_WHICH}(?:years?|dates?|days?|months?|century|decade|era|period)\b"
             rf"|{_OF_WHAT}(?:date|year|birthday)\b"),
    ("amount", r"\bhow (?:many|much|large|big|high|tall|deep|far|wide|fast|heavy|long|often|old)\b"
               rf"|{_OF_WHAT}(?:number|population|percentage|length|height|depth|weight|capacity"
               rf"|amount|rate|share"
               r"|size|distance|speed|temperature|area|elevation)\b(?! of the\b.*\b(?:report"
               r"|case))|\bat what depth\b"
               r"|\bwhat (?:amount|percentage|number|share|gust)\b"),
    ("nationality", r"\bnationality\b|\bcitizenship\b"),
    ("person", rf"\b(?:who|whom|whose)\b(?=.{{0,3}}$)|^\W*(?:[a-z]+ )?(?:who|whom|whose)\b"
     rf"|\b(?:by|from|to|with|of|for|and) (?:who|whom)\b"
               rf"|{_WHICH}(?:{_PEOPLE})\b(?! of the (?:book|film|song))"
               rf"|{_OF_WHAT}(?:name of the )?(?:{_PEOPLE})\b"
               r"|^\W*(?:name|tell me) (?:the )?(?:\w+ )?(?:mother|father|actor|author|person)"),
    ("place", rf"\bwhere\b(?=\s+(?:was|were|did|does|do|is|are|will|has|had|in)\b|\s*\??$)"
     rf"|^\W*where\b"
              rf"|{_WHICH}(?:{_PLACES})\b|{_OF_WHAT}(?:place|city|country|capital|birthplace"
              rf"|location|town|state)\b"),
    ("person", r"\b(?:who|whom)\s*\?*$|,\s*who\b"),
    ("reason", r"\bwhy\b|\bwhat (?:caused|led to|is the reason)\b|\bfor what reason\b"
     r"|\bhow (?:do|did|does|can|is|was|were)\b"),
    ("definition", r"^\W*what (?:is|are|was|were) (?:an? )?(?:[\w'’-]++\s*+){1,4}\?*$"
     r"|\bstands? for\b|\bwhat does\b.*\bmean\b"),
)  # fmt: skip
_CHINESE: tuple[tuple[Kind, str], ...] = (
    ("time", r"何时|什么时候|什么时间|哪一?年|哪天|哪一天|哪[个一]?(?:月|日|时期|年代)"
     r"|几[年月号]|什么(?:时期|年代|日期)|日期(?:是|为)|多久"),
    ("code", r"(?:编号|代号|代码|型号|序列号|版本号|申请号|号码|电话)(?:是|为)?(?:多少|什么)?"),
    ("money", r"多少(?:钱|元|欧元|美元)|(?:费用|价格|成本|预算|金额|票价)(?:是|为)?多少|花了多少"
     r"|出资多少"),
    ("amount", r"多少|几[个位次岁米项人名所部条种家艘座层届]|多[大长高深远重宽]|百分之几|几分之"),
    ("person", r"谁|何人|哪一?[位个]人|哪一?位|什么人"),
    ("place", r"哪里|哪儿|何地|何处|在哪|于哪|哪一?[个座条]?(?:省|市|国|县|区|镇|村|岛|城|州|地"
     r"|巷|街|路)|什么(?:地方|位置|地点|国家|城市)"),
    ("reason", r"(?<![名称作改命认成变译])为什么|为何|原因|怎么会|缘何|因为什么|因何|怎样|如何"
     r"|怎么"),
    ("definition", r"什么是|是什么意思|指什么|何谓|是指什么"),
)  # fmt: skip
_TABLES: dict[Language, tuple[tuple[Kind, re.Pattern[str]], ...]] = {
    "en": tuple((kind, re.compile(text, re.IGNORECASE)) for kind, text in _ENGLISH),
    "zh": tuple((kind, re.compile(text)) for kind, text in _CHINESE),
}
_HEAD = lazy_regex(
    r"\b(?:what|which)\s+((?:(?!(?:is|was|are|were|did|does|do|has|had|have|of|in|on|at|that|who"
    r"|which"
    r"|to|by|for|from|with|will|would|can|came|comes?)\b)[\w'’-]+\s*){1,4})",
    re.IGNORECASE,
)
_OF_HEAD = lazy_regex(
    r"\bwhat(?:'s|’s| is| was| are"
    r"| were)\s+the\s+(?:name of the\s+)?((?:[\w-]+\s+){0,2}[\w-]+)\s+(?:of|in|for|that|which|to"
    r"|where|at)\b",
    re.IGNORECASE,
)
_HEAD_CHINESE = lazy_regex(f"[{HAN}]{{1,2}}")
_TWOFOLD = lazy_regex(
    r"\b(?:who|what|which|when|where|why|how)\b.*\band (?:by |for |in |to )?"
    r"(?:who|whom|what|which|when|where|why|how)\b",
    re.IGNORECASE | re.DOTALL,
)
WH_CHINESE = lazy_regex(
    r"为什么|什么(?:时候|时间|地方|样|人)?|怎么样?|怎样|如何|哪(?:一|几|两|二|三"
    r"|些)?[些个里儿位家种年天座条部所项场届次名支款首类]?"
    r"|多少|多[大久长高深远重宽]|几[个年位种次岁米层届分月号]?|何(?:时|地|处|种|人)?|谁|百分之几"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionType:
    """Question type; `head` holds the tokens of the asked noun: for *which city*, *city*.

    `left` and `right` are what stands before and behind the asking word of a Chinese question,
    which stands where its answer would. `twofold`: it asks for two things, so no one span answers.
    """

    kind: Kind
    language: Language
    head: frozenset[str] = frozenset()
    left: str = ""
    right: str = ""
    twofold: bool = False


_TITLES = "Mrs Prof Capt Rev Gen Col Sgt Hon Mme Messrs"
_SENTENCES = lazy_regex(
    "".join(rf"(?<!\b{title}\.)" for title in _TITLES.split())
    + r"(?<=[a-z0-9)\"'”’]{2}[.!?])\s+(?=[A-Z\"'“])"
    r"|,\s+(?=(?:so |but |then )?(?:who|what|which|when|where|why|how)(?: to|['’]s"
    r"| (?:is|are|was|were|do|does|did|can|could|may|must|should|would|will))\b)"
)
_ASKS = lazy_regex(
    r"\W*(?:(?:and|so|but|then) )?(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were"
    r"|do|does|did|can|could|may|must|should|list|compare)\b",
    re.IGNORECASE,
)


def asking_part(question: str) -> str:
    """Return the last sentence or clause of an English question that asks; all of it without one.

    *I have a stray lock file. How do I remove it?* asks how.
    """
    if language_of(question) == "zh":
        return question
    parts = _SENTENCES.split(question.strip())
    return next((part for part in reversed(parts) if _ASKS.match(part)), question)


_BEFORE_ASKING = r"(?:(?:in|at|on|to|from|by|for|of|with) )?"
_ASK = (
    rf"{_BEFORE_ASKING}(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did"
    r"|has|have|had|can|could|should|must|may|will|would)\b"
)
_FURTHER = lazy_regex(
    rf" ?[?;] (?:and |but )?(?={_ASK})| ?, (?:and |but )(?={_ASK})| ?, (?=(?:what|why|how)\b)"
    rf"| and (?={_BEFORE_ASKING}(?:who|what|when|where|which|why|how)\b)",
    re.I,
)
_FIRST_ASKS = lazy_regex(rf".{{0,200}}?(?:^|[.,;] )(?:{_ASK})", re.I)
_NO_FIRST = lazy_regex(
    r"^\W*(?:when|where|while|if|as|once|after|before|although|since)\b(?!.*[?;]$)"
    r"|\b(?:who|what|when|where|which|why|how|in|at|on|to|from|by|for|of|with)$"
    r"|\b(?:between|compare|differ\w*|versus)\b",
    re.I,
)
"""A clause in front of a question, half of one, and two that are compared."""
_FURTHER_ZH = lazy_regex(r"[？?；;](?=.)")
_FEWEST = 3
"""Words of a question that stands for itself."""


_IS = lazy_regex(
    r"(^\W{0,3}|[.?!,;:–—-]\s|\b(?:and|but|so)\s)(what|who|where|when|how)"
    r"(?:['’]s\b(?!\s(?:been|become|come|done|gone|got|\w+ed)\b)|s\b)",
    re.I,
)
_NOT = lazy_regex(
    r"(?<!\bthe )(?<!\ba )(?<!\bhis )(?<!\bher )(?<!\btheir )"
    r"\b(is|are|was|were|do|does|did|has|have|had|should|could|would|must|ca|wo)nt\b",
    re.I,
)
_PLEASE = lazy_regex(
    r"(?:[,;]\s?(?:please|pls|plz|thanks|thank you|thx)|(?<!say)(?<!write)\s(?:please|pls|plz))\b"
    r"(\W{0,5})$",
    re.I,
)


_SPOKEN = {"啥": "什么", "咋": "怎么", "哪儿": "哪里"}
"""Chinese words for questions as they are spoken, and as they are written."""
_AS_SPOKEN = lazy_regex(r"啥|咋(?![舌呼])|哪儿")
_NAMED_HAN = lazy_regex("[《“「‘]")
"""Marks of a question with a title or words of others, which stay as they are."""


def spelled_out(question: str) -> str:
    """Return a question with *what is* for *whats*, *don't* for *dont*, 什么 for 啥, and no thanks.

    What is asked for is told by such words.
    """
    said = _PLEASE.sub(r"\1", _NOT.sub(r"\1n't", _IS.sub(r"\1\2 is", question)))
    if not _NAMED_HAN.search(said):
        said = _AS_SPOKEN.sub(lambda spoken: _SPOKEN[spoken.group()], said)
    return said if any(map(str.isalnum, said)) else question


def leading_question(question: str) -> str:
    """Return the first of several questions in one, with what stands before it; else all of it.

    *What is the Curate and what became of it?* asks first what that is.
    """
    plain = " ".join(question.split())
    if language_of(question) == "zh":
        cut = _FURTHER_ZH.search(plain)
        return f"{plain[: cut.start()]}？" if cut else question
    for cut in _FURTHER.finditer(plain):
        first, end = plain[: cut.start()], cut.group().strip()[:1]
        is_first = not _NO_FIRST.search(first + (end if end in "?;" else ""))
        if is_first and len(first.split()) >= _FEWEST and _FIRST_ASKS.match(first):
            return f"{first}?"
    return question


def classify_question(question: str) -> QuestionType:
    """Classify what a question asks for: person, date, number, place, definition and others."""
    language = language_of(question)
    question = asking_part(question)
    kind: Kind = next(
        (kind for kind, pattern in _TABLES[language] if pattern.search(simplified(question))),
        "thing",
    )
    if language == "zh":
        return _chinese(question, kind)
    match = _HEAD.search(question) or _OF_HEAD.search(question)
    words = match.group(1).split() if match else []
    return QuestionType(
        kind=kind,
        language=language,
        head=frozenset(tokens(words[-1]) if words else ()),
        twofold=_TWOFOLD.search(question) is not None,
    )


def _chinese(question: str, kind: Kind) -> QuestionType:
    match = WH_CHINESE.search(simplified(question))
    if match is None:
        return QuestionType(kind=kind, language="zh", left=question.rstrip("？?。 "))
    right = question[match.end() :].strip("？?。 吗呢")
    head = _HEAD_CHINESE.match(right) if match.group()[0] in "哪什几多" else None
    return QuestionType(
        kind=kind,
        language="zh",
        head=frozenset(tokens(head.group()) if head else ()),
        left=question[: match.start()],
        right=right,
    )


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
PATH = r"(?<![\w/.])~?/[\w.*-]+(?:/[\w.*<>-]+)*|\bhttps?://\w"
"""A file, a folder or an address on the web."""
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
        rf"|[{_SURNAMES}][{HAN}]{{1,2}}|[{HAN}]{{2,}}·[{HAN}]{{2,}}"
        r"|先生|女士|教授|博士|队长|站长|主任",
    ),
    _kind(
        "place",
        r"\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|town|village|place|state|county"
        r"|island|river|street|region|province)\b|哪里|哪儿|在哪|何地|何处|哪个?(?:省|市|国|县|岛|城市|国家|地方|文件|目录)|位于",
        r"\b(?:in|at|on|near|from|to|of)\s+(?:the\s+)?[A-Z]|[省市县区镇村岛湾港州国路街山河湖]|位于|坐落"
        rf"|{PATH}",
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

_ASKING = lazy_regex(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|many|much|did|does|do|is|are|was|were|has|have"
    r"|had|list|tell|please|name|give|describe|explain)\b|谁|什么时候|什么|哪一?[个位年家座所条天种项部]|哪些|哪里|哪儿|哪|何时"
    r"|何地|何处|何人|为什么|为何|多少|多[大长高深远重久]|几|吗|呢|是否|怎么样?|怎样|如何|请问?|有没有",
    re.IGNORECASE,
)


def answer_types(question: str) -> tuple[str, ...]:
    """Return the expected answer types in table order; often one or none."""
    return tuple(kind.name for kind in _KINDS if kind.asked.search(simplified(question)))


def has_answer_type(text: str, kinds: tuple[str, ...]) -> float:
    """Return the share of expected types the text holds, 0–1; 0 without any."""
    if not kinds:
        return 0.0
    shown = sum(1 for kind in _KINDS if kind.name in kinds and kind.shown.search(text))
    return shown / len(kinds)


_PARTICLES = re.compile("[的吗呢]|是(?!否)|了(?!解)|被(?!子)")
_ALONE = re.compile(rf"(?<![{HAN}])[{HAN}](?![{HAN}])")
"""A character that makes no pair, and so is no word of any text."""


def strip_question_words(question: str) -> str:
    """Return the question without its question words, and Chinese without particles."""
    text = _PARTICLES.sub(" ", _ASKING.sub(" ", simplified(question)))
    plain = " ".join(_ALONE.sub(" ", text).split())
    return plain or " ".join(text.split())


Date = tuple[int, int, int]
Event = Literal["birth", "death", "made"]

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DATE_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + r"|sept\.?"
_DATE = lazy_regex(
    rf"(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?\s(?P<m1>{_DATE_MONTH}),?\s(?P<y1>\d{{3,4}})(?!\d)"
    rf"|(?P<m2>{_DATE_MONTH})\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y2>\d{{3,4}})(?!\d)"
    rf"|(?P<m3>{_DATE_MONTH}),?\s(?P<y3>\d{{3,4}})(?!\d)"
    r"|(?P<y4>\d{3,4})\s?年(?:\s?(?P<m4>\d{1,2})\s?月)?(?:\s?(?P<d4>\d{1,2})\s?[日号])?"
    r"|(?<![\d,.])(?P<y5>1\d{3}|20\d\d)(?![\d,])|(?<![\d,.])(?P<y6>[5-9]\d\d)(?=\s?[)–-]|,)",
    re.IGNORECASE,
)
_DIGIT = lazy_regex(r"\d")
"""No date is without one."""
_OPENING = lazy_regex(r"[(（]")
_CLOSING = lazy_regex(r"[)）]")
_SPAN = lazy_regex(r"[–—－~-]|\bto\b|至")
_BORN = lazy_regex(r"\b(?:born|b\.)(?!\w)|出生|生于|诞生", re.IGNORECASE)
_DIED = lazy_regex(r"\b(?:died|d\.|dies|death|killed)(?!\w)|去世|逝世|病逝|卒于", re.IGNORECASE)
_MADE = lazy_regex(
    r"\b(?:released?|premier(?:e|ed)|published|founded|formed|established|opened|built|started"
    r"|began|created"
    r"|launched|incorporated|debuted|first (?:issued?|aired)|since|came out)\b|发行|上映|出版"
    r"|成立|创立|创办|建立|建于|开业",
    re.IGNORECASE,
)


def dates_in(text: str) -> list[tuple[int, int, Date]]:
    """Return the dates in a question or sentence as `(start, end, date)`, in order."""
    found = []
    for match in _DATE.finditer(text) if _DIGIT.search(text) else ():
        parts = {key[0]: value for key, value in match.groupdict().items() if value}
        month = parts.get("m", "0").lower()
        number = int(month) if month.isdigit() else _month(month)
        if number <= 12:
            day = int(parts.get("d", 0))
            found.append((match.start(), match.end(), (int(parts["y"]), number, day)))
    return found


def _month(name: str) -> int:
    return next(n for n, full in enumerate(_MONTHS, start=1) if full.startswith(name[:3]))


_SAYING = lazy_regex(r"\b[a-z]{3,}\b")
_DATELINE = 100


def is_dateline(text: str) -> bool:
    """Check whether a line is a mere dateline (*The Beacon, 11 October 2022*).

    Table rows are not.
    """
    if len(text) > _DATELINE or text.startswith("|"):
        return False
    dates = dates_in(text)
    rest = text
    for start, end, _ in reversed(dates):
        rest = rest[:start] + rest[end:]
    return bool(dates) and not _SAYING.search(rest) and count_han(rest) <= 6


def date_of(text: str, event: Event) -> Date | None:
    """Return the birth, death or founding date that the sentence states, if any.

    Of *Name (1 May 1900 – 3 June 1950) was …* the first is the birth, the second the death. What
    was made is dated behind a word such as *released*, else by the first year of the sentence.
    """
    dates = dates_in(text)
    if not dates:
        return None
    life = _life(text, dates)
    match event:
        case "birth":
            return life[0] if life else _behind(text, dates, _BORN)
        case "death":
            return life[1] if life else _behind(text, dates, _DIED)
        case "made":
            return _behind(text, dates, _MADE) or dates[0][2]


def has_birth_and_death(text: str) -> bool:
    """Check whether leading brackets hold dates of birth and death."""
    return _life(text[:300], dates_in(text[:300])) is not None


def _life(text: str, dates: list[tuple[int, int, Date]]) -> tuple[Date, Date] | None:
    """Return the two dates of a life in the first brackets."""
    for opening in _OPENING.finditer(text, 0, 200):
        closing = _CLOSING.search(text, opening.end())
        end = closing.start() if closing else min(len(text), opening.end() + 160)
        inside = [(a, b, d) for a, b, d in dates if opening.end() <= a and b <= end]
        for (_, first_end, first), (start, _, second) in pairwise(inside):
            joined = _SPAN.search(text[first_end:start]) or not text[first_end:start].strip(" ,")
            if joined and first[0] + 10 < second[0] <= first[0] + 120:
                return first, second
    return None


def _behind(text: str, dates: list[tuple[int, int, Date]], cue: re.Pattern[str]) -> Date | None:
    for match in cue.finditer(text):
        following = [(a, d) for a, _, d in dates if 0 <= a - match.end() <= 60]
        if following and "died" not in text[match.end() : following[0][0]]:
            return following[0][1]
        before = [(b, d) for _, b, d in dates if 0 <= match.start() - b <= 4]
        if before and not match.group().isascii():
            return before[-1][1]
    return None


def is_before(first: Date, second: Date) -> bool | None:
    """Check whether the first date is earlier; None if undecidable."""
    for one, other in zip(first, second, strict=True):
        if not one or not other:
            return None
        if one != other:
            return one < other
    return None


WITHIN = {"England": "United Kingdom", "Scotland": "United Kingdom", "Wales": "United Kingdom"}
"""A country within a country: English and British may be one nationality or two."""


def _by_word() -> dict[str, str]:
    """Read `countries.txt`: a country a line, then its other names and demonyms."""
    found: dict[str, str] = {}
    text = (files(__package__) / "countries.txt").read_text(encoding="utf8")
    for line in text.splitlines():
        country, _, names = line.partition(": ")
        found.update(dict.fromkeys((country, *names.split(", ")), country))
    return found


COUNTRY_OF = _by_word()
"""Country or demonym → country."""
_latin = sorted((w for w in COUNTRY_OF if w.isascii()), key=lambda w: (-len(w), w))
_han = sorted((w for w in COUNTRY_OF if not w.isascii()), key=lambda w: (-len(w), w))
_ANY = lazy_regex(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _latin))})(?!\w)|(?:{'|'.join(_han)})")


def countries_in(text: str) -> list[tuple[int, int, str]]:
    """Find the countries and demonyms in a sentence of an answer: (start, end, country)."""
    return [(m.start(), m.end(), COUNTRY_OF[m.group()]) for m in _ANY.finditer(text)]
