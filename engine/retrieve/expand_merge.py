"""Several score arrays of one question made into one, each with its say.

What phrasings, sub-questions or hypothetical passages found is merged over the same rows. Pure
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from .fuse import Scores, rescale

Method = Literal["sum", "max", "rrf", "turns"]
RRF_K = 60


def merge(
    rankings: Sequence[npt.ArrayLike],
    weights: Sequence[float],
    *,
    method: Method = "sum",
    pool: int = 100,
) -> Scores:
    """One score a row, 0–1, higher is better, of several arrays of scores (n).

    Args:
        rankings: each (n), higher is better; where a row was not found, 0 or less.
        weights: one a ranking, 0 or more.
        method: `sum`: the weighted mean of the rescaled scores. `max`: the best weighted one.
            `rrf`: Σ weight / (60 + rank), rescaled. `turns`: the rankings take turns and each
            takes its best row that is not taken, one of twice the weight twice as often, so that
            each has its share of any top.
        pool: how many of its best rows each ranking brings; what is below scores nothing in it.

    Order of the rankings means nothing but for `turns`, where the earlier begins. Ties within a
    ranking are broken by row.
    """
    if len(rankings) != len(weights):
        raise ValueError(f"{len(rankings)} rankings with {len(weights)} weights")
    arrays = [np.asarray(each, dtype=np.float64) for each in rankings]
    heard = [(a, w) for a, w in zip(arrays, weights, strict=True) if w > 0]
    if not heard:
        return np.zeros(arrays[0].shape if arrays else 0)
    size = heard[0][0].size
    match method:
        case "sum" | "max":
            top = max(weight for _, weight in heard)
            scaled = np.stack([w / top * _scaled(array, pool) for array, w in heard])
            if method == "max":
                return np.asarray(scaled.max(axis=0))
            # Sorted, so that the sum is the same to the last bit in any order of the rankings.
            summed = np.sort(scaled, axis=0).sum(axis=0)
            return np.asarray(summed * top / sum(weight for _, weight in heard))
        case "rrf":
            shares = np.stack([_reciprocal_ranks(array, pool) * w for array, w in heard])
            return rescale(np.sort(shares, axis=0).sum(axis=0), size + 1)
        case "turns":
            return _in_turns(heard, pool=pool, size=size)


def _scaled(scores: Scores, pool: int) -> Scores:
    return np.where(scores > 0, rescale(scores, pool + 1), 0.0)


def _best(scores: Scores, pool: int) -> list[int]:
    order = np.lexsort((np.arange(scores.size), -scores))[:pool]
    return [int(row) for row in order if scores[row] > 0]


def _reciprocal_ranks(scores: Scores, pool: int) -> Scores:
    found = np.zeros(scores.size)
    best = _best(scores, pool)
    found[best] = 1.0 / (RRF_K + 1 + np.arange(len(best)))
    return found


def _in_turns(heard: Sequence[tuple[Scores, float]], *, pool: int, size: int) -> Scores:
    """Interleave rows; the first scores 1, each later one a step less."""
    waiting = [_best(array, pool)[::-1] for array, _ in heard]
    had = [0.0] * len(heard)
    taken: dict[int, None] = {}
    while any(waiting):
        # Whoever has had least for its weight is next, the earlier where all is even.
        turn = min((i for i, rows in enumerate(waiting) if rows), key=lambda i: (had[i], i))
        had[turn] += 1.0 / heard[turn][1]
        while waiting[turn]:
            row = waiting[turn].pop()
            if row not in taken:
                taken[row] = None
                break
    scores = np.zeros(size)
    scores[list(taken)] = 1.0 - np.arange(len(taken)) / max(1, len(taken))
    return scores
