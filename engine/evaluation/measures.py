"""Measures of one answer against its gold, each in [0, 1]; pure functions.

Words are folded and without articles, Chinese by characters. A figure or a date is the same in any
form ("1,200", "twelve hundred"; "3 March 1907", "1907年3月3日").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from graph.text.cjk import HAN, has_han

from ..storage.tokenization import tokens
from ..types import Citation, Passage
from ..verification.entities_and_numbers import extract_quantities
from .datasets import GoldSpan

COVERED = 0.5
"""Share of a gold span that a passage or citation must hold."""
POINT_COVERED = 0.75
"""Share of a point's words that an answer must hold to make the point."""
FIGURE_TOLERANCE = 0.005
"""Relative tolerance of figures; years and months must be equal."""
_SHORT_VALUE = 6
_ARTICLES = ("a", "an", "the")


def normalised_words(text: str) -> list[str]:
    """Return folded words without articles and punctuation, Chinese characters singly."""
    spaced = re.sub(rf"([{HAN}])", r" \1 ", re.sub(r"[^\w]+|_", " ", text.casefold()))
    return [word for word in spaced.split() if word not in _ARTICLES]


def exact_match(said: str, gold: str) -> float:
    """1 where both have the same normalised words (SQuAD's EM), else 0."""
    return float(bool(said) and normalised_words(said) == normalised_words(gold))


def token_f1(said: str, gold: str) -> float:
    """Return the harmonic mean of word precision and recall (SQuAD's F1)."""
    one, other = Counter(normalised_words(said)), Counter(normalised_words(gold))
    shared = (one & other).total()
    return 2 * shared / (one.total() + other.total()) if shared else 0.0


def holds_value(text: str, value: str) -> float:
    """Return how much of a gold value a text holds.

    1 where its words stand in a row, or where it is a figure or a date that the text gives in any
    form; else the share of its content words for a value of more than six words, or 0.
    """
    words, within = normalised_words(value), normalised_words(text)
    joined = f" {' '.join(within)} "
    if words and f" {' '.join(words)} " in joined:
        return 1.0
    if len(tokens(value)) <= _SHORT_VALUE:
        return float(_same_figures(text, value))
    content = set(tokens(value))
    return len(content & set(tokens(text))) / len(content)


def _same_figures(text: str, value: str) -> bool:
    wanted = extract_quantities(value)
    if not (wanted.numbers or wanted.months):
        return False
    named = [word for word in tokens(value) if not re.search(r"\d", word)]
    held = extract_quantities(text)
    if not wanted.months and not wanted.numbers:
        return False
    numbers = all(any(_near(one, other) for other in held.numbers) for one in wanted.numbers)
    most = 4 if has_han(value) else 2
    return numbers and wanted.months <= held.months and len(named) <= most


def _near(one: str, other: str) -> bool:
    first, second = float(one), float(other)
    if first == second:
        return True
    if 1000 <= first <= 2100 and first.is_integer():
        return False
    return abs(first - second) <= FIGURE_TOLERANCE * max(abs(first), abs(second))


def correctness(said: str, short: str, answers: Sequence[str], *, question: str) -> float:
    """Return how right an answer is: the best of the accepted values.

    Where a value stands in the question itself (a comparison names both sides), the short answer
    alone counts, or without one the first sentence.
    """
    scores = []
    asked = f" {' '.join(normalised_words(question))} "
    for value in answers:
        decides = f" {' '.join(normalised_words(value))} " in asked
        first = re.split(r"(?<=[.!?])\s|(?<=[。！？])|\n", said.strip(), maxsplit=1)[0]
        text = (short or first) if decides else f"{short}\n{said}"
        scores.append(holds_value(text, value))
    return max(scores, default=0.0)


def completeness(said: str, points: Sequence[str]) -> float:
    """Return the share of the expected points that an answer makes."""
    held = set(tokens(said))
    made = 0
    for point in points:
        words = set(tokens(point))
        made += bool(words) and len(words & held) >= POINT_COVERED * len(words)
    return made / len(points)


def relevancy(said: str, question: str, weight: Sequence[tuple[str, float]]) -> float:
    """Return the weighted share of a question's content words that an answer takes up.

    `weight` holds the question's words with their idf. An empty answer has 0.
    """
    held = set(tokens(said)) - {""}
    total = sum(value for _, value in weight)
    if not total or not question:
        return 0.0
    return sum(value for word, value in weight if word in held) / total


def covers(place: Passage | Citation, span: GoldSpan) -> bool:
    """Check whether a passage or citation holds enough of a gold span, or lies within it."""
    if place.document_id != span.document_id:
        return False
    shared = min(place.end, span.end) - max(place.start, span.start)
    return shared > 0 and shared >= COVERED * min(span.end - span.start, place.end - place.start)


def context_density(passages: Sequence[Passage], spans: Sequence[GoldSpan]) -> float:
    """Return the share of the packed characters that lie in gold spans, 0 without any."""
    packed = sum(one.end - one.start for one in passages)
    held = sum(
        max(0, min(one.end, span.end) - max(one.start, span.start))
        for one in passages
        for span in spans
        if one.document_id == span.document_id
    )
    return min(1.0, held / packed) if packed else 0.0


def context_precision(relevant: Sequence[bool]) -> float:
    """Return the mean precision at each relevant position (RAGAS's context precision)."""
    found, total = 0, 0.0
    for place, one in enumerate(relevant, start=1):
        if one:
            found += 1
            total += found / place
    return total / found if found else 0.0
