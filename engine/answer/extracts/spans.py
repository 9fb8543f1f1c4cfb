"""Candidate spans of a sentence: names, dates, amounts, codes, clauses.

Every span is of the text as it stands; none is made up. English names are runs of capitals. Chinese
has none: what fills the place of the asking word is found by what stands beside it in both,
question and sentence, and by the marks and particles that bound it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .asked import QuestionType
from .countries import countries_in

SpanKind = Literal["name", "quoted", "date", "number", "money", "code", "clause", "phrase", "gap"]
NameSpans = Callable[[str], list[tuple[int, int]]]

MAX_SPANS = 150
"""Maximum spans of one sentence, against hostile lists of names."""
_LONGEST = 160

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH},? (?:AD )?\d{{3,4}}\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{3,4}}\b|\b{_MONTH} \d{{3,4}}\b"
    rf"|\b\d{{1,2}} {_MONTH}(?!\w)|\b{_MONTH} \d{{1,2}}\b(?!\d)"
    r"|\b(?:early |late |mid-?)?(?:the )?\d{1,2}(?:st|nd|rd|th) century\b|\b1\d{3}s\b|\b20\d0s\b"
    r"|\b(?:1\d{3}|20\d\d)\b(?:\s?[–-]\s?(?:1\d{3}|20\d\d|\d\d)\b)?"
    r"|\b\d{1,2}:\d\d\b(?: ?[ap]\.?m\.?)?"
    r"|\b\d{1,2} o['’]clock\b|\b(?:noon|midday|midnight|dawn|dusk|sunrise|sunset)\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"
    r"|\b\d{2,4} (?:AD|BC|BCE|CE)\b"
    r"|(?:公元前?)?\d{1,4}\s?年(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?[日号])?)?(?:[初末底中]|代)?"
    r"|\d{1,2}\s?月\s?\d{1,2}\s?[日号]"
    r"|\d{1,2}世纪(?:\d0年代)?(?:[初末中]期?)?|[一二三四五六七八九十]+世纪(?:[初末中]期?)?"
    r"|[\u4e00-\u9fff]{2}[元一二三四五六七八九十]+年(?:[\(（]\d{3,4}年[\)）])?"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|正午|中午|午夜|黎明|黄昏|傍晚|清晨|凌晨"
)
_UNIT = (
    r"(?:%|percent|per cent|million|billion|thousand|hundred|km/h|km²|km2|km|kilomet(?:er|re)s?"
    r"|met(?:er|re)s?|m\b|cm|mm"
    r"|miles?|mi\b|feet|foot|ft\b|inch(?:es)?|acres?|hectares?|square|°C|degrees|kg|tons?"
    r"|tonnes?|litres?"
    r"|years?|months?|weeks?|days?|hours?|minutes?|seconds?)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,:/-])(?:about |approximately |around |nearly |over "
    rf"|some )?\d[\d.,]*\d?(?:\s?{_UNIT})*(?![\d:/-])"
    r"|\b(?:once|twice|thrice|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundred|dozen)"
    rf"(?:[- ](?:one|two|three|four|five|six|seven|eight|nine|hundred|thousand"
    rf"|million))*(?: {_UNIT})?)\b"
    r"|(?:约|大约|近|超过|共)?(?:百分之)?[\d.,]+\s?[万亿千百]*余?多?(?:平方)?(?:公里|千米|米"
    r"|公斤|千克|吨|人|个|岁|年|天|次|名|艘|座|部|条|种|家|层|届|元|%|％|公顷|票|席|集|首|辆|位)?"
    r"|(?:百分之)?[一二两三四五六七八九十百千万亿]+(?:余|多)?(?:个|位|名|人|次|岁|年|月|天|米"
    r"|公里|座|艘|所|部|条|种|家|层|届)(?:[一二三四五六七八九十]+个?月)?"
)
_MONEY = re.compile(
    r"[€$£¥]\s?\d[\d.,]*\d?(?:\s(?:million|billion|thousand|trillion))?|\b(?:EUR|USD|GBP"
    r"|US\$)\s?\d[\d.,]*\d?(?:\s(?:million|billion))?"
    r"|\d[\d.,]*\s*(?:million |billion |thousand )?(?:EUR|USD|GBP|euros?|dollars?|pounds?"
    r"|crowns?|yuan)\b"
    r"|[\d.,]+\s?[万亿]?\s?(?:元|欧元|美元|英镑|克朗|人民币|港元|日元)"
)
_CODE = re.compile(
    r"\b[A-Z][A-Z\d]*(?:[-/][A-Z\d]+)+(?:/\d+)?\b|\b[A-Z]{1,6}[- ]?\d[\w./-]*\d\b"
    r"|\b\d+[A-Z]\w*\b|\b\w+-\d[\d-]*\b|\b\d[\d.]*\d\b"
)
_QUOTED = re.compile(
    r"\"\s?([^\"\n]{2,100}?)\s?\"|“([^”\n]{1,100})”|``\s?([^`'\n]{2,80}?)\s?''"
    r"|《([^》\n]{1,60})》|「([^」\n]{1,60})」|『([^』\n]{1,60})』"
)
_CLAUSE = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|as a result of|in order to|so that|caused by"
    r"|thanks to|led to)\s+([^.;\n]{5,200})"
    r"|(?:因为|由于|因|为了|缘于|源于)([^。；\n]{3,80}?)(?=，(?:所以|因此|故|而|导致|使)|，|。"
    r"|；|$)"
)
_PHRASE = re.compile(
    r"\b(?:is|are|was|were|as|became|means?|called|named|known as|nicknamed|titled"
    r"|entitled)\s+(?:an?\s+|the\s+)?"
    r"([a-z][^,.;:()\n]{2,80}?)(?=\s(?:in|of|by|from|at|on|for|that|which|who|whose|where|when"
    r"|with|to|and|during|based|located|directed|written|produced)\b|[,.;:(]|$)"
)
_COMMA_PLACE = re.compile(r",\s(?:[A-Z][\w'’.-]+(?:\s[A-Z][\w'’.-]+){0,2})")
_BREAK = re.compile(r"[，。；：！？、（）()\[\]【】“”\"「」『』《》\n,;:!?]|…")
_LIST_BREAK = re.compile(r"[，。；：！？（）()\n,;:!?]")
_CUE = re.compile(
    r"位于|坐落于|坐落在|名为|又名|本名|原名|又称|别名|前称|改名为|改称|称为|称作|叫做|担任|出任"
    r"|司职|现为|从事|包括|包含|分为|组成"
    r"|来自|前往|加入|属于|获得|毕业于|出生于|出生在|生于|始于|建于|成立于|效力于|改为|成为|作为"
    r"|由|于|在|为|是|的|被|叫|即|指"
)
_LONGEST_GAP = 80
_BOUNDS = 8
_EDGE_LEFT = re.compile(
    r"^(?:即|就是|是|为|在|于|由|被|的|了|和|与|及|以及|叫做?|称为|称作|名为|作为|则|而|也|又|都"
    r"|曾|有|到|向|从|将|把|对|其|并|一个|一种|一座|一名|一位|:|：|\s)+"
)
_EDGE_RIGHT = re.compile(r"(?:的|了|是|为|在|于|由|等|中|里|上|而|和|与|被|则|也|都|就|,|，|\s)+$")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`text[start:end]`, and what it looks like."""

    start: int
    end: int
    kind: SpanKind


