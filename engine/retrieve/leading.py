"""Preview of a ranking for the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..types import Passage

COUNT = 3


def preview_top_rows(scores: npt.ArrayLike, name: Callable[[int], str]) -> str:
    """Preview the best rows by name and score, without unscored ones."""
    values = np.asarray(scores)
    count = min(COUNT, values.size)
    if not count:
        return ""
    # Of a large list only the best are put in order.
    rows = np.argpartition(-values, count - 1)[:count]
    best = sorted(rows.tolist(), key=lambda row: (-values[row], row))
    return "; ".join(f"{name(row)} {values[row]:.3g}" for row in best if values[row] > 0)


def preview_top_passages(passages: Sequence[Passage], *, count: int = COUNT) -> str:
    """Preview the first passages by title, offset and relevance."""
    return "; ".join(f"{each.title}:{each.start} {each.relevance:.2f}" for each in passages[:count])
