"""Comparison questions between two named things: facts of each side and the verdict.

The two are titles of passages found that stand in the question. What is compared is read off it:
who was born first, which was released later, who lived longer, whether both are of one country, or
whether both (or which one) are what it says; of the thing itself or of its director, author and so
on, whose own passage is then read. A verdict is given only where both sides say what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from graph.text.patterns import lazy_regex

from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence
from ...storage.tokenization import tokens
from ...types import Passage
from .question_type import WITHIN, Date, Event, countries_in, date_of, is_before

_OR = lazy_regex(r"\bor\b|还是|或", re.IGNORECASE)
_COMPARES = lazy_regex(
    r"\bboth\b|\bsame\b|\bor\b|\bshare\b|\b(?:older|younger|earlier|later|first)\b.*\band\b"
    r"|\bbetween\b|\bout of\b"
    r"|谁|哪[一个部位本座家]|相同|同一|都|还是",
    re.IGNORECASE,
)
_EARLIER = lazy_regex(
    r"\b(?:first|earlier|earliest|older|oldest|before|elder|eldest)\b|更早|较早|先|年长|更老|早于",
    re.I,
)
_LATER = lazy_regex(
    r"\b(?:later|latest|last|recent|recently|younger|youngest|newer|newest|after)\b|更晚|较晚"
    r"|年轻|更新|后出",
    re.I,
)
_BIRTH = lazy_regex(
    r"\b(?:born|birth|older|oldest|younger|youngest|elder|eldest)\b|出生|年长|年轻", re.I
)
_DEATH = lazy_regex(r"\b(?:died|die|death|dies)\b|去世|逝世", re.I)
_LIVED = lazy_regex(r"\blived? longer\b|活得更[长久]|更长寿|寿命更长", re.I)
_MADE = lazy_regex(
    r"\b(?:released|published|founded|formed|established|opened|built|started|created|launched"
    r"|came out|come out"
    r"|came first|aired|premiered|made|produced|incorporated)\b|上映|发行|出版|成立|创立|创办"
    r"|建立|建成",
    re.I,
)
_SAME_COUNTRY = lazy_regex(
    r"\bsame (?:nationality|country|nation)\b|(?:同一个?国家|国籍相同|相同(?:的)?国籍|同一国籍)",
    re.I,
)
_ROLES = {
    name: (re.compile(asked, re.I), re.compile(said, re.I))
    for name, asked, said in (
        (
            "director",
            r"\bdirectors?\b|导演",
            r"\bdirected\b[^.;]{0,60}?\bby\b|\bdirector\b|执导|导演",
        ),
        (
            "performer",
            r"\b(?:performers?|singers?) of\b|演唱者",
            r"\b(?:by|recorded by|performed by|singer)\b|演唱",
        ),
        (
            "composer",
            r"\bcomposers? of\b|作曲",
            r"\b(?:composed|music|scored?)\b[^.;]{0,40}?\bby\b|作曲",
        ),
        (
            "author",
            r"\b(?:authors?|writers?) of\b|作者",
            r"\b(?:written|novel|book)\b[^.;]{0,60}?\bby\b|作者|所著",
        ),
        (
            "founder",
            r"\bfounders? of\b|创始人|创办人",
            r"\bfounded\b[^.;]{0,60}?\bby\b|创立|创办",
        ),
    )
}
"""Patterns of roles in questions and before names in texts."""
_BRACKETS = lazy_regex(r"(?<!\s)\s*+[(（][^()（）]*[)）]\s*$")

Verdict = Literal["first side", "second side", "yes", "no"]


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """Compared thing: its name's span in the question and its passages."""

    start: int
    end: int
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedComparison:
    """Comparison result.

    `rows` are the sentences on the first and second side, in reading order.

    `verdict` is None where what was found does not decide. `computed`: by dates or countries, not
    by words alone. `is_choice`: it asks for one of
    the two or for yes or no, so nothing else can be the answer.
    """

    sides: tuple[ComparisonSide, ComparisonSide]
    rows: tuple[tuple[int, ...], tuple[int, ...]]
    verdict: Verdict | None = None
    computed: bool = False
    is_choice: bool = False

    @property
    def confidence(self) -> float:
        """Return the calibrated precision of such verdicts, over three data sets."""
        return 0.95 if self.computed else 0.8


