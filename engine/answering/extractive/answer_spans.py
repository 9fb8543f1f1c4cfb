"""Short answer: the span of a source that most likely is what was asked for.

Candidates are names, dates, amounts, codes and clauses of the best sentences, as they stand; none
is made up. English names are runs of capitals; in Chinese the place of the asking word is found by
what stands beside it in question and sentence. A span counts by its sentence, its type, what
stands beside it and where else it stands, with weights of `tests/benchmarks/fit_answers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import HAN, count_han
from graph.text.patterns import lazy_regex

from ...prompts import Language
from ...storage.graph_api import capitalised_names
from ...storage.tokenization import tokens
from .question_type import COUNTRY_OF, QuestionType, countries_in
from .sentence_scoring import ScoredSentence

SpanKind = Literal["name", "quoted", "date", "number", "money", "code", "clause", "phrase", "gap"]

MAX_SPANS = 150
"""Maximum spans of one sentence, against hostile lists of names."""
_LONGEST = 160

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DATE = lazy_regex(
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
    rf"|[{HAN}]{{2}}[元一二三四五六七八九十]+年(?:[\(（]\d{{3,4}}年[\)）])?"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|正午|中午|午夜|黎明|黄昏|傍晚|清晨|凌晨"
)
_UNIT = (
    r"(?:%|percent|per cent|million|billion|thousand|hundred|km/h|km²|km2|km|kilomet(?:er|re)s?"
    r"|met(?:er|re)s?|m\b|cm|mm"
    r"|miles?|mi\b|feet|foot|ft\b|inch(?:es)?|acres?|hectares?|square|°C|degrees|kg|tons?"
    r"|tonnes?|litres?"
    r"|years?|months?|weeks?|days?|hours?|minutes?|seconds?)"
)
_NUMBER = lazy_regex(
    rf"(?<![\w.,:/-])(?:about |approximately |around |nearly |over "
    rf"|some )?\d(?:[\d.,]*\d)?(?:\s?{_UNIT})*(?![\d:/-])"
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
_MONEY = lazy_regex(
    r"[€$£¥]\s?\d(?:[\d.,]*\d)?(?:\s(?:million|billion|thousand|trillion))?|\b(?:EUR|USD|GBP"
    r"|US\$)\s?\d(?:[\d.,]*\d)?(?:\s(?:million|billion))?"
    r"|\d[\d.,]*\s*(?:million |billion |thousand )?(?:EUR|USD|GBP|euros?|dollars?|pounds?"
    r"|crowns?|yuan)\b"
    r"|[\d.,]+\s?[万亿]?\s?(?:元|欧元|美元|英镑|克朗|人民币|港元|日元)"
)
_CODE = lazy_regex(
    r"\b[A-Z][A-Z\d]*(?:[-/][A-Z\d]+)+(?:/\d+)?\b|\b[A-Z]{1,6}[- ]?\d[\w./-]*\d\b"
    r"|\b\d+[A-Z]\w*\b|\b\w+-\d[\d-]*\b|\b\d[\d.]*\d\b"
)
_QUOTED = lazy_regex(
    r"\"\s?([^\"\n]{2,100}?)\s?\"|“([^”\n]{1,100})”|``\s?([^`'\n]{2,80}?)\s?''"
    r"|《([^》\n]{1,60})》|「([^」\n]{1,60})」|『([^』\n]{1,60})』"
)
_CLAUSE = lazy_regex(
    r"\b(?:because(?: of)?|due to|owing to|as a result of|in order to|so that|caused by"
    r"|thanks to|led to)\s+([^.;\n]{5,200})"
    r"|(?:因为|由于|因|为了|缘于|源于)([^。；\n]{3,80}?)(?=，(?:所以|因此|故|而|导致|使)|，|。"
    r"|；|$)"
)
_PHRASE = lazy_regex(
    r"\b(?:is|are|was|were|as|became|means?|called|named|known as|nicknamed|titled"
    r"|entitled)\s+(?:an?\s+|the\s+)?"
    r"([a-z][^,.;:()\n]{2,80}?)(?=\s(?:in|of|by|from|at|on|for|that|which|who|whose|where|when"
    r"|with|to|and|during|based|located|directed|written|produced)\b|[,.;:(]|$)"
)
_COMMA_PLACE = lazy_regex(r",\s(?:[A-Z][\w'’.-]+(?:\s[A-Z][\w'’.-]+){0,2})")
_BREAK = lazy_regex(r"[，。；：！？、（）()\[\]【】“”\"「」『』《》\n,;:!?]|…")
_LIST_BREAK = lazy_regex(r"[，。；：！？（）()\n,;:!?]")
_CUE = lazy_regex(
    r"位于|坐落于|坐落在|名为|又名|本名|原名|又称|别名|前称|改名为|改称|称为|称作|叫做|担任|出任"
    r"|司职|现为|从事|包括|包含|分为|组成"
    r"|来自|前往|加入|属于|获得|毕业于|出生于|出生在|生于|始于|建于|成立于|效力于|改为|成为|作为"
    r"|由|于|在|为|是|的|被|叫|即|指"
)
_LONGEST_GAP = 80
_BOUNDS = 8
_EDGE_LEFT = lazy_regex(
    r"^(?:即|就是|是|为|在|于|由|被|的|了|和|与|及|以及|叫做?|称为|称作|名为|作为|则|而|也|又|都"
    r"|曾|有|到|向|从|将|把|对|其|并|一个|一种|一座|一名|一位|:|：|\s)+"
)
_EDGE_RIGHT = lazy_regex(r"(?:的|了|是|为|在|于|由|等|中|里|上|而|和|与|被|则|也|都|就|,|，|\s)+$")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`text[start:end]`, and what it looks like."""

    start: int
    end: int
    kind: SpanKind


