"""Background compaction of large vector segments into one block and graph.

A thread copies what is held into a new block, builds its graph, keeps it in a file and swaps both
in; what came meanwhile is the new block's tail. Questions go on with what there is. A thread that
is not done when the program ends is given up: the next program begins again.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .held_vectors import VectorSegment, compacted, merge_segments
from .vector_graph import VectorGraph, built, filled, keep, kept

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
        found = kept(self._folder, model=self._model)
        held = read(found[1] if found is not None else ())
        if found is not None:
            self._graph = filled(found[0], held)
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
            logger.warning("no graph of %d vectors: %s", len(held.slots), error)
            self._failed = held.base
        finally:
            with self._guard:
                _running.discard(threading.current_thread())
                self._thread = None

    def _make(self, held: VectorSegment) -> None:
        whole = merge_segments(held)
        graph = built(whole.base, is_wanted=self._is_wanted)
        if graph is None:
            return
        keep(graph, list(whole.slots), folder=self._folder, model=self._model)
        self._graph = graph  # goes with no picture before the swap
        current = held
        while True:
            moved = compacted(current, whole)
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
