"""Search in the vectors of a library, which `llamaindex.LibraryVectorStore` writes.

A long chunk has several vectors, and a question is compared with the best of them. Codes of 8 bits
choose candidates: all are compared up to 400,000 vectors, above those of the cells nearest to the
question, beside all that were added since cells were made. Cosines are those of the library's own
vectors, in a list of scores those of the nearest chunks. New cells are made in a thread; questions
go on meanwhile.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from ..library import Library, unit_length
from .cache import (
    KEPT_FROM,
    VectorSegment,
    changed_vectors,
    compact_vectors,
    divide,
    earlier_picture,
    exact_cosines,
    followed_vectors,
    keep_block,
    keep_picture,
    kept_block,
    kept_picture,
    merge_segments,
    read_vectors,
    scrub_vectors,
    unwanted_rows,
)
from .log import vector_stamp, vectors_changed_since

_STOPPING = threading.Event()
_running: set[threading.Thread] = set()
logger = logging.getLogger("loregraph.index")


class BackgroundDivision:
    """Divides the vectors of one model in one library into cells.

    Args:
        folder: `derived/`.
        model: the embedding model's identity.
        swap: puts a picture in the place of the one that it was made from, and gives back the one
            that is now current: another one where that has changed meanwhile.
        note: keeps a picture for the next process.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        swap: Callable[[VectorSegment, VectorSegment], VectorSegment],
        note: Callable[[VectorSegment], None],
    ) -> None:
        self._folder = folder
        self._model = model
        self._swap = swap
        self._note = note
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def tend(self, held: VectorSegment) -> None:
        """Begin to make new cells where this picture needs them; never waits."""
        if len(held.base.centres) and not held.needs_compaction:
            return
        with self._guard:
            if self._thread is not None or not self._is_wanted():
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
        finally:
            with self._guard:
                _running.discard(threading.current_thread())
                self._thread = None

    def _make(self, held: VectorSegment) -> None:
        block = divide(merge_segments(held).base, is_wanted=self._is_wanted)
        if block is None:
            return
        block = keep_block(block, folder=self._folder, model=self._model)
        current = held
        while True:
            moved = compact_vectors(current, block)
            after = self._swap(current, moved)
            if after is moved:
                break
            current = after
        if self._is_wanted():
            self._note(moved)


def _stop() -> None:
    """Stop running work before interpreter shutdown."""
    _STOPPING.set()
    for thread in sorted(_running, key=lambda thread: thread.name):
        thread.join()


atexit.register(_stop)


EXACT_LIMIT = 400_000
"""Maximum vectors that are all compared: 50 ms on one core at 384 dimensions."""
SPARE = 2
"""Multiple of the depth that is at most compared with the library's own vectors."""
READ_FOR_A_LIST = 150
"""Nearest chunks whose own vectors are read for a list of scores; the others' are told by codes."""
KEPT_ROWS = 8
"""For how many lists of chunks their place among the vectors is kept."""

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]