@lru_cache(maxsize=50_000)
def span_tokens(text: str) -> list[str]:
    """Tokenise a candidate span of a short answer, memoised."""
    return tokens(text)


def spans_of(text: str, asked: QuestionType, *, held: str = "") -> list[Span]:
    """Return the candidate spans of a sentence in order; `held` is the question's text."""
    found: dict[tuple[int, int], SpanKind] = {}
    for start, end, kind in _all(text, asked, held):
        if 0 < end - start <= _LONGEST and (start, end) not in found:
            found[start, end] = kind
        if len(found) >= MAX_SPANS:
            break
    return sorted(Span(start, end, kind) for (start, end), kind in found.items())


def _all(text: str, asked: QuestionType, held: str) -> Iterator[tuple[int, int, SpanKind]]:
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
    for start, end in capitalised_names(text):
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


Floats = NDArray[np.float64]

LOOKED_AT = 8
"""Spans of so many sentences, the best, are weighed."""
BESIDE = 60
"""Maximum characters considered before and after a span."""

MANNERLESS = 0.3
"""Credit of a span of the right type in the wrong role."""

FEATURES = (
    "sentence",
    "best sentence",
    "fits",
    "looks like a name",
    "asked words in it",
    "beside",
    "cue",
    "role",
    "head noun",
    "title",
    "names another passage",
    "said elsewhere",
    "first",
    "length",
    "long",
    "left of asking",
    "right of asking",
    "begins a clause",
    "ends a clause",
)

COEFFICIENTS: dict[Language, tuple[float, ...]] = {
    "en": (
        0.95, -0.04, 3.89, 2.15, -0.37, 1.24, 0.95, 2.64, 1.78, 0.17,
        0.43, -1.1, 0.36, -0.14, -0.49, 0.0, 0.0, 0.0, 0.0,
    ),
    "zh": (
        0.82, 0.54, 2.31, 0.96, -1.76, 0.52, 0.96, -0.77, 1.49, 0.95,
        1.35, -0.2, 0.43, 1.06, 0.62, 2.18, 2.3, -0.08, 0.56,
    ),
}  # fmt: skip
"""Fitted coefficients in the order of `FEATURES`.

Separate for Chinese, where a word is a character pair.
"""
CALIBRATION: dict[Language, tuple[float, float]] = {"en": (-0.8, 0.45), "zh": (-0.05, 0.56)}
"""Constant and slope of the log odds of a span's share."""