def compare_sides(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    scores: Sequence[float],
) -> TwoSidedComparison | None:
    """Answer a comparison question from its two sides; None if it asks for none.

    `scores` are the sentences' own, for choosing what to show of a side that says nothing.
    """
    sides = split_comparison(question, passages)
    if sides is None or not _COMPARES.search(question):
        return None
    bare = _without(question, sides)
    matter = _matter(bare)
    found = tuple(_facts(side, matter, sentences, passages) for side in sides)
    verdict = _decided(bare, matter, found[0], found[1])
    if verdict is not None:
        return TwoSidedComparison(
            sides=sides,
            rows=(found[0].rows, found[1].rows),
            verdict=verdict,
            computed=True,
            is_choice=True,
        )
    by_words = _by_words(bare, sides, sentences, wanted=wanted)
    rows = tuple(
        fact.rows or _best_row(side, sentences, scores)
        for side, fact in zip(sides, found, strict=True)
    )
    return TwoSidedComparison(
        sides=sides,
        rows=(rows[0], rows[1]),
        verdict=by_words,
        is_choice=bool(_IS_BOTH.search(bare) or _OR.search(bare) or matter.country),
    )


def split_comparison(
    question: str, passages: Sequence[Passage]
) -> tuple[ComparisonSide, ComparisonSide] | None:
    """Return two titles of passages in the question, joined by *or* or *and*."""
    folded = _folded(question)
    places: dict[tuple[int, int], list[int]] = {}
    for number, passage in enumerate(passages):
        for title in dict.fromkeys((passage.title, _BRACKETS.sub("", passage.title))):
            key = _folded(title)
            start = folded.find(key) if len(key) > 1 else -1
            if start >= 0 and _bounded(folded, start, start + len(key)):
                places.setdefault((start, start + len(key)), []).append(number)
                break
    longest = [
        place
        for place in sorted(places)
        if not any(o != place and o[0] <= place[0] and place[1] <= o[1] for o in places)
    ]
    pairs = [
        (one, other)
        for one, other in pairwise(longest)
        if re.search(
            r"\b(?:or|and|as|than)\b|[和与跟比、]|还是|或", question[one[1] : other[0]], re.I
        )
    ]
    if not pairs:
        return None
    first, second = pairs[-1]
    return ComparisonSide(*first, tuple(places[first])), ComparisonSide(
        *second, tuple(places[second])
    )


def _folded(text: str) -> str:
    """Of the same length: case and the forms of quotes do not matter."""
    plain = text.translate(str.maketrans("’‘“”`", "''\"\"'"))
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)


