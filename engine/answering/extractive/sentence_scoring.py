"""Sentence scoring: each sentence of the passages against the question.

A sentence counts by how much of the question it carries, alone, by its title and headings and by
the sentence before; by showing the expected answer type; by its passage's relevance; and by a
sentence of another passage that leads to it by name (the hop of a question of two). The weights
are fitted by `tests/benchmarks/fit_answers.py`. English words match in their lexical variants
(*sold* for *sell*, *directed* for *director*).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...prompts import Language
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence
from ...storage.tokenization import TokenWeight, tokens
from ...types import Passage
from .question_type import has_answer_type, is_dateline

RELATIVE = 0.8
"""Credit of a word present only as a variant: *directed* for *director*."""
Floats = NDArray[np.float64]

NEAR = 12
"""Maximum sentences considered as the first hop, best by words."""

NAMED = 0.4
"""From this share of a title's weight on, a sentence is taken to name it."""
ALL = 0.95
"""From this share of the question's weight on, a sentence carries all of it."""
SHARED_NAMES = 0.5
"""Weight of shared names relative to a named title."""

NUMBERED = 1.0
"""Bonus for a numbered thing as the question names it (*berth 40*).

Not fitted: hardly any data set has one.
"""
_NUMBERED = re.compile(r"([^\W\d_]{2,})\s+(\d{1,3})\b")

COUNTED, MEASURED = 3.0, 6.0
"""Bonus for a number of the things that *how many* asks for (*six instrument nodes*), and for a
measure of the thing that *how long* asks for: words that all stand around another's are many.

Not fitted: data sets of several hops have few.
"""
_HOW_MANY = re.compile(
    r"\bhow many\s+(?:of\s+(?:the|these|those)\s+)?((?:(?!(?:are|is|did|do|does|was|were|have|has"
    r"|had|can|could|will|would|in|of|on|at)\b)[a-z-]+\s+){0,3})",
    re.I,
)
_NUMBER = (
    r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-[a-z]+)?|hundreds?|thousands?|dozens?)"
)

_HOW_LONG = re.compile(
    r"\bhow\s+(?:long|deep|tall|high|wide|thick|heavy|fast|far|large|big|old)\s+"
    r"(?:is|are|was|were)\s+((?:the|an?|its|their)\s+)?([^?,;:]+)",
    re.I,
)
_MEASURE = re.compile(
    r"\b\d[\d,.]*[ -]?(?:[kcm]?m²?|km/h|[kcm]?g|met(?:re|er)s?|(?:kilo|centi|milli)\w+|miles?"
    r"|feet|foot|ft|inch(?:es)?|yards?|tons?|tonnes?|pounds?|knots?|mph|hectares?|acres?|years?|months?|weeks?"
    r"|days?|hours?|minutes?|seconds?)\b",
    re.I,
)
ADJACENT = 3
"""Words between a measure and the thing behind it, at most (*the 142 km LANTERN cable*)."""

DATELINE = 2.0
"""Penalty of a dateline: its year is not an answer.

Not fitted: absent from the data sets.
"""

