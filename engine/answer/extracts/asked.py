"""Question classification: answer type, head noun and question word.

*Who* wants a person, *which city* a place, *what is the number of* a code. Expressions for English
and Chinese decide, in order, the first that stands in the question; what none knows is a thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..language import Language, language_of

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
     r"|\bhow (?:long ago|old)\b"
             rf"|{_WHICH}(?:years?|dates?|days?|months?|century|decade|era|period)\b"
             rf"|{_OF_WHAT}(?:date|year|birthday)\b"),
    ("amount", r"\bhow (?:many|much|large|big|high|tall|deep|far|wide|fast|heavy|long|often)\b"
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
_HEAD = re.compile(
    r"\b(?:what|which)\s+((?:(?!(?:is|was|are|were|did|does|do|has|had|have|of|in|on|at|that|who"
    r"|which"
    r"|to|by|for|from|with|will|would|can|came|comes?)\b)[\w'’-]+\s*){1,4})",
    re.IGNORECASE,
)
_OF_HEAD = re.compile(
    r"\bwhat(?:'s|’s| is| was| are"
    r"| were)\s+the\s+(?:name of the\s+)?((?:[\w-]+\s+){0,2}[\w-]+)\s+(?:of|in|for|that|which|to"
    r"|where|at)\b",
    re.IGNORECASE,
)
_HEAD_CHINESE = re.compile(r"[\u4e00-\u9fff]{1,2}")
_TWOFOLD = re.compile(
    r"\b(?:who|what|which|when|where|why|how)\b.*\band (?:by |for |in |to )?"
    r"(?:who|whom|what|which|when|where|why|how)\b",
    re.IGNORECASE | re.DOTALL,
)
WH_CHINESE = re.compile(
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


def classify_question(question: str, *, tokens: Callable[[str], list[str]]) -> QuestionType:
    """Classify a question."""
    language = language_of(question)
    kind: Kind = next(
        (kind for kind, pattern in _TABLES[language] if pattern.search(question)), "thing"
    )
    if language == "zh":
        return _chinese(question, kind, tokens)
    match = _HEAD.search(question) or _OF_HEAD.search(question)
    words = match.group(1).split() if match else []
    return QuestionType(
        kind=kind,
        language=language,
        head=frozenset(tokens(words[-1]) if words else ()),
        twofold=_TWOFOLD.search(question) is not None,
    )


def _chinese(question: str, kind: Kind, tokens: Callable[[str], list[str]]) -> QuestionType:
    match = WH_CHINESE.search(question)
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