def spans_of(text: str, asked: QuestionType, *, names: NameSpans, held: str = "") -> list[Span]:
    """Return the candidate spans of a sentence in order; `held` is the question's text."""
    found: dict[tuple[int, int], SpanKind] = {}
    for start, end, kind in _all(text, asked, names, held):
        if 0 < end - start <= _LONGEST and (start, end) not in found:
            found[start, end] = kind
        if len(found) >= MAX_SPANS:
            break
    return sorted(Span(start, end, kind) for (start, end), kind in found.items())


def _all(
    text: str, asked: QuestionType, names: NameSpans, held: str
) -> Iterator[tuple[int, int, SpanKind]]:
    for match in _DATE.finditer(text):
        yield match.start(), match.end(), "date"
    for match in _QUOTED.finditer(text):
        group = next(g for g in range(1, 7) if match.group(g) is not None)
        yield match.start(group), match.end(group), "quoted"
    if asked.kind == "money" or asked.kind == "amount":
        for match in _MONEY.finditer(text):
            yield match.start(), match.end(), "money"
    if asked.kind in ("amount", "thing", "money"):
        for match in _NUMBER.finditer(text):
            yield match.start(), match.end(), "number"
    if asked.kind in ("code", "thing"):
        for match in _CODE.finditer(text):
            yield match.start(), match.end(), "code"
    if asked.kind == "reason":
        for match in _CLAUSE.finditer(text):
            group = 1 if match.group(1) is not None else 2
            yield match.start(group), match.end(group), "clause"
    if asked.kind in ("nationality", "place"):
        for start, end, _ in countries_in(text):
            yield start, end, "name"
    for start, end in names(text):
        yield start, end, "name"
        more = _COMMA_PLACE.match(text, end)
        if more and asked.kind == "place":
            yield start, more.end(), "name"
    if asked.language == "zh":
        yield from _gaps(text, asked, held)
    elif asked.kind in ("thing", "definition", "reason"):
        for match in _PHRASE.finditer(text):
            yield match.start(1), match.end(1), "phrase"