FEATURES = (
    "own words",
    "title and headings",
    "sentence before",
    "kind",
    "kind × words",
    "rank",
    "opens",
    "length",
    "led to",
    "leads on",
    "shared name",
    "led to × kind",
    "chain's words",
    "title asked for",
    "best by words",
    "carries all",
)
COEFFICIENTS: dict[Language, tuple[float, ...]] = {
    "en": (
        3.31, 2.28, 1.0, 1.07, 1.41, 2.02, 0.64, 1.51, 1.28, -0.44,
        1.31, 0.69, 4.42, -0.42, 0.17, 1.85,
    ),
    "zh": (
        3.48, 1.85, 1.62, 0.62, 1.19, 2.18, 1.79, 0.01, -0.36, -0.6,
        0.43, -0.01, -0.11, 2.82, 3.12, 0.22,
    ),
}  # fmt: skip
"""Fitted coefficients in the order of `FEATURES`.

Separate for Chinese, where a word is a character pair.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSentence:
    """Sentence with its score (a logit) and its first hop, if any.

    `covered` is the share of the question's weight that stands in it, its title and headings.
    """

    sentence: Sentence
    score: float
    kind: float
    covered: float
    hop: int | None


def score_sentences(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    kinds: tuple[str, ...],
    weight: TokenWeight,
    language: Language,
    numbered: frozenset[str] = frozenset(),
    amount: Callable[[Sentence], float] | None = None,
) -> list[ScoredSentence]:
    """Score all sentences, in order.

    `numbered` as of `numbered_things`, `amount` as of `amount_bonus`.
    """
    matrix, hops = sentence_features(sentences, passages, wanted=wanted, kinds=kinds, weight=weight)
    scores = matrix @ np.array(COEFFICIENTS[language])
    if numbered:
        holds = [not numbered.isdisjoint(numbered_things(s.text)) for s in sentences]
        scores += NUMBERED * np.array(holds)
    if amount is not None:
        scores += np.array([amount(sentence) for sentence in sentences])
    scores -= DATELINE * np.array([is_dateline(sentence.text) for sentence in sentences])
    place = {name: column for column, name in enumerate(FEATURES)}
    covered = matrix[:, place["own words"]] + matrix[:, place["title and headings"]]
    return [
        ScoredSentence(
            sentence=sentence,
            score=float(scores[row]),
            kind=float(matrix[row, place["kind"]]),
            covered=float(covered[row]),
            hop=hops[row],
        )
        for row, sentence in enumerate(sentences)
    ]


def counted_things(question: str) -> re.Pattern[str] | None:
    """Return what finds a number of the things that *how many* asks for; None for others."""
    found = _HOW_MANY.search(question)
    words = found.group(1).split() if found else []
    if not words:
        return None
    stems = "|".join(re.escape(word[: max(4, len(word) - 2)]) for word in words)
    return re.compile(rf"\b{_NUMBER}\s+(?:[\w-]+\s+){{0,2}}(?:{stems})", re.I)


def amount_bonus(question: str) -> Callable[[Sentence], float] | None:
    """Return the bonus of a sentence for the number or measure that is asked for.

    A number of the things counted, or a measure of the thing measured, which stands before it or
    close behind it or is the title. None where neither is asked for.
    """
    counted = counted_things(question)
    if counted is not None:
        return lambda sentence: COUNTED * (counted.search(sentence.text) is not None)
    found = _HOW_LONG.search(question)
    thing = tokens(found.group(2)) if found else []
    if not thing:
        return None
    return lambda sentence: MEASURED * _measures(sentence, thing)


def _measures(sentence: Sentence, thing: Sequence[str]) -> bool:
    text = sentence.text
    for found in _MEASURE.finditer(text):
        behind = " ".join(text[found.end() :].split()[: ADJACENT + len(thing)])
        known = set(tokens(text[: found.start()])) | set(tokens(behind)) | sentence.title
        if all(not known.isdisjoint(lexical_variants(word)) for word in thing):
            return True
    return False


def numbered_things(text: str) -> frozenset[str]:
    """Words with the number behind them, in lower case: *berth 40*."""
    return frozenset(f"{word} {number}" for word, number in _NUMBERED.findall(text.casefold()))


def sentence_features(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    kinds: tuple[str, ...],
    weight: TokenWeight,
) -> tuple[Floats, list[int | None]]:
    """Return the matrix (sentences, FEATURES) and the row of each sentence's first hop."""
    terms = list(wanted)
    shares = np.array([wanted[term] for term in terms])
    shares = shares / max(shares.sum(), 1e-9)
    forms = [lexical_variants(term) for term in terms]
    own = _held(sentences, forms, lambda s: s.terms | s.tells)
    context = np.maximum(_held(sentences, forms, lambda s: s.context) - own, 0.0)
    before = np.maximum(_held(sentences, forms, lambda s: s.before) - own - context, 0.0)
    told = np.minimum(own + context, 1.0)
    passage = np.array([s.passage for s in sentences])
    told = np.minimum(own + context, 1.0)
    top = max(max(p.score for p in passages), 1e-9)
    kind = np.array([has_answer_type(s.text, kinds) for s in sentences])
    count = np.array([len(s.terms) for s in sentences])
    links = _links(sentences, told, shares, wanted=wanted, weight=weight)
    columns = [
        own @ shares,
        context @ shares,
        before @ shares,
        kind,
        kind * np.minimum(1.0, 2 * (told @ shares)),
        np.array([max(passages[p].score, 0.0) / top for p in passage]),
        np.array([float(s.opens) for s in sentences]),
        np.log1p(count) / 3.0,
        links.led_to,
        links.leads_on,
        links.shared,
        links.led_to * kind,
        links.gain,
        np.array([_share(s.title & wanted.keys(), s.title, weight) for s in sentences]),
        (told @ shares >= (told @ shares).max() - 1e-9).astype(np.float64),
        (told @ shares >= ALL).astype(np.float64),
    ]
    return np.stack(columns, axis=1), links.hops


