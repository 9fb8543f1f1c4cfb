"""Walks over a sparse graph: arrays in, arrays out; nothing of names or passages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .errors import GraphInputError

FloatArray = npt.NDArray[np.float32]


SPARSE_SHARE = 0.1
"""Below this share of nodes with any mass, only the edges of these are followed."""


def spread(matrix: sparse.csr_array, mass: FloatArray) -> FloatArray:
    """Return Pᵀx for `matrix` P (n, m) and `mass` x (n): one walk step, float32 (m).

    While few nodes hold any, only their rows are read; the sums are the same to the last bit.
    """
    active = np.flatnonzero(mass)
    if active.size < SPARSE_SHARE * mass.size:
        return np.asarray(matrix[active].T @ mass[active], dtype=np.float32)
    return np.asarray(matrix.T @ mass, dtype=np.float32)


def walk(
    matrix: sparse.csr_array,
    restart: FloatArray,
    *,
    steps: int = 5,
    damping: float = 0.5,
    also: Callable[[FloatArray], FloatArray] | None = None,
) -> FloatArray:
    """Run `steps` times x ← damping · Pᵀx + (1 − damping) · r, from x = r.

    Personalised PageRank (Page et al. 1999; Haveliwala 2002) cut off after a few steps: with
    damping 0.5 what is missing of the limit is 0.5**steps. `matrix` is P, rows summing to one
    or less (mass at a dead end is lost, which leaves the order of the others as it is); `restart`
    is r, of length n. `also` is what moves by other rules than P: x to where its share of x goes,
    both of length n. Returns x, float32, n. Deterministic.

    Raises:
        GraphInputError: the shapes do not fit.
    """
    if matrix.shape != (restart.size, restart.size):
        raise GraphInputError(f"a walk over {matrix.shape} needs as many restarts: {restart.size}")
    start = restart.astype(np.float32)
    mass = start
    for _ in range(steps):
        moved = spread(matrix, mass)
        if also is not None:
            moved = moved + also(mass)
        mass = np.float32(damping) * moved + np.float32(1 - damping) * start
    return np.asarray(mass, dtype=np.float32)


REACH = 3
"""Number of neighbouring rows on each side that inform a row."""
LARGEST_SHARE = 0.25
_SHRINK_PAIRS = 20


def with_neighbours(
    scores: npt.NDArray[np.floating], adjacent: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return scores (n, 0–1) with a share of their neighbours', as far as they correlate.

    `adjacent` (n − 1) tells which rows go on in the next one. The share of rows at a distance is
    how much the scores of rows so far apart correlate for this question, at most a quarter and no
    more than of those nearer, less where there are few such pairs: in a transcript what answers
    goes over many pieces, in a folder of notes the next piece is about something else. The best
    stays 1.
    """
    values = np.asarray(scores, dtype=np.float64)
    lifted = values.copy()
    share = LARGEST_SHARE
    connected = np.asarray(adjacent, dtype=bool)
    for distance in range(1, REACH + 1):
        if distance > 1:
            connected = connected[:-1] & adjacent[distance - 1 :]
        share = min(share, _agreement(values, connected, distance=distance))
        if share <= 0:
            break
        lifted[distance:] += share * values[:-distance] * connected
        lifted[:-distance] += share * values[distance:] * connected
    best, top = values.max(initial=0.0), lifted.max(initial=0.0)
    return np.asarray(lifted / top * best if top > best else lifted)


def _agreement(
    values: npt.NDArray[np.float64], connected: npt.NDArray[np.bool_], *, distance: int
) -> float:
    """Return the correlation of scores `distance` rows apart where `connected`.

    Shrunk for few.
    """
    if values.size <= distance:
        return 0.0
    first, second = values[:-distance][connected], values[distance:][connected]
    if first.size < 3:
        return 0.0
    both = np.concatenate([first, second])
    mean, variance = both.mean(), both.var()
    if not variance > 0:
        return 0.0
    correlation = float(((first - mean) * (second - mean)).mean() / variance)
    return correlation * first.size / (first.size + _SHRINK_PAIRS)
