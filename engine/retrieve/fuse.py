"""Several score lists of one question made into one. Pure arrays; knows nothing of passages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]


def rescale(scores: npt.ArrayLike, rank: int = 101) -> Scores:
    """Scores (n) → 0–1: the best is 1, that at `rank` (or the lowest) and all below it 0.

    Where all are equal there is nothing to tell apart: all 1 where they found something, else 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    top = float(values.max())
    place = max(values.size - rank, 0)
    floor = float(np.partition(values, place)[place])
    if not top > floor:
        return np.full_like(values, float(top > 0))
    return np.clip((values - floor) / (top - floor), 0.0, 1.0)


def score_fusion(
    lists: Sequence[npt.ArrayLike], weights: Sequence[float | npt.ArrayLike], *, rank: int = 101
) -> Scores:
    """The weighted mean of the rescaled lists, each (n); a weight is one number or one a passage.

    Where all weights of a passage are nil its score is nil.
    """
    total = sum(np.asarray(w, dtype=np.float64) for w in weights)
    summed = sum(
        np.asarray(w, dtype=np.float64) * rescale(s, rank)
        for s, w in zip(lists, weights, strict=True)
    )
    return np.divide(summed, total, out=np.zeros(np.shape(summed)), where=np.asarray(total) > 0)


def reciprocal_rank_fusion(
    lists: Sequence[npt.ArrayLike], *, k: int = 60, depth: int = 1000
) -> Scores:
    """Σ 1 / (k + rank) over the lists (Cormack, Clarke and Büttcher, SIGIR 2009), each list (n).

    A list holds its `depth` best scores above zero. Equal scores share the best of their ranks.
    The order of the lists means nothing, to the last bit.
    """
    shares = [_reciprocal_ranks(np.asarray(s, dtype=np.float64), k, depth) for s in lists]
    if not shares:
        return np.zeros(0)
    return np.asarray(np.sort(np.stack(shares), axis=0).sum(axis=0))


def _reciprocal_ranks(scores: Scores, k: int, depth: int) -> Scores:
    descending = -np.sort(-scores)
    ranks = np.searchsorted(-descending, -scores, side="left") + 1
    return np.where((scores > 0) & (ranks <= depth), 1.0 / (k + ranks), 0.0)
