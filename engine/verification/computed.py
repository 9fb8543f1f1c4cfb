"""Figures of a claim that follow from figures of its sources: differences, sums, shares, ratios.

A figure that a claim computes from two others that it repeats is held to them. Where it leaves the
others out, a word has to say that something is computed ("older by 15 years", "in all").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import combinations, permutations

MOST_OPERANDS = 12
"""Maximum figures of the sources that are tried; the pairs grow with the square."""

_CUE = re.compile(
    r"\b(?:differ\w*|margin|gap|older|younger|later|earlier|longer|shorter|higher|lower|above|below"
    r"|old|remain\w*|missing|total\w*|together|altogether|in all|sum|combined|i\.e\.|that is|times"
    r"|makes?|minutes|months)(?:\b|(?<=\.))|%|％|相差|高出|低于|合计|总共|一共|尚缺|还差|即|约占|分钟|个月",
    re.IGNORECASE,
)
_PAIR = 2
_FIRST_YEAR, _LAST_YEAR = 1000, 2200
_MINUTES = re.compile(r"\bminutes?\b|分钟", re.IGNORECASE)
_MONTHS = re.compile(r"\bmonths?\b|个月", re.IGNORECASE)


def computed_figures(
    missing: Collection[str], *, said: Collection[str], told: Collection[str], claim: str
) -> frozenset[str]:
    """Return those of the missing figures that compute from figures that the sources hold.

    Args:
        missing: figures of the claim that its sources lack.
        said: all figures of the claim.
        told: figures of the sentences that bear the claim.
        claim: its words.
    """
    operands = _decimals(set(said) & set(told))
    cued = _CUE.search(claim) is not None and len(told) <= MOST_OPERANDS
    if len(operands) < _PAIR and cued:
        operands = _decimals(told)
    results = set(_results(operands, claim))
    if cued:
        years = [one for one in _decimals(told) if _FIRST_YEAR <= one <= _LAST_YEAR]
        results |= {abs(one - other) for one, other in combinations(years, 2)}
    return frozenset(one for one in missing if _number(one) and Decimal(one) in results)


def _results(operands: list[Decimal], claim: str) -> Iterator[Decimal]:
    for one, other in permutations(operands, 2):
        yield from (one - other, one + other, one * other)
        if other:
            share = one / other
            yield from (round(share, 1), Decimal(round(100 * share)), round(100 * share, 1))
            yield from (Decimal(round(share)), Decimal(round(100 * (share - 1))))
        if _MINUTES.search(claim):
            yield 60 * one + other
        if _MONTHS.search(claim):
            yield 12 * one + other
    for three in combinations(operands, 3):
        yield sum(three, Decimal())
    if len(operands) > 3:
        yield sum(operands, Decimal())


def _decimals(figures: Collection[str]) -> list[Decimal]:
    return sorted(Decimal(one) for one in figures if _number(one))[:MOST_OPERANDS]


def _number(figure: str) -> bool:
    return re.fullmatch(r"\d{1,15}(?:\.\d{1,6})?", figure) is not None
