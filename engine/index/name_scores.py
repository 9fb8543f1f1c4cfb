"""Alias-aware BM25: names of one entity as one term; 刘备 finds 玄德.

Works on the postings of one field and on values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Frequencies = NDArray[np.float64]
Postings = Callable[[str], tuple[NDArray[np.integer], Scores]]
"""Token → rows that hold it, and BM25 scores; both empty for an unknown token."""

NAME_WEIGHT = 2.0
"""Weight of an entity name in words; a full name mostly has two."""
_NEARLY_ALL = 0.999


def name_idf(held: int, count: int) -> float:
    """ln(1 + (n − df + ½) / (df + ½)), of a word that `held` of `count` passages have."""
    return math.log(1 + (count - held + 0.5) / (held + 0.5))


def drop_supersets(names: Sequence[str]) -> list[str]:
    """Drop names that contain another name, sorted: 刘玄德 implies 玄德."""
    return sorted(one for one in names if not any(o != one and o in one for o in names))


def alias_bm25_scores(
    forms: Sequence[Sequence[str]],
    postings: Postings,
    *,
    count: int,
    seen: NDArray[np.bool_] | None = None,
) -> Scores:
    """Score an entity with several names as one BM25 term (Lucene's): `(count,)`.

    `seen` `(count,)` says over which passages it is counted how rare it is; None over all.

    `forms` are the tokens of each name. A passage has the thing as often as it has all its names
    together; a name stands where all its tokens do, as often as the rarest of them.
    """
    often = np.zeros(count, dtype=np.float64)
    for tokens in forms:
        often += _occurrences(tokens, postings, count)
    counted = often if seen is None else often[seen]
    weight = NAME_WEIGHT * name_idf(int(np.count_nonzero(counted)), counted.size)
    return np.asarray(weight * often / (1 + often), dtype=np.float32)


def _occurrences(tokens: Sequence[str], postings: Postings, count: int) -> Frequencies:
    """Return how often each passage has all tokens, in units of k1 × its length factor.

    Lucene's score of a token is idf × x / (1 + x) with x the frequency in these units.
    """
    rarest: Frequencies | None = None
    for token in dict.fromkeys(tokens):
        rows, scores = postings(token)
        often = np.zeros(count, dtype=np.float64)
        if rows.size:
            share = np.minimum(scores / name_idf(rows.size, count), _NEARLY_ALL)
            often[rows] = share / (1 - share)
        rarest = often if rarest is None else np.minimum(rarest, often)
    return np.zeros(count, dtype=np.float64) if rarest is None else rarest
