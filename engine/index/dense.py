"""Nearest chunks by cosine, over the library's vectors held in memory.

One pass over all vectors, exact, up to 200,000 of them; above, an HNSW graph finds candidates (see
`vector_merge`) and what came since it was made is passed over beside it. Until there is a graph,
and for questions to a part of the library, all are compared: no question waits for one. Cosines
given out are exact in both and depend on the two vectors alone, not on where in memory they lie.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from .held_vectors import (
    VectorSegment,
    changed_vectors,
    count_vectors,
    merge_segments,
    read_vectors,
)
from .library import Library, unit_length, vector_stamp
from .vector_merge import BackgroundCompactor

EXACT_LIMIT = 200_000
"""Maximum vectors for exact search: 60 ms on two cores at 384 dimensions."""
SPARE = 2
"""Multiple of the depth that is rescored exactly."""
KEPT_ROWS = 8
"""For how many lists of chunks their place among the vectors is kept."""

Scores = NDArray[np.float64]


class DenseIndex:
    """Searches the vectors of one model in one library."""

    def __init__(self, library: Library, *, model: str) -> None:
        self._library = library
        self._model = model
        self._lock = threading.Lock()
        self._held: VectorSegment | None = None
        self._merge = BackgroundCompactor(library.path / "derived", model=model, swap=self._swap)
        self._rows: list[tuple[VectorSegment, tuple[str, ...], NDArray[np.int64]]] = []

    def search(
        self, query: NDArray[np.float32], *, top_k: int, within: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """`(chunk id, cosine)` of the nearest chunks by their best window, best first.

        `within` names the only chunks that count; None means all.
        """
        found = self.scores(query, depth=top_k, within=within)
        order = sorted(found, key=lambda chunk_id: (-found[chunk_id], chunk_id))
        return [(chunk_id, found[chunk_id]) for chunk_id in order[:top_k]]

    def scores(
        self, query: NDArray[np.float32], *, depth: int, within: Collection[str] | None = None
    ) -> dict[str, float]:
        """Return cosines by chunk id for at least the `depth` nearest chunks.

        Among `within` if given.

        The cosines are exact; what a graph of very many vectors may miss is a chunk.
        """
        held = self._current()
        if not held.chunk_ids or depth < 1:
            return {}
        admitted = None
        if within is not None:
            admitted = np.fromiter((c in within for c in held.chunk_ids), dtype=bool)
        numbers, cosines = self._nearest(held, unit_length(query), depth, admitted)
        return {held.chunk_ids[n]: float(c) for n, c in zip(numbers, cosines, strict=True)}

    def array(
        self, query: NDArray[np.float32], chunk_ids: tuple[str, ...], *, depth: int
    ) -> Scores | None:
        """Cosine of each of these chunks, in their order; None where none has a vector.

        Only they count. What is not among the `depth` nearest has the least cosine of those. The
        same tuple asked again costs no search for where its chunks are.
        """
        held = self._current()
        rows = self._rows_of(held, chunk_ids)
        present = rows >= 0
        if not present.any() or depth < 1:
            return None
        admitted = None
        if np.count_nonzero(present) < len(held.chunk_ids):
            admitted = np.zeros(len(held.chunk_ids), dtype=bool)
            admitted[rows[present]] = True
        numbers, cosines = self._nearest(held, unit_length(query), depth, admitted)
        by_number = np.full(len(held.chunk_ids), cosines.min())
        by_number[numbers] = cosines
        return np.where(present, by_number[rows], cosines.min())

    def cosines(self, query: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
        """Exact cosine of these chunks by their best window, whether or not they are near."""
        held = self._current()
        numbers = [held.number_of[c] for c in dict.fromkeys(chunk_ids) if c in held.number_of]
        if not numbers:
            return {}
        chosen = np.array(numbers, dtype=np.int64)
        cosines = _exact(held, unit_length(query), chosen)
        return {held.chunk_ids[n]: float(c) for n, c in zip(chosen, cosines, strict=True)}

    def settle(self) -> None:
        """Wait until nothing is being merged in the background."""
        self._merge.settle()

    def close(self) -> None:
        """Give up what is being merged."""
        self._merge.close()

    def _current(self) -> VectorSegment:
        # First a connection, then the lock, as where a reader is inside a view already.
        with self._library.read() as connection, self._lock:
            now = vector_stamp(connection)
            if self._held is None:
                self._held = self._read(connection, now)
            elif self._held.stamp != now:
                self._held = changed_vectors(connection, now, model=self._model, before=self._held)
                if self._held.needs_compaction and len(self._held.slots) <= EXACT_LIMIT:
                    self._held = merge_segments(self._held)
            held = self._held
        if len(held.slots) > EXACT_LIMIT:
            self._merge.tend(held)
        return held

    def _read(self, connection: Connection, now: str) -> VectorSegment:
        """All vectors, in the order of a kept graph where there is one and they are many."""
        if count_vectors(connection, model=self._model) <= EXACT_LIMIT:
            return read_vectors(connection, now, model=self._model)
        return self._merge.opened(
            lambda order: read_vectors(connection, now, model=self._model, order=order)
        )

    def _swap(self, before: VectorSegment, after: VectorSegment) -> VectorSegment:
        """Replace the state if it is still `before`; return the present one."""
        with self._lock:
            if self._held is before or self._held is None:
                self._held = after
            return self._held

    def _rows_of(self, held: VectorSegment, chunk_ids: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the number of each chunk, -1 without a vector."""
        with self._lock:
            for known, ids, rows in self._rows:
                if known is held and ids is chunk_ids:
                    return rows
            rows = np.array([held.number_of.get(c, -1) for c in chunk_ids], dtype=np.int64)
            kept = [entry for entry in self._rows if entry[0] is held]
            self._rows = [*kept[-KEPT_ROWS + 1 :], (held, chunk_ids, rows)]
            return rows

    def _nearest(
        self,
        held: VectorSegment,
        query: NDArray[np.float32],
        depth: int,
        admitted: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return at least the `depth` nearest admitted chunks and their exact cosines."""
        cosines = None
        if len(held.slots) > EXACT_LIMIT and admitted is None:
            cosines = self._merge.near(held, query, count=SPARE * depth)
        if cosines is None:
            cosines = held.near(query)
        best = held.best_of(cosines)
        if admitted is not None:
            best[~admitted] = -np.inf
        numbers = _largest(best, SPARE * depth)
        exact = _exact(held, query, numbers)
        chosen = np.sort(_largest(exact, depth))
        return numbers[chosen], exact[chosen]


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return positions of the `count` largest values with ties; never -inf."""
    if values.size > count:
        floor = np.partition(values, values.size - count)[values.size - count]
        return np.flatnonzero((values >= floor) & np.isfinite(values))
    return np.flatnonzero(np.isfinite(values))


def _exact(
    held: VectorSegment, query: NDArray[np.float32], numbers: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the best cosine of each chunk, summed in a fixed order."""
    slots = np.flatnonzero(np.isin(held.chunk_of, numbers))
    cosines = np.einsum("ij,j->i", held.at(slots), query)
    best = np.full(len(held.chunk_ids), -np.inf, dtype=np.float32)
    np.maximum.at(best, held.chunk_of[slots], cosines)
    return best[numbers]
