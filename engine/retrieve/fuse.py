"""Score fusion of several lists; pure arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Weight = float | npt.ArrayLike
"""One number, or one a passage."""


def rescale(scores: npt.ArrayLike, rank: int = 101) -> Scores:
    """Rescale scores (n) to 0–1: best is 1, the one at `rank` (or lowest) and below is 0.

    Where all are equal there is nothing to tell apart: all 1 where they found something, else 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    top = float(values.max())
    floor = _floor(values, rank)
    if not top > floor:
        return np.full_like(values, float(top > 0))
    return np.clip((values - floor) / (top - floor), 0.0, 1.0)


def _floor(values: Scores, rank: int) -> float:
    """Return the score at `rank`, or the lowest.

    Mostly the lowest score is that of nearly all, and partitioning so many equals is slow.
    """
    lowest = float(values.min())
    above = values[values > lowest]
    if above.size < rank:
        return lowest
    return float(np.partition(above, above.size - rank)[above.size - rank])


def found_scores(rows: Sequence[int], scores: Sequence[float | None], *, count: int) -> Scores:
    """Expand a partial list to scores of all `count` rows, found ones above 0.

    `rows` are best first. Scores keep their distances on a scale that ends at 1 and begins at one
    part in as many as were found; where any has no score, all are scored by their places alone.
    A row that is named again keeps its first score.
    """
    values = np.zeros(count)
    if not rows:
        return values
    known = [score for score in scores if score is not None]
    if len(known) < len(rows):
        known = [float(len(rows) - place) for place in range(len(rows))]
    given = np.asarray(known, dtype=np.float64)
    low, high, least = given.min(), given.max(), 1.0 / len(rows)
    scaled = (
        least + (1 - least) * (given - low) / (high - low) if high > low else np.ones(len(rows))
    )
    values[np.asarray(rows)[::-1]] = scaled[::-1]
    return values


def score_fusion(
    lists: Sequence[npt.ArrayLike], weights: Sequence[Weight], *, rank: int = 101
) -> Scores:
    """Return the weighted mean of rescaled lists, each (n).

    Weights are scalars or per passage.

    Where all weights of a passage are nil its score is nil.
    """
    total = sum(np.asarray(w, dtype=np.float64) for w in weights)
    summed = sum(
        np.asarray(w, dtype=np.float64) * rescale(s, rank)
        for s, w in zip(lists, weights, strict=True)
    )
    return np.divide(summed, total, out=np.zeros(np.shape(summed)), where=np.asarray(total) > 0)


def reciprocal_rank_fusion(
    lists: Sequence[npt.ArrayLike],
    weights: Sequence[Weight] | None = None,
    *,
    k: int = 60,
    depth: int = 1000,
) -> Scores:
    """Fuse by Σ weight / (k + rank) (RRF.

    Cormack, Clarke and Büttcher, SIGIR 2009), each (n).

    A list holds its `depth` best scores above zero. Equal scores share the best of their ranks.
    The order of the lists means nothing, to the last bit. Without weights every list counts once.
    """
    given = [1.0] * len(lists) if weights is None else weights
    shares = [
        np.asarray(w, dtype=np.float64)
        * _reciprocal_ranks(np.asarray(s, dtype=np.float64), k, depth)
        for s, w in zip(lists, given, strict=True)
    ]
    if not shares:
        return np.zeros(0)
    return np.asarray(np.sort(np.stack(shares), axis=0).sum(axis=0))


def _reciprocal_ranks(scores: Scores, k: int, depth: int) -> Scores:
    found = np.flatnonzero(scores > 0)
    descending = np.sort(scores[found])[::-1]
    ranks = np.searchsorted(-descending, -scores[found], side="left") + 1
    shares = np.zeros(scores.size)
    shares[found] = np.where(ranks <= depth, 1.0 / (k + ranks), 0.0)
    return shares
