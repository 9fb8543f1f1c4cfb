"""What leads a list, in words, for a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..types import Passage

COUNT = 3


def leading_rows(scores: npt.ArrayLike, name: Callable[[int], str]) -> str:
    """The best rows of a list by name and score, those without a score left out."""
    values = np.asarray(scores)
    count = min(COUNT, values.size)
    if not count:
        return ""
    # Of a large list only the best are put in order.
    rows = np.argpartition(-values, count - 1)[:count]
    best = sorted(rows.tolist(), key=lambda row: (-values[row], row))
    return "; ".join(f"{name(row)} {values[row]:.3g}" for row in best if values[row] > 0)


def leading_passages(passages: Sequence[Passage], *, count: int = COUNT) -> str:
    """The first passages by title and offset, with how relevant each is."""
    return "; ".join(f"{each.title}:{each.start} {each.relevance:.2f}" for each in passages[:count])
