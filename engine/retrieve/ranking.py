"""One question's score arrays to one order of passages: fuse, then walk.

Pure: rows and numbers. What a row is, who made the scores and what the walk walks on come as
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from .fuse import Scores, reciprocal_rank_fusion, rescale, score_fusion

Rows = npt.NDArray[np.int64]
Fusion = Literal["score", "rrf", "weighted_score", "weighted_rrf"]
"""Rescaled scores or reciprocal ranks; every list alike, or each by its weight."""
TITLE_SHARE = 0.3
"""Weight of the BM25 score of the title alone beside that of title and body."""


class WalkOutcome(Protocol):
    """Walk result: mass of each row (n), all rows best first, and its seeds."""

    @property
    def mass(self) -> npt.NDArray[np.float32]:
        """Return the walk's mass at each row."""

    @property
    def seeds(self) -> Rows:
        """Rows that the walk began at, best first."""
        ...

    @property
    def order(self) -> Rows:
        """All rows, best first."""


Walk = Callable[[Scores], WalkOutcome]
"""Fused scores, 0–1, one a row → where a walk from the best of them leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Ranking of all rows, best first, with its score and each list's scores by name.

    `scores[order]` never rises. `lists` holds `keyword` and, where they took part, `dense`, further
    lists by their names, `fused` and `walk`, each (n). `seeds` are the rows that a walk began at,
    best first.
    """

    order: Rows
    scores: Scores
    lists: Mapping[str, Scores] = field(default_factory=dict)
    seeds: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def rank_passages(
    lexical_body: npt.ArrayLike | None,
    lexical_title: npt.ArrayLike | None = None,
    *,
    dense: npt.ArrayLike | None = None,
    dense_weight: float | npt.ArrayLike = 1.0,
    further: Mapping[str, npt.ArrayLike] | None = None,
    walk: Walk | None = None,
    fusion: Fusion = "score",
    weights: Mapping[str, float] | None = None,
    decay: npt.ArrayLike | None = None,
) -> Ranking:
    """Rows by fused score, or by the mass of a walk from the best of these.

    Args:
        lexical_body: BM25 of title and body (n); None or empty where keyword search is off.
        lexical_title: BM25 of the title alone (n).
        dense: cosine of question and passage (n).
        dense_weight: 0–1, one number or one a row: how much of the question and of the passage
            the encoder can read. Where it is nil, the keyword score alone decides.
        further: more lists by name, each (n), nil where a list did not find the passage.
        walk: what to do with the fused scores; None leaves their order.
        fusion: how lists become one; by ranks is rescaled to 0–1 for the walk's sake.
        weights: of lists by name, 1 where not given; they count in the weighted fusions alone.
        decay: a factor for each fused score (n), before the walk (see `time`).

    Ties are broken by row, so the same input gives the same order.
    """
    lists = _lists(lexical_body, lexical_title, dense, dense_weight)
    lists |= {name: np.asarray(some, np.float64) for name, some in (further or {}).items()}
    fused = _fused(lists, dense_weight, fusion=fusion, weights=weights or {})
    if decay is not None:
        fused = fused * np.asarray(decay, dtype=np.float64)
    lists["fused"] = fused
    if walk is None:
        order = np.lexsort((np.arange(fused.size), -fused))
        return Ranking(order=order, scores=fused, lists=lists)
    outcome = walk(fused)
    mass = np.asarray(outcome.mass, dtype=np.float64)
    lists["walk"] = mass
    return Ranking(order=outcome.order, scores=mass, lists=lists, seeds=outcome.seeds)


def _fused(
    lists: Mapping[str, Scores],
    dense_weight: float | npt.ArrayLike,
    *,
    fusion: Fusion,
    weights: Mapping[str, float],
) -> Scores:
    given = {name: weights.get(name, 1.0) if "weighted" in fusion else 1.0 for name in lists}
    if fusion == "rrf":
        return rescale(reciprocal_rank_fusion(list(lists.values())))
    readable = np.asarray(dense_weight, dtype=np.float64)
    scaled = [weight * readable if name == "dense" else weight for name, weight in given.items()]
    if fusion == "weighted_rrf":
        return rescale(reciprocal_rank_fusion(list(lists.values()), scaled))
    return score_fusion(list(lists.values()), scaled)


def _lists(
    body: npt.ArrayLike | None,
    title: npt.ArrayLike | None,
    dense: npt.ArrayLike | None,
    dense_weight: float | npt.ArrayLike,
) -> dict[str, Scores]:
    lists: dict[str, Scores] = {}
    if body is not None:
        keyword = np.asarray(body, dtype=np.float64)
        if title is not None:
            keyword = keyword + TITLE_SHARE * np.asarray(title, dtype=np.float64)
        lists["keyword"] = keyword
    if dense is not None:
        cosine = np.asarray(dense, dtype=np.float64)
        weight = np.broadcast_to(np.asarray(dense_weight, dtype=np.float64), cosine.shape)
        if cosine.size and weight.max() > 0:
            # What the encoder cannot read looks alike to it: such cosines must not set the scale.
            lists["dense"] = np.where(weight > 0, cosine, cosine[weight > 0].min())
    return lists or {"keyword": np.zeros(0)}