_FITS: dict[str, dict[str, float]] = {
    "person": {"name": 1.0, "gap": 0.5, "quoted": 0.2},
    "place": {"name": 1.0, "gap": 0.5},
    "time": {"date": 1.0},
    "amount": {"number": 1.0, "money": 0.6},
    "money": {"money": 1.0, "number": 0.4},
    "code": {"code": 1.0},
    "nationality": {"name": 1.0, "gap": 0.5},
    "reason": {"clause": 1.0, "phrase": 0.3, "gap": 0.3},
    "definition": {"phrase": 1.0, "name": 0.4, "gap": 0.6},
    "thing": {"name": 0.8, "quoted": 0.8, "phrase": 0.6, "gap": 0.6, "number": 0.1, "date": 0.1},
    "verdict": {},
}
_SURNAME_FORM = lazy_regex(rf"^(?:[{HAN}]{{2,4}}|[{HAN}·]{{3,16}})$")
_PLACE_FORM = lazy_regex(
    r"(?:[省市县区镇村岛湾港州国路街山河湖巷站]|附近|地区|北部|南部|东部|西部|境内)$"
)
_WORD = lazy_regex(rf"[^\W_{HAN}]+")
_TWO_WORDS = lazy_regex(r"\w\s\w")
_CUES = {
    "person": re.compile(
        r"\b(?:by|named|called|with|of|and|is|was|to|actors?|director|singer|king|president|son"
        r"|daughter|father|mother|wife|husband)\s+(?:the\s+)?$|[由是被为：]$",
        re.I,
    ),
    "place": re.compile(
        r"\b(?:in|at|from|near|to|of|on)\s+(?:the\s+(?:\w+\s+)?(?:of\s+)?)?$|[在于至到自是为]$"
    ),
    "time": re.compile(
        r"\b(?:in|on|since|until|from|of|by|born|died|d\.|during)\s+(?:the\s+)?$|[（(于在]$|,\s$"
    ),
    "amount": re.compile(
        r"\b(?:of|is|was|has|had|have|about|over|with|at|to|by)\s+(?:a\s+)?$|[约有达为是共长]$"
    ),
    "nationality": re.compile(r"\b(?:an?|the)\s+$"),
}
_BIRTH = lazy_regex(r"\b(?:born|birth|birthday|birthplace|née|native)\b|出生|生于|诞生", re.I)
_DEATH = lazy_regex(
    r"\b(?:die[ds]?|death|dead|killed|buried|d\.)(?!\w)|去世|逝世|死于|死亡|病逝|卒", re.I
)
_DASH = lazy_regex(r"\d\)?,?\s?[–—-]+\s?[^)]{0,40}$")