def _bounded(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    behind = text[end] if end < len(text) else " "
    word = re.compile(r"[a-z0-9]")
    return not (word.match(before) and word.match(text[start])) and not (
        word.match(behind) and word.match(text[end - 1])
    )


@dataclass(frozen=True, slots=True)
class _Matter:
    """Compared attribute: a date, a lifespan or a country, and whose."""

    event: Event | None
    lived: bool
    country: bool
    role: str


def _matter(question: str) -> _Matter:
    role = next((name for name, (asked, _) in _ROLES.items() if asked.search(question)), "")
    lived = bool(_LIVED.search(question))
    event: Event | None = None
    if _EARLIER.search(question) or _LATER.search(question):
        if _DEATH.search(question):
            event = "death"
        elif _BIRTH.search(question):
            event = "birth"
        elif _MADE.search(question):
            event = "made"
    return _Matter(event, lived, bool(_SAME_COUNTRY.search(question)), role)


@dataclass(frozen=True, slots=True)
class _Facts:
    dates: tuple[Date, ...] = ()
    countries: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()


def _facts(
    side: ComparisonSide,
    matter: _Matter,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
) -> _Facts:
    """Return what the side's passages state of the attribute, with the sentences."""
    about = [row for row, s in enumerate(sentences) if s.passage in side.passages]
    hop: tuple[int, ...] = ()
    if matter.role:
        led = _hop(about, _ROLES[matter.role][1], side, sentences, passages)
        if led is None:
            return _Facts(rows=tuple(about[:1]))
        hop, about = (led[0],), led[1]
    if matter.country:
        found, countries = _countries(about, sentences)
        return _Facts(countries=countries, rows=(*hop, *found))
    events: tuple[Event, ...] = ("birth", "death") if matter.lived else (matter.event or "made",)
    if matter.event is None and not matter.lived:
        return _Facts(rows=hop)
    dates: list[Date] = []
    rows: list[int] = []
    for event in events:
        for row in about[:8]:
            date = date_of(sentences[row].text, event)
            if date is not None:
                dates.append(date)
                rows.append(row)
                break
    if len(dates) < len(events):
        return _Facts(rows=(*hop, *about[:1]))
    return _Facts(dates=tuple(dates), rows=(*hop, *dict.fromkeys(rows)))


def _hop(
    about: Sequence[int],
    role: re.Pattern[str],
    side: ComparisonSide,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
) -> tuple[int, list[int]] | None:
    """Follow a role to its holder; return the sentence and the holder's passage."""
    titles = [(n, _folded(_BRACKETS.sub("", p.title))) for n, p in enumerate(passages)]
    for row in about:
        text = _folded(sentences[row].text)
        for cue in role.finditer(text):
            behind = [
                (place, n, title)
                for n, title in titles
                if n not in side.passages and len(title) > 2
                if 0 <= (place := text.find(title, cue.start())) - cue.end() <= 40
                or (0 <= (place := text.find(title, max(0, cue.start() - 30))) < cue.start())
            ]
            if behind:
                _, _, title = min(behind)
                found = [n for n, other in titles if other == title]
                return row, [r for r, s in enumerate(sentences) if s.passage in found]
    return None


def _countries(
    about: Sequence[int], sentences: Sequence[Sentence]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    for row in about[:4]:
        found = [country for _, _, country in countries_in(sentences[row].text)]
        if found:
            return (row,), tuple(dict.fromkeys(found))
    return tuple(about[:1]), ()


def _decided(question: str, matter: _Matter, first: _Facts, second: _Facts) -> Verdict | None:
    if matter.country:
        if not first.countries or not second.countries:
            return None
        one = {WITHIN.get(c, c) for c in first.countries}
        other = {WITHIN.get(c, c) for c in second.countries}
        return "yes" if one & other else "no"
    if not first.dates or not second.dates:
        return None
    if matter.lived:
        lengths = [_years(f.dates[0], f.dates[1]) for f in (first, second)]
        if abs(lengths[0] - lengths[1]) < 1:
            return None
        return "first side" if lengths[0] > lengths[1] else "second side"
    before = is_before(first.dates[0], second.dates[0])
    if before is None or matter.event is None:
        return None
    wants_earlier = bool(_EARLIER.search(question)) and not re.search(r"\bmore recent", question)
    if _EARLIER.search(question) and _LATER.search(question):
        wants_earlier = _EARLIER.search(question).start() < _LATER.search(question).start()  # type: ignore[union-attr]  # both were found
    return "first side" if before == wants_earlier else "second side"


def _years(birth: Date, death: Date) -> float:
    return (death[0] - birth[0]) + (death[1] - birth[1]) / 12 + (death[2] - birth[2]) / 365


_IS_BOTH = lazy_regex(
    r"^\W*(?:are|were|is|was|do|did|does|have|has)\b.*\bboth\b|都(?:是|有|在)?.*吗", re.I | re.S
)


def _by_words(
    question: str,
    sides: tuple[ComparisonSide, ComparisonSide],
    sentences: Sequence[Sentence],
    *,
    wanted: Mapping[str, float],
) -> Verdict | None:
    """Decide by words.

    *Are both X* is yes if both passages state X, no if a country differs. *Which is X* is
    the one whose passage alone states X.
    """
    if not (_IS_BOTH.search(question) or _OR.search(question)):
        return None
    if _EARLIER.search(question) or _LATER.search(question) or _SAME.search(question):
        return None
    about = [[s for s in sentences if s.passage in side.passages] for side in sides]
    matter = [term for term in dict.fromkeys(tokens(question)) if term in wanted and term != "both"]
    if not matter or not all(about):
        return None
    asked = {country for _, _, country in countries_in(question)}
    held = [frozenset[str]().union(*(s.terms | s.title for s in some)) for some in about]
    covered = [
        sum(not one.isdisjoint(lexical_variants(t)) for t in matter) / len(matter) for one in held
    ]
    if _IS_BOTH.search(question):
        said = [{c for _, _, c in countries_in(some[0].text)} for some in about]
        if asked and any(some and not (some & asked) for some in said):
            return "no"
        return "yes" if min(covered) == 1.0 else None
    if max(covered) == 1.0 and min(covered) < 1.0:
        return "first side" if covered[0] > covered[1] else "second side"
    return None


_SAME = lazy_regex(r"\bsame\b|\bcommon\b|相同|同一|一样", re.I)


def _without(question: str, sides: tuple[ComparisonSide, ComparisonSide]) -> str:
    """Return the question with the names of the sides blanked."""
    for side in sides:
        blank = " " * (side.end - side.start)
        question = question[: side.start] + blank + question[side.end :]
    return question


def _best_row(
    side: ComparisonSide, sentences: Sequence[Sentence], scores: Sequence[float]
) -> tuple[int, ...]:
    rows = [row for row, s in enumerate(sentences) if s.passage in side.passages]
    return (max(rows, key=lambda row: (scores[row], -row)),) if rows else ()
