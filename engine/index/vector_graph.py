"""An HNSW graph over the base block of very many vectors, kept in a file.

It is slow to make and cannot forget, so it is made once for a base block: what came since is
compared one by one, what is gone is passed over. Its files hold marks of the vectors that the block
was made of and the links between them, and no vector: those come from the library. In the place of
one that is gone stands the mean of those that it was linked with, so that ways still lead through.
Malkov and Yashunin, Efficient and robust approximate nearest neighbor search, 2016.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import derived
from .held_vectors import MARK_BYTES, Key, VectorSegment, vector_hash

KIND = "hnsw"
FILE_NAME = "vectors.faiss"
MARKS = "marks"
NEIGHBOURS = 32
BREADTH = 256
"""Minimum candidates a search keeps."""
SLICE = 500
"""Vectors added between two cancellation checks."""


@dataclass(frozen=True, slots=True)
class VectorGraph:
    """Finds candidates among the vectors of one base block."""

    base: NDArray[np.float32]
    index: Any

    def near(
        self, held: VectorSegment, query: NDArray[np.float32], *, count: int
    ) -> NDArray[np.float32]:
        """Return the cosine of each slot: nearest `count` of the base and the whole tail.

        Else -inf.

        Among the nearest are more than `count` where vectors are gone, so that enough are left.
        """
        faiss: Any = importlib.import_module("faiss")
        gone = int(np.count_nonzero(held.chunk_of[: len(held.base)] < 0))
        wanted = min(len(held.base), 2 * count + min(gone, count))
        parameters = faiss.SearchParametersHNSW(efSearch=max(BREADTH, wanted))
        scores, slots = self.index.search(query.reshape(1, -1), wanted, params=parameters)
        cosines = np.full(len(held.chunk_of), -np.inf, dtype=np.float32)
        found = slots[0] >= 0
        cosines[slots[0][found]] = scores[0][found]
        if len(held.tail):
            cosines[len(held.base) :] = held.tail @ query
        return cosines


def built(base: NDArray[np.float32], *, is_wanted: Callable[[], bool]) -> VectorGraph | None:
    """Build the graph of a base block on one thread, deterministically.

    None as soon as it is no longer wanted: it takes minutes.
    """
    faiss: Any = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)  # of the thread that this runs in
    index = faiss.IndexHNSWFlat(base.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    for start in range(0, len(base), SLICE):
        if not is_wanted():
            return None
        index.add(base[start : start + SLICE])
    return VectorGraph(base, index)


def keep(graph: VectorGraph, keys: Sequence[Key], *, folder: Path, model: str) -> bool:
    """Write the graph of these keys to `folder` (`derived/`); return success."""
    faiss: Any = importlib.import_module("faiss")

    marks = b"".join(map(vector_hash, keys))

    def write(place: Path) -> None:
        (place / MARKS).write_bytes(marks)
        faiss.write_index(graph.index, str(place / FILE_NAME), faiss.IO_FLAG_SKIP_STORAGE)

    name = f"{KIND}-{_recipe(model)}-{hashlib.sha256(marks).hexdigest()[:16]}"
    return derived.load_artifact(folder / name, write=write, load=lambda _: True) is not None


def kept(folder: Path, *, model: str) -> tuple[Path, list[bytes]] | None:
    """Return the stored graph of this model in `folder` (`derived/`) and its block's hashes."""
    for place in sorted(folder.glob(f"{KIND}-{_recipe(model)}-*")):
        if place.suffix == ".part" or not derived.is_valid_artifact(place):
            continue
        try:
            marks = (place / MARKS).read_bytes()
        except FileNotFoundError:  # another process made another one
            continue
        starts = range(0, len(marks), MARK_BYTES)
        return place, [marks[start : start + MARK_BYTES] for start in starts]
    return None


def filled(place: Path, held: VectorSegment) -> VectorGraph | None:
    """Load the stored graph with vectors of the present base block.

    None where it went away, or is of another size.
    """
    faiss: Any = importlib.import_module("faiss")
    path = place / FILE_NAME
    if not path.exists():
        return None
    index = faiss.read_index(str(path))
    if (index.ntotal, index.d) != held.base.shape:
        return None
    gone = np.flatnonzero(held.chunk_of[: len(held.base)] < 0)
    base = _with_stand_ins(index.hnsw, held.base, gone) if gone.size else held.base
    storage = faiss.IndexFlatIP(base.shape[1])
    storage.add(base)
    storage.this.disown()  # the graph frees it
    index.storage, index.own_fields = storage, True
    return VectorGraph(held.base, index)


def _with_stand_ins(
    hnsw: Any, base: NDArray[np.float32], gone: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the base block with each deleted row replaced by its neighbours' mean."""
    faiss: Any = importlib.import_module("faiss")
    neighbours = faiss.vector_to_array(hnsw.neighbors)
    offsets = faiss.vector_to_array(hnsw.offsets).astype(np.int64)
    width = int(hnsw.nb_neighbors(0))
    block = base.copy()
    for row in gone.tolist():
        linked = neighbours[offsets[row] : offsets[row] + width]
        block[row] = base[linked[linked >= 0]].mean(axis=0) if (linked >= 0).any() else 0.0
    return block


def _recipe(model: str) -> str:
    """Return the settings, besides vectors, that determine the graph."""
    faiss: Any = importlib.import_module("faiss")
    made_of = f"{faiss.__version__} {NEIGHBOURS} {SLICE} {model}"
    return hashlib.sha256(made_of.encode("utf8", "surrogatepass")).hexdigest()[:12]
