"""An HNSW graph over the base block of very many vectors, kept in a file.

It is slow to make and cannot forget, so it is made once for a base block: what came since is
compared one by one, what is gone is passed over, until the blocks are merged (see `held_vectors`).
The file holds the links between vectors and no vector: it is filled from the library's own.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import derived
from .held_vectors import HeldVectors

KIND = "hnsw"
FILE_NAME = "vectors.faiss"
NEIGHBOURS = 32
BREADTH = 256
"""How many candidates a search keeps in view, at least."""


class VectorGraph:
    """Finds candidates among the vectors of one base block after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._base: NDArray[np.float32] | None = None
        self._index: Any = None

    def near(
        self, held: HeldVectors, query: NDArray[np.float32], *, count: int
    ) -> NDArray[np.float32]:
        """Cosine of each slot: of the nearest `count` of the base and all of the tail; else -inf.

        Among the nearest are more than `count` where vectors are gone, so that enough are left.
        """
        faiss: Any = importlib.import_module("faiss")
        index = self._current(held.base)
        gone = int(np.count_nonzero(held.chunk_of[: len(held.base)] < 0))
        wanted = min(len(held.base), 2 * count + min(gone, count))
        parameters = faiss.SearchParametersHNSW(efSearch=max(BREADTH, wanted))
        scores, slots = index.search(query.reshape(1, -1), wanted, params=parameters)
        cosines = np.full(len(held.chunk_of), -np.inf, dtype=np.float32)
        found = slots[0] >= 0
        cosines[slots[0][found]] = scores[0][found]
        if len(held.tail):
            cosines[len(held.base) :] = held.tail @ query
        return cosines

    def _current(self, base: NDArray[np.float32]) -> Any:
        with self._lock:
            if self._base is not base:
                self._index = _opened(base, self._folder)
                self._base = base
            return self._index


def _opened(base: NDArray[np.float32], folder: Path) -> Any:
    faiss: Any = importlib.import_module("faiss")
    made_of = hashlib.sha256(f"{faiss.__version__} {NEIGHBOURS} {base.shape}".encode())
    made_of.update(base.data)

    def write(place: Path) -> None:
        faiss.write_index(_made(base), str(place / FILE_NAME), faiss.IO_FLAG_SKIP_STORAGE)

    def load(place: Path) -> Any:
        index = faiss.read_index(str(place / FILE_NAME))
        storage = faiss.IndexFlatIP(base.shape[1])
        storage.add(base)
        storage.this.disown()  # the graph frees it
        index.storage, index.own_fields = storage, True
        return index

    stamp = made_of.hexdigest()[:32]
    index = derived.opened(folder / f"{KIND}-{stamp}", write=write, load=load)
    return _made(base) if index is None else index


def _made(base: NDArray[np.float32]) -> Any:
    faiss: Any = importlib.import_module("faiss")
    index = faiss.IndexHNSWFlat(base.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.add(base)
    return index
