"""Whether what is asked for is said of the thing that it is asked about.

A page on Ada Roe does not answer when she was born, and neither does somebody else's birth beside
it: one sentence, by itself or with the one that leads to it, has to name her, to speak of a birth,
and to show a date. The fewer words a question has beside its names, the more it tells that none
of them is found so. Knows nothing of indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..sentences import Tokens
from .asked import Asked
from .relatives import RELATIVE, variants
from .short import fit_of
from .spans import NameSpans
from .weigh import Weighed

LOOKED_AT = 30
"""So many sentences, the best, are looked at."""
NAMED = 0.8
"""From this share of its title's weight on, a question is taken to name a thing."""
WITHOUT_KIND = 0.5
"""What a sentence counts that shows nothing of the kind that is asked for."""

DISTINCTIVE = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Za-z]*\d[\w.-]*\w|\b\d\b")
"""Names, codes and numbers of an English question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`share`, 0–1, of what is sought is said of the thing asked about, by the sentence that says
    most of it; `sought` counts the words that are neither asking nor of its name."""

    share: float
    sought: int


def bound_to_subject(
    question: str,
    weighed: Sequence[Weighed],
    *,
    asked: Asked,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
    tokens: Tokens,
    names: NameSpans,
) -> Bound:
    """How much of what is sought is said of its subject; all of it where nothing is sought."""
    subject = _subject(question, weighed, wanted=wanted, weight=weight, tokens=tokens)
    about = {term: value for term, value in wanted.items() if term in subject}
    sought = {term: value for term, value in wanted.items() if term not in subject}
    order = sorted(range(len(weighed)), key=lambda row: (-weighed[row].score, row))[:LOOKED_AT]
    said = {row: _said(weighed, row, about, sought) for row in order}
    best = 0.0
    for row in sorted(order, key=lambda row: -said[row]):
        if said[row] <= best:
            break  # no kind can lift this one above the best
        fit = fit_of(question, weighed[row], asked=asked, wanted=wanted, tokens=tokens, names=names)
        best = max(best, said[row] * (WITHOUT_KIND + (1 - WITHOUT_KIND) * fit))
    return Bound(share=best, sought=len(sought))


def _subject(
    question: str,
    weighed: Sequence[Weighed],
    *,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
    tokens: Tokens,
) -> set[str]:
    """The question's words that stand in its names, or in titles found that it names."""
    named = {term for match in DISTINCTIVE.finditer(question) for term in tokens(match.group())}
    for title in {each.sentence.title for each in weighed}:
        whole = sum(max(weight(term), 0.0) for term in sorted(title))
        held = sum(max(weight(term), 0.0) for term in sorted(title & wanted.keys()))
        if whole and held >= NAMED * whole:
            named |= title
    return named & wanted.keys()


def _said(
    weighed: Sequence[Weighed], row: int, about: Mapping[str, float], sought: Mapping[str, float]
) -> float:
    """The share of the subject that a sentence names, times that of what is sought in it."""
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
    first, *others = variants(term)
    if first in terms:
        return 1.0
    return RELATIVE if others and not terms.isdisjoint(others) else 0.0
