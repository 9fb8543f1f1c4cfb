"""Search in the vectors of a library, which `llamaindex.LibraryVectorStore` writes.

A long chunk has several vectors, and a question is compared with the best of them. Search is exact
up to 200,000 vectors; above, an HNSW graph finds candidates, and vectors added since it was made
are compared beside it. Cosines returned are exact in both cases. Compaction into one block with a
new graph runs in a thread; questions go on meanwhile.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from .library import Library, unit_length, vector_stamp
from .vector_cache import (
    VectorGraph,
    VectorSegment,
    build_hnsw,
    cached_graph,
    changed_vectors,
    compact_vectors,
    count_vectors,
    hnsw_available,
    load_hnsw,
    merge_segments,
    read_vectors,
    write_hnsw,
)

_STOPPING = threading.Event()
_running: set[threading.Thread] = set()
logger = logging.getLogger("loregraph.index")


class BackgroundCompactor:
    """The graph that goes with the pictures of one model's vectors in one library.

    Args:
        folder: `derived/`.
        model: the embedding model's identity.
        swap: puts a picture in the place of the one that it was made from, and gives back the one
            that is now current: another one where that has changed meanwhile.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        swap: Callable[[VectorSegment, VectorSegment], VectorSegment],
    ) -> None:
        self._folder = folder
        self._model = model
        self._swap = swap
        self._guard = threading.Lock()
        self._graph: VectorGraph | None = None
        self._thread: threading.Thread | None = None
        self._failed: NDArray[np.float32] | None = None
        self._closed = False

    def opened(self, read: Callable[[Sequence[bytes]], VectorSegment]) -> VectorSegment:
        """Load vectors in the order of a stored graph, used unless it needs compaction."""
        found = cached_graph(self._folder, model=self._model) if hnsw_available() else None
        held = read(found[1] if found is not None else ())
        if found is not None:
            self._graph = load_hnsw(found[0], held)
        return held

    def near(
        self, held: VectorSegment, query: NDArray[np.float32], *, count: int
    ) -> NDArray[np.float32] | None:
        """Search like `VectorGraph.near`; None without a graph for this state."""
        graph = self._graph
        if graph is None or graph.base is not held.base:
            return None
        return graph.near(held, query, count=count)

    def tend(self, held: VectorSegment) -> None:
        """Begin to make a new block and graph where this picture needs them; never waits."""
        graph = self._graph
        if graph is not None and graph.base is held.base and not held.needs_compaction:
            return
        with self._guard:
            if self._thread is not None or self._failed is held.base or not self._is_wanted():
                return
            if not hnsw_available():
                logger.warning(
                    "%d vectors are compared one by one: pip install 'loregraph[faiss]' for a "
                    "search graph",
                    len(held.slots),
                )
                self._failed = held.base
                return
            # A thread of its own and no pool: a pool would be waited for when the program ends.
            self._thread = threading.Thread(
                target=self._run, args=(held,), name="loregraph-merge", daemon=True
            )
            _running.add(self._thread)
            self._thread.start()

    def settle(self) -> None:
        """Wait until no thread is at work."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Give up what is being made, and wait for the thread to see it."""
        self._closed = True
        self.settle()

    def _is_wanted(self) -> bool:
        return not (self._closed or _STOPPING.is_set())

    def _run(self, held: VectorSegment) -> None:
        try:
            self._make(held)
        except (RuntimeError, MemoryError) as error:  # of the graph's library
            logger.warning(
                "cannot build the search graph of %d vectors: %s; they are compared one by one",
                len(held.slots),
                error,
            )
            self._failed = held.base
        finally:
            with self._guard:
                _running.discard(threading.current_thread())
                self._thread = None

    def _make(self, held: VectorSegment) -> None:
        whole = merge_segments(held)
        graph = build_hnsw(whole.base, is_wanted=self._is_wanted)
        if graph is None:
            return
        write_hnsw(graph, list(whole.slots), folder=self._folder, model=self._model)
        self._graph = graph  # goes with no picture before the swap
        current = held
        while True:
            moved = compact_vectors(current, whole)
            after = self._swap(current, moved)
            if after is moved:
                return
            current = after


def _stop() -> None:
    """Stop running work before interpreter shutdown."""
    _STOPPING.set()
    for thread in sorted(_running, key=lambda thread: thread.name):
        thread.join()


atexit.register(_stop)


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
    slots = held.slots_of(numbers)
    cosines = np.einsum("ij,j->i", held.at(slots), query)
    place = np.searchsorted(ordered := np.sort(numbers), held.chunk_of[slots])
    best = np.full(len(numbers), -np.inf, dtype=np.float32)
    np.maximum.at(best, place, cosines)
    return best[np.searchsorted(ordered, numbers)]
