"""Measures of one ranked list against its gold. Pure.

A list is judged as the set of gold items that stand at each of its positions, best first: for
documents one or none, for spans those that a passage holds. Gold items are numbered from 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Judged = Sequence[frozenset[int]]


def recall(judged: Judged, gold_count: int, *, at: int) -> float:
    """Return the share of gold among the first positions (recall)."""
    return len(_found(judged[:at])) / gold_count


def precision(judged: Judged, *, at: int) -> float:
    """Return the share of the first positions that hold gold; missing ones hold none."""
    return sum(bool(gold) for gold in judged[:at]) / at


def all_gold(judged: Judged, gold_count: int, *, at: int) -> float:
    """1 where all gold stands among the first positions, else 0."""
    return float(len(_found(judged[:at])) == gold_count)


def reciprocal_rank(judged: Judged) -> float:
    """1 / the first position that holds gold; 0 where none does."""
    return next((1.0 / place for place, gold in enumerate(judged, start=1) if gold), 0.0)


def discounted_gain(judged: Judged, gold_count: int, *, at: int) -> float:
    """Return nDCG with binary gains and logarithmic discount (Järvelin and Kekäläinen 2002).

    A position gains where it holds gold that none before it held; the ideal list has one item of
    gold at each of its first positions.
    """
    known: set[int] = set()
    gain = 0.0
    for place, gold in enumerate(judged[:at], start=1):
        if gold - known:
            gain += 1.0 / math.log2(place + 1)
        known |= gold
    ideal = sum(1.0 / math.log2(place + 1) for place in range(1, min(gold_count, at) + 1))
    return gain / ideal


def figures(judged: Judged, gold_count: int, *, cutoffs: Sequence[int]) -> Mapping[str, float]:
    """All figures of one question by name: `R@5`, `P@5`, `nDCG@5`, `all@5`, and `MRR`."""
    found: dict[str, float] = {}
    for at in cutoffs:
        found[f"R@{at}"] = recall(judged, gold_count, at=at)
        found[f"P@{at}"] = precision(judged, at=at)
        found[f"nDCG@{at}"] = discounted_gain(judged, gold_count, at=at)
        found[f"all@{at}"] = all_gold(judged, gold_count, at=at)
    return found | {"MRR": reciprocal_rank(judged[: max(cutoffs)])}


def _found(judged: Judged) -> frozenset[int]:
    return frozenset().union(*judged)