class DenseIndex:
    """Searches the vectors of one model in one library."""

    def __init__(self, library: Library, *, model: str) -> None:
        self._library = library
        self._model = model
        self._folder = library.path / "derived"
        self._lock = threading.Lock()
        self._held: VectorSegment | None = None
        self._cells = BackgroundDivision(
            self._folder, model=model, swap=self._swap, note=self._note
        )
        self._rows: list[tuple[tuple[str, ...], tuple[str, ...], Numbers]] = []

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

        The cosines are exact; what cells may miss is a chunk.
        """
        with self._library.read() as connection:
            held = self._current(connection)
            if not held.chunk_ids or depth < 1:
                return {}
            admitted = None
            if within is not None:
                admitted = np.fromiter((c in within for c in held.chunk_ids), dtype=bool)
            numbers, cosines = self._nearest(
                connection, held, unit_length(query), depth=depth, admitted=admitted
            )
        return {held.chunk_ids[n]: float(c) for n, c in zip(numbers, cosines, strict=True)}

    def array(
        self, query: NDArray[np.float32], chunk_ids: tuple[str, ...], *, depth: int
    ) -> Scores | None:
        """Cosine of each of these chunks, in their order; None where none has a vector.

        Only they count. What is not among the `depth` nearest has the least cosine of those; the
        first `READ_FOR_A_LIST` are exact, the others as far as 8 bits tell. The same tuple asked
        again costs no search for where its chunks are.
        """
        with self._library.read() as connection:
            held = self._current(connection)
            rows = self._rows_of(held, chunk_ids)
            admitted = rows >= 0
            if not admitted.any() or depth < 1:
                return None
            numbers, cosines = self._nearest(
                connection,
                held,
                unit_length(query),
                depth=depth,
                admitted=None if admitted.all() else admitted,
                exact=READ_FOR_A_LIST,
            )
        found = np.full(len(chunk_ids), float(cosines.min()))
        found[rows[numbers]] = cosines
        return found

    def cosines(self, query: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
        """Exact cosine of these chunks by their best window, whether or not they are near."""
        with self._library.read() as connection:
            return exact_cosines(connection, unit_length(query), chunk_ids, model=self._model)

    def settle(self) -> None:
        """Wait until nothing is being merged in the background."""
        self._cells.settle()

    def close(self) -> None:
        """Give up what is being merged."""
        self._cells.close()

    def _current(self, connection: Connection) -> VectorSegment:
        # First a connection, then the lock, as where a reader is inside a view already.
        with self._lock:
            now = vector_stamp(connection)
            if self._held is None:
                self._held = self._opened(connection, now)
            elif self._held.stamp != now:
                self._held = self._followed(connection, now, self._held)
                self._scrub(self._held)
            held = self._held
            if held.needs_compaction and held.held <= EXACT_LIMIT:
                held = self._held = self._noted(connection, self._kept(merge_segments(held)))
        if held.held > EXACT_LIMIT:
            self._cells.tend(held)
        return held

    def _opened(self, connection: Connection, now: str) -> VectorSegment:
        """Return the picture kept of this state; else read the vectors that no kept block has."""
        base = kept_block(self._folder, model=self._model)
        if base is None:
            held = self._kept(read_vectors(connection, now, model=self._model))
            return self._noted(connection, held)
        content = self._library.content_stamp(connection)
        kept = kept_picture(self._folder, base, stamp=now, content=content, model=self._model)
        if kept is not None:
            return kept
        before = earlier_picture(connection, self._folder, base, model=self._model)
        if before is not None:
            held = self._followed(connection, now, before)
        else:
            held = read_vectors(connection, now, model=self._model, base=base)
        self._scrub(held)
        return self._noted(connection, held)

    def _followed(self, connection: Connection, now: str, before: VectorSegment) -> VectorSegment:
        """Return the present picture, reading the chunks that changed where these are known."""
        chunk_ids = vectors_changed_since(connection, before.stamp)
        if chunk_ids is None or not len(before.base):
            return changed_vectors(connection, now, model=self._model, before=before)
        return followed_vectors(
            connection, now, model=self._model, before=before, chunk_ids=chunk_ids
        )

    def _noted(self, connection: Connection, held: VectorSegment) -> VectorSegment:
        """Keep for the next process which chunk each row is about, and return it."""
        if held.held >= KEPT_FROM:
            content = self._library.content_stamp(connection)
            keep_picture(connection, held, content=content, folder=self._folder, model=self._model)
        return held

    def _note(self, held: VectorSegment) -> None:
        """Keep a picture that was made in the background, unless the library has moved on."""
        with self._library.read() as connection:
            if vector_stamp(connection) == held.stamp:
                self._noted(connection, held)

    def _kept(self, held: VectorSegment) -> VectorSegment:
        """Return the same picture over a block in a file, where it has that many vectors."""
        if held.held < KEPT_FROM:
            return held
        block = keep_block(held.base, folder=self._folder, model=self._model)
        return compact_vectors(held, block)

    def _scrub(self, held: VectorSegment) -> None:
        if (held.chunk_of[: len(held.base)] < 0).any():
            scrub_vectors(self._folder, unwanted_rows(held), model=self._model)

    def _swap(self, before: VectorSegment, after: VectorSegment) -> VectorSegment:
        """Replace the state if it is still `before`; return the present one."""
        with self._lock:
            if self._held is before or self._held is None:
                self._held = after
            return self._held

    def _rows_of(self, held: VectorSegment, chunk_ids: tuple[str, ...]) -> Numbers:
        """Return which of these is each chunk that has vectors, -1 where none."""
        with self._lock:
            for known, ids, rows in self._rows:
                if known is held.chunk_ids and ids is chunk_ids:
                    return rows
            place = dict(zip(chunk_ids, range(len(chunk_ids)), strict=True))
            found = map(place.get, held.chunk_ids, repeat(-1))  # no loop: these may be a million
            rows = np.fromiter(found, dtype=np.int64, count=len(held.chunk_ids))
            kept = [entry for entry in self._rows if entry[0] is held.chunk_ids]
            self._rows = [*kept[-KEPT_ROWS + 1 :], (held.chunk_ids, chunk_ids, rows)]
            return rows

    def _nearest(
        self,
        connection: Connection,
        held: VectorSegment,
        query: NDArray[np.float32],
        *,
        depth: int,
        admitted: NDArray[np.bool_] | None,
        exact: int | None = None,
    ) -> tuple[Numbers, NDArray[np.float32]]:
        """Return at least the `depth` nearest admitted chunks, ascending, and their cosines.

        Exact ones, or those of the nearest `exact` chunks; the others' are at most the least of
        these.
        """
        every = held.held <= EXACT_LIMIT or admitted is not None
        slots, cosines = held.near(query, every=every)
        chunk_of = held.chunk_of[slots].astype(np.int64)
        counts = chunk_of >= 0 if admitted is None else (chunk_of >= 0) & admitted[chunk_of]
        if not counts.all():
            chunk_of, cosines = chunk_of[counts], cosines[counts]
        wanted = depth if exact is None else min(depth, exact)
        numbers, best = _best_of_each(chunk_of, cosines, least=_floor(chunk_of, cosines, depth))
        numbers, best = _largest_of(numbers, best, depth)
        first, codes = _largest_of(numbers, best, wanted)
        if first.size >= wanted:  # codes are not exact: whatever may belong to the nearest
            least = codes.min() - held.margin
            first, codes = _best_of_each(chunk_of, cosines, least=least)
            first, _ = _largest_of(first, codes, SPARE * wanted)
        ids = [held.chunk_ids[number] for number in first.tolist()]
        read = exact_cosines(connection, query, ids, model=self._model)
        values = np.array([read[chunk_id] for chunk_id in ids], dtype=np.float32)
        chosen = np.sort(_largest(values, wanted))
        first, values = first[chosen], values[chosen]
        if wanted == depth or not first.size:
            return first, values
        others = ~np.isin(numbers, first)
        numbers = np.concatenate([first, numbers[others]])
        values = np.concatenate([values, np.minimum(best[others], values.min())])
        order = np.argsort(numbers)
        return numbers[order], values[order]


def _floor(chunk_of: Numbers, cosines: NDArray[np.float32], depth: int) -> float:
    """Return a cosine that at least `depth` chunks reach, or all of them."""
    count = depth
    while count < cosines.size:
        floor = np.partition(cosines, cosines.size - count)[cosines.size - count]
        if np.unique(chunk_of[cosines >= floor]).size >= depth:
            return float(floor)
        count *= 2
    return -np.inf


def _best_of_each(
    chunk_of: Numbers, cosines: NDArray[np.float32], *, least: float
) -> tuple[Numbers, NDArray[np.float32]]:
    """Return the chunks that reach `least`, ascending, and the best cosine of each."""
    rows = np.flatnonzero(cosines >= least)
    numbers, place = np.unique(chunk_of[rows], return_inverse=True)
    best = np.full(numbers.size, -np.inf, dtype=np.float32)
    np.maximum.at(best, place, cosines[rows])
    return numbers, best


def _largest_of(
    numbers: Numbers, best: NDArray[np.float32], count: int
) -> tuple[Numbers, NDArray[np.float32]]:
    chosen = _largest(best, count)
    return numbers[chosen], best[chosen]


def _largest(values: NDArray[np.float32], count: int) -> Numbers:
    """Return positions of the `count` largest values with ties; never -inf."""
    if values.size > count:
        floor = np.partition(values, values.size - count)[values.size - count]
        return np.flatnonzero((values >= floor) & np.isfinite(values))
    return np.flatnonzero(np.isfinite(values))