def _gaps(text: str, asked: QuestionType, held: str) -> Iterator[tuple[int, int, SpanKind]]:
    """Return the gaps between marks, question words and particles, over list marks too."""
    covered = _covered(text, held)
    right = {asked.right[i : i + 2] for i in range(len(asked.right) - 1)}
    for start, end in (*_clauses(text, _BREAK), *_clauses(text, _LIST_BREAK)):
        starts, ends = _bounds(text, covered, start, end, right)
        for begin in starts:
            for finish in ends:
                if 0 < finish - begin <= _LONGEST_GAP:
                    trimmed = _trimmed(text, begin, finish)
                    if trimmed is not None:
                        yield (*trimmed, "gap")


def _bounds(
    text: str, covered: list[bool], start: int, end: int, right: set[str]
) -> tuple[list[int], list[int]]:
    """Return bounded lists of clause starts and ends."""
    pieces = list(_uncovered(covered, start, end))
    starts = [start, *(begin for begin, _ in pieces)]
    starts += [match.end() for match in _CUE.finditer(text, start, end)]
    ends = [end, *(finish for _, finish in pieces)]
    ends += [place for place in range(start + 1, end) if text[place : place + 2] in right]
    return sorted(set(starts))[:_BOUNDS], sorted(set(ends))[-_BOUNDS:]


def _covered(text: str, held: str) -> list[bool]:
    """Return characters in runs of two or more shared with the question."""
    pairs = {held[i : i + 2] for i in range(len(held) - 1)}
    covered = [False] * len(text)
    for i in range(len(text) - 1):
        if text[i : i + 2] in pairs:
            covered[i] = covered[i + 1] = True
    return covered


def _clauses(text: str, mark: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for match in mark.finditer(text):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _uncovered(covered: list[bool], start: int, end: int) -> Iterator[tuple[int, int]]:
    place = start
    while place < end:
        if covered[place]:
            place += 1
            continue
        stop = place
        while stop < end and not covered[stop]:
            stop += 1
        yield place, stop
        place = stop


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    left = _EDGE_LEFT.match(text[start:end])
    start += left.end() if left else 0
    right = _EDGE_RIGHT.search(text[start:end])
    end = start + right.start() if right else end
    return (start, end) if end > start else None
