"""Walks over a sparse graph: arrays in, arrays out; nothing of names or passages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .errors import GraphInputError

FloatArray = npt.NDArray[np.float32]


def rows_normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    """Each row divided by its sum, as float32; rows without entries stay empty.

    The weights must not be negative.
    """
    sums = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    factors = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    shares = np.asarray(matrix.data * np.repeat(factors, np.diff(matrix.indptr)), dtype=np.float32)
    return sparse.csr_array((shares, matrix.indices, matrix.indptr), shape=matrix.shape)


def walk(
    matrix: sparse.csr_array, restart: FloatArray, *, steps: int = 5, damping: float = 0.5
) -> FloatArray:
    """`steps` times x ← damping · Pᵀx + (1 − damping) · r, beginning at x = r.

    Personalised PageRank (Page et al. 1999; Haveliwala 2002) cut off after a few steps: with
    damping 0.5 what is missing of the limit is 0.5**steps. `matrix` is P, rows summing to one
    or empty (mass at a dead end is lost, which leaves the order of the others as it is); `restart`
    is r, of length n. Returns x, float32, n. Deterministic.

    Raises:
        GraphInputError: the shapes do not fit.
    """
    if matrix.shape != (restart.size, restart.size):
        raise GraphInputError(f"a walk over {matrix.shape} needs as many restarts: {restart.size}")
    incoming = matrix.T
    start = restart.astype(np.float32)
    mass = start
    for _ in range(steps):
        mass = np.float32(damping) * (incoming @ mass) + np.float32(1 - damping) * start
    return np.asarray(mass, dtype=np.float32)


def k_hop(matrix: sparse.csr_array, rows: npt.ArrayLike, *, hops: int) -> npt.NDArray[np.int64]:
    """The nodes within `hops` steps along the edges from `rows`, themselves included, ascending."""
    reached = np.zeros(matrix.shape[0], dtype=bool)
    frontier = np.unique(np.asarray(rows, dtype=np.int64))
    reached[frontier] = True
    for _ in range(hops):
        neighbours = [
            matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]] for row in frontier
        ]
        candidates = np.unique(np.concatenate([*neighbours, np.empty(0, dtype=np.int64)]))
        frontier = candidates.astype(np.int64)[~reached[candidates.astype(np.int64)]]
        reached[frontier] = True
    return np.flatnonzero(reached)
