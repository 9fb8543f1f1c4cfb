"""Subject binding: whether an attribute is stated of the thing asked about.

A page on Ada Roe does not answer when she was born, and neither does somebody else's birth beside
it: one sentence, by itself or with the one that leads to it, has to name her, to speak of a birth,
and to show a date. The fewer words a question has beside its names, the more it tells that none
of them is found so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..sentences import Tokens
from .asked import QuestionType
from .relatives import RELATIVE, lexical_variants
from .short import span_features
from .spans import NameSpans
from .weigh import ScoredSentence

LOOKED_AT = 30
"""Maximum sentences examined, best first."""
NAMED = 0.8
"""From this share of its title's weight on, a question is taken to name a thing."""
WITHOUT_KIND = 0.5
"""Credit of a sentence without the expected answer type."""

DISTINCTIVE = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Za-z]*\d[\w.-]*\w|\b\d\b")
"""Names, codes and numbers of an English question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectBinding:
    """Binding of the subject.

    `share`, 0–1, of the sought words stated of it by the best sentence; `sought` counts
    words besides question words and its name.
    """

    share: float
    sought: int


def score_subject_binding(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    asked: QuestionType,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
    tokens: Tokens,
    names: NameSpans,
) -> SubjectBinding:
    """Score how much of what is sought is stated of its subject; 1 if nothing is sought."""
    subject = _subject(question, weighed, wanted=wanted, weight=weight, tokens=tokens)
    about = {term: value for term, value in wanted.items() if term in subject}
    sought = {term: value for term, value in wanted.items() if term not in subject}
    order = sorted(range(len(weighed)), key=lambda row: (-weighed[row].score, row))[:LOOKED_AT]
    said = {row: _said(weighed, row, about, sought) for row in order}
    best = 0.0
    for row in sorted(order, key=lambda row: -said[row]):
        if said[row] <= best:
            break  # no kind can lift this one above the best
        fit = span_features(
            question, weighed[row], asked=asked, wanted=wanted, tokens=tokens, names=names
        )
        best = max(best, said[row] * (WITHOUT_KIND + (1 - WITHOUT_KIND) * fit))
    return SubjectBinding(share=best, sought=len(sought))


def _subject(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
    tokens: Tokens,
) -> set[str]:
    """Return question words that stand in its names or in matching titles."""
    named = {term for match in DISTINCTIVE.finditer(question) for term in tokens(match.group())}
    for title in {each.sentence.title for each in weighed}:
        whole = sum(max(weight(term), 0.0) for term in sorted(title))
        held = sum(max(weight(term), 0.0) for term in sorted(title & wanted.keys()))
        if whole and held >= NAMED * whole:
            named |= title
    return named & wanted.keys()


def _said(
    weighed: Sequence[ScoredSentence],
    row: int,
    about: Mapping[str, float],
    sought: Mapping[str, float],
) -> float:
    """Return the share of the subject a sentence names, times its share of sought words."""
    sentence, hop = weighed[row].sentence, weighed[row].hop
    chain = [sentence] if hop is None else [sentence, weighed[hop].sentence]
    names = [each.terms | each.tells | each.context for each in chain]
    tells = [each.terms | each.tells | (each.context - each.title) for each in chain]
    return _share(about, names) * _share(sought, tells)


def _share(which: Mapping[str, float], where: Sequence[frozenset[str]]) -> float:
    total = sum(which.values())
    if not total:
        return 1.0
    return sum(w * max(_held(term, terms) for terms in where) for term, w in which.items()) / total


def _held(term: str, terms: frozenset[str]) -> float:
    first, *others = lexical_variants(term)
    if first in terms:
        return 1.0
    return RELATIVE if others and not terms.isdisjoint(others) else 0.0