def _held(
    sentences: Sequence[Sentence],
    forms: Sequence[tuple[str, ...]],
    where: Callable[[Sentence], frozenset[str]],
) -> Floats:
    """Return (sentences, terms): 1 where a term is present, less for a variant."""
    held = np.zeros((len(sentences), len(forms)))
    for row, sentence in enumerate(sentences):
        found = where(sentence)
        for column, (term, *others) in enumerate(forms):
            if term in found:
                held[row, column] = 1.0
            elif others and not found.isdisjoint(others):
                held[row, column] = RELATIVE
    return held


@dataclass(slots=True)
class _Links:
    """Best first hop of each sentence: one that names its title, or whose title it names."""

    led_to: Floats
    leads_on: Floats
    shared: Floats
    gain: Floats
    hops: list[int | None]


def _links(
    sentences: Sequence[Sentence],
    told: Floats,
    shares: Floats,
    *,
    wanted: Mapping[str, float],
    weight: TokenWeight,
) -> _Links:
    """Of the sentences nearest to the question to all others of other passages.

    What a link is worth is the share of the title's (or the names') weight that is named, without
    the words of the question, times how much of the question its first hop carries.
    """
    count = len(sentences)
    links = _Links(
        led_to=np.zeros(count),
        leads_on=np.zeros(count),
        shared=np.zeros(count),
        gain=np.zeros(count),
        hops=[None] * count,
    )
    best, covered = np.zeros(count), told @ shares
    share = _Shares(frozenset(wanted), weight)
    titles = {sentence.passage: sentence.title for sentence in sentences}
    rows_of = _rows_by_term(sentences)
    for row in _nearest(covered):
        first = sentences[row]
        new = np.maximum(told[row][None, :] - told, 0.0) @ shares
        names = {passage: share.of(title, first.terms) for passage, title in titles.items()}
        linked = {other for term in first.title | first.names for other in rows_of.get(term, ())}
        for other, sentence in enumerate(sentences):
            if sentence.passage == first.passage:
                continue
            if other not in linked and not names[sentence.passage]:
                continue
            forward = names[sentence.passage]
            back = share.of(first.title, sentence.terms)
            shared = share.of(first.names, sentence.names)
            link = max(forward, back, SHARED_NAMES * shared)
            if not link:
                continue
            worth = link * covered[row]
            links.led_to[other] = max(links.led_to[other], forward * covered[row])
            links.leads_on[other] = max(links.leads_on[other], back * covered[row])
            links.shared[other] = max(links.shared[other], shared * covered[row])
            links.gain[other] = max(links.gain[other], link * new[other])
            if link >= NAMED and worth > best[other]:
                best[other], links.hops[other] = worth, row
    return links


def _rows_by_term(sentences: Sequence[Sentence]) -> Mapping[str, list[int]]:
    """Return the rows of the sentences that have a term, in their own words or names."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, sentence in enumerate(sentences):
        for term in sentence.terms | sentence.names:
            found[term].append(row)
    return found


def _nearest(covered: Floats) -> list[int]:
    order = np.lexsort((np.arange(covered.size), -covered))
    return [int(row) for row in order[:NEAR]]


def _share(found: frozenset[str], whole: frozenset[str], weight: TokenWeight) -> float:
    if not found or not whole:
        return 0.0
    total = sum(max(weight(term), 0.0) for term in sorted(whole))
    return sum(max(weight(term), 0.0) for term in sorted(found)) / total if total else 0.0


class _Shares:
    """Weighted overlap of term sets; each total is computed once."""

    def __init__(self, asked: frozenset[str], weight: TokenWeight) -> None:
        self._asked, self._weight = asked, weight
        self._totals: dict[frozenset[str], float] = {}

    def of(self, whole: frozenset[str], terms: frozenset[str]) -> float:
        """Return the share of `whole` in `terms`, without the question's words."""
        found = whole & terms
        if not found or found <= self._asked:
            return 0.0
        if whole not in self._totals:
            self._totals[whole] = sum(max(self._weight(term), 0.0) for term in sorted(whole))
        total = self._totals[whole]
        held = sum(max(self._weight(term), 0.0) for term in sorted(found - self._asked))
        return held / total if total else 0.0