_OF_BIRTH = ("born", "birth", "birthplac", "birthday", "出生", "生于")
_OF_DEATH = ("die", "death", "dead", "去世", "逝世")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Span of a scored sentence.

    `share` is its part of the likelihood over all spans, `confidence` its calibrated
    probability.
    """

    row: int
    span: Span
    text: str
    share: float = 0.0
    confidence: float = 0.0


def rank_spans(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    asked: QuestionType,
    wanted: Mapping[str, float],
) -> list[Candidate]:
    """Rank the spans of the best sentences, likeliest first; ties by position."""
    found, matrix = span_candidates(question, weighed, asked=asked, wanted=wanted)
    shares = softmax(matrix @ np.array(COEFFICIENTS[asked.language]))
    order = np.lexsort((np.arange(shares.size), -shares))
    return [
        replace(
            found[place],
            share=float(shares[place]),
            confidence=_confidence(float(shares[place]), asked.language),
        )
        for place in order
    ]


def _confidence(share: float, language: Language) -> float:
    """Return the calibrated precision of a share."""
    constant, slope = CALIBRATION[language]
    odds = constant + slope * float(np.log(max(share, 1e-6) / max(1.0 - share, 1e-6)))
    return float(1.0 / (1.0 + np.exp(-odds)))


def span_candidates(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    asked: QuestionType,
    wanted: Mapping[str, float],
    rows: Sequence[int] | None = None,
) -> tuple[list[Candidate], Floats]:
    """Return the spans of sentences and their feature matrix (spans, FEATURES).

    The sentences are those of `rows`, by default the best.
    """
    among = range(len(weighed)) if rows is None else rows
    order = sorted(among, key=lambda row: (-weighed[row].score, row))[:LOOKED_AT]
    likely = softmax(np.array([each.score for each in weighed]))
    sights = [_Sight(weighed[row], asked, wanted) for row in order]
    about: dict[frozenset[str], set[int]] = {}
    for each in weighed:
        about.setdefault(each.sentence.title, set()).add(each.sentence.passage)
    found: list[Candidate] = []
    features: list[list[float]] = []
    for rank, (row, sight) in enumerate(zip(order, sights, strict=True)):
        first: set[str] = set()
        for span in spans_of(sight.text, asked, held=question):
            held = sight.text[span.start : span.end]
            terms = frozenset(span_tokens(held))
            if terms <= wanted.keys():  # what the question says itself is no answer
                continue
            passage = weighed[row].sentence.passage
            elsewhere = sum(terms <= other.terms for other in sights if other.passage != passage)
            named = bool(about.get(terms, set()) - {passage})
            found.append(Candidate(row=row, span=span, text=held))
            features.append(
                [
                    float(np.log(max(likely[row], 1e-4))),
                    float(rank == 0),
                    *sight.fit(span, held, terms),
                    float(terms == weighed[row].sentence.title),
                    float(named),
                    min(elsewhere, 3) / 3,
                    float(span.kind not in first),
                    *_lengths(held),
                    *sight.asking(span),
                ]
            )
            first.add(span.kind)
    return found, np.array(features, dtype=np.float64).reshape(len(features), len(FEATURES))


def holds_form(text: str, asked: QuestionType) -> bool:
    """Check for a span of the form that is asked for: a date for *when*, a name for *who*."""
    fits = _FITS[asked.kind]
    return any(fits.get(span.kind) == 1.0 for span in spans_of(text, asked))


def span_features(
    question: str, weighed: ScoredSentence, *, asked: QuestionType, wanted: Mapping[str, float]
) -> float:
    """Return how well a sentence shows the expected type, 0–1, by its best span.

    A name counts less as a place with no *in* or the like before it, and as a person of one word;
    so does a date of the death where the birth is asked for. A question for yes or no asks for
    nothing that could be shown.
    """
    if asked.kind == "verdict":
        return 1.0
    sight, best = _Sight(weighed, asked, wanted), 0.0
    for span in spans_of(sight.text, asked, held=question):
        held = sight.text[span.start : span.end]
        terms = frozenset(span_tokens(held))
        fits = _FITS[asked.kind].get(span.kind, 0.0)
        if fits > best and not terms <= wanted.keys():
            best = max(best, fits * sight.manner(span, held))
    return best


class _Sight:
    """A sentence as its spans are looked at."""

    def __init__(
        self, weighed: ScoredSentence, asked: QuestionType, wanted: Mapping[str, float]
    ) -> None:
        self.text, self.terms = weighed.sentence.text, weighed.sentence.terms
        self.passage = weighed.sentence.passage
        self._asked, self._wanted = asked, wanted
        words = [(m.start(), m.end()) for m in _WORD.finditer(self.text)]
        if asked.language == "zh":
            words += [
                (i, i + 2) for i in range(len(self.text) - 1) if self.text[i : i + 2] in wanted
            ]
        self._places = [
            (start, end, max(wanted[term] for term in shared))
            for start, end in words
            if (shared := wanted.keys() & span_tokens(self.text[start:end]))
        ]
        self._total = max(sum(wanted.values()), 1e-9)

    def fit(self, span: Span, held: str, terms: frozenset[str]) -> list[float]:
        """From *fits* to *head noun*."""
        asked, kind = self._asked, self._asked.kind
        before = self.text[max(0, span.start - BESIDE) : span.start]
        cue = _CUES.get(kind)
        return [
            _FITS[kind].get(span.kind, 0.0),
            _form(asked, held),
            len(terms & self._wanted.keys()) / len(terms),
            self._beside(span),
            float(cue is not None and cue.search(before) is not None),
            self._role(span, before),
            float(bool(asked.head) and asked.head <= terms)
            + 0.5 * float(bool(asked.head) and self._head_beside(span)),
        ]

    def manner(self, span: Span, held: str) -> float:
        """Return the weight of a span of the right type by form, role and left context."""
        before = self.text[max(0, span.start - BESIDE) : span.start]
        worth = 1.0
        if self._asked.kind == "place" and not _CUES["place"].search(before):
            worth = MANNERLESS
        if self._asked.kind == "person" and self._asked.language == "en":
            worth = MANNERLESS + (1 - MANNERLESS) * _form(self._asked, held)
        return worth * (MANNERLESS if self._role(span, before) < 0 else 1.0)

    def _beside(self, span: Span) -> float:
        near = 0.0
        for start, end, weight in self._places:
            gap = start - span.end if start >= span.end else span.start - end
            if 0 <= gap <= BESIDE:
                near += weight * (1.0 - gap / BESIDE)
        return near / self._total

    def _role(self, span: Span, before: str) -> float:
        """Return 1 if the span belongs to the birth or death asked for, −1 if to the other."""
        wants_birth = not self._wanted.keys().isdisjoint(_OF_BIRTH)
        wants_death = not self._wanted.keys().isdisjoint(_OF_DEATH)
        if wants_birth == wants_death:
            return 0.0
        births, deaths = list(_BIRTH.finditer(before)), list(_DEATH.finditer(before))
        last_birth = births[-1].start() if births else -1
        last_death = deaths[-1].start() if deaths else -1
        if _DASH.search(before):
            last_death = max(last_death, len(before))
        elif re.search(r"\([^)]{0,40}$", before) and re.match(
            r"[^)]{0,60}[–—-]", self.text[span.end :]
        ):
            last_birth = max(last_birth, len(before))
        if last_birth == last_death:
            return 0.0
        return 1.0 if (last_death > last_birth) == wants_death else -1.0

    def _head_beside(self, span: Span) -> bool:
        around = self.text[max(0, span.start - 20) : span.end + 20].casefold()
        return any(term in around for term in self._asked.head)

    def asking(self, span: Span) -> list[float]:
        """From *left of asking* on: nil but for Chinese."""
        if self._asked.language != "zh":
            return [0.0, 0.0, 0.0, 0.0]
        before, behind = self.text[: span.start], self.text[span.end :]
        left = _shared_end(self._asked.left, before)
        right = _shared_end(self._asked.right[::-1], behind[::-1])
        begins = not before or before[-1] in _MARKS or _CUE_END.search(before) is not None
        ends = not behind or behind[0] in _MARKS
        return [min(left, 4) / 4, min(right, 4) / 4, float(begins), float(ends)]


_MARKS = "，。；：！？、（）()「」“”《》 ,;:"
_CUE_END = lazy_regex(
    r"(?:位于|名为|又名|本名|原名|又称|称为|叫做|担任|司职|现为|从事|包括|包含|来自|是|为|由|即"
    r"|指)$"
)
_BETWEEN = "是为在于由被了的有叫作称：:，又即「“《"


def _shared_end(asked: str, said: str) -> int:
    """Return the length of the common suffix of two texts, skipping particles."""
    asked, said = asked.rstrip(_BETWEEN), said.rstrip(_BETWEEN)
    count = 0
    while count < min(len(asked), len(said)) and asked[-1 - count] == said[-1 - count]:
        count += 1
    return count


def _form(asked: QuestionType, held: str) -> float:
    """Return how well a span's form fits the type, 0–1."""
    if asked.kind == "nationality" or (asked.kind == "place" and asked.head & _COUNTRY):
        return float(held in COUNTRY_OF)
    match asked.kind:
        case "person":
            return float(bool(_TWO_WORDS.search(held) or _SURNAME_FORM.match(held)))
        case "place":
            return float(bool(_PLACE_FORM.search(held)))
        case "time":
            return min(1.0, len(re.findall(r"\w+", held)) / 3)
        case _:
            return 0.0


_COUNTRY = frozenset(("countri", "nation", "国家", "国人"))


def _lengths(held: str) -> list[float]:
    han = count_han(held)
    words = len(re.findall(rf"[^\W{HAN}]+", held)) + han / 2
    return [min(words, 6) / 6, max(0.0, words - 6) / 10]


def softmax(scores: Floats) -> Floats:
    """Scores to shares that add up to 1."""
    if not scores.size:
        return scores
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum())
