"""Vectors of one model in memory, updated without copying, and an HNSW graph over very many.

An instance is never altered: the next shares its `base` block and puts new vectors into `tail`;
deleted ones lose their chunk. Once a quarter has changed both are copied into one block. The HNSW
graph (Malkov and Yashunin, 2016) is made once for a base block and stored as links without vectors;
newer vectors are compared one by one, and in the place of a deleted one stands the mean of its
neighbours.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from . import files
from .graph_api import in_batches
from .schema import vectors

Key = tuple[str, int, bytes]
"""Vector key: chunk, window and leading components, which differ by text and model."""
HEAD_BYTES = 16
MARK_BYTES = 16
WORN_ABOVE = 0.25
"""The share of vectors that came or went since the base block was made."""
FEW = 5_000
"""Maximum vectors fetched by id; also the read batch size."""


@dataclass(frozen=True)
class VectorSegment:
    """All vectors as they were at one `stamp`.

    Slots number the rows of `base` and then of `tail`. `slots` holds what the library holds;
    `chunk_of` (slots) is the number of each slot's chunk in `chunk_ids`, and -1 where it is gone.
    """

    stamp: str
    base: NDArray[np.float32]
    tail: NDArray[np.float32]
    slots: dict[Key, int]
    chunk_ids: tuple[str, ...]
    chunk_of: NDArray[np.int64]

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each chunk."""
        return {chunk_id: number for number, chunk_id in enumerate(self.chunk_ids)}

    @property
    def needs_compaction(self) -> bool:
        """Check whether the segments need compaction."""
        return len(self.chunk_of) - len(self.slots) + len(self.tail) > WORN_ABOVE * len(self.slots)

    def at(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors in these slots."""
        if not len(self.tail):
            return self.base[slots]
        found = np.empty((slots.size, self.tail.shape[1]), dtype=np.float32)
        in_base = slots < len(self.base)
        found[in_base] = self.base[slots[in_base]]
        found[~in_base] = self.tail[slots[~in_base] - len(self.base)]
        return found

    def near(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of each slot's vector and the query, to the last bits."""
        if not len(self.tail):
            return np.asarray(self.base @ query)
        return np.concatenate([self.base @ query, self.tail @ query])

    def best_of(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the best cosine of each chunk (chunks) from one cosine per slot."""
        best = np.full(len(self.chunk_ids) + 1, -np.inf, dtype=np.float32)  # the last: what is gone
        np.maximum.at(best, self.chunk_of, cosines)
        return best[:-1]

    def slots_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of these chunks, in ascending order."""
        order, starts = self._by_chunk
        sizes = starts[numbers + 1] - starts[numbers]
        places = np.arange(sizes.sum()) + np.repeat(starts[numbers + 1] - np.cumsum(sizes), sizes)
        return np.sort(order[places])

    @cached_property
    def _by_chunk(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Slots in the order of their chunks, and where each chunk begins and the last ends."""
        order = np.argsort(self.chunk_of, kind="stable")
        starts = np.searchsorted(self.chunk_of[order], np.arange(len(self.chunk_ids) + 1))
        return order, starts.astype(np.int64)


def read_vectors(
    connection: Connection, stamp: str, *, model: str, order: Sequence[bytes] = ()
) -> VectorSegment:
    """Read all vectors of the library.

    `order` are the marks of what the base block shall be made of, for instance a kept graph's, and
    what it does not name goes into the tail; a slot whose vector is gone is zero. Without it all is
    base.
    """
    place = {mark: slot for slot, mark in enumerate(order)}
    size = len(order) or count_vectors(connection, model=model)
    base, come = np.zeros((0, 0), dtype=np.float32), list[NDArray[np.float32]]()
    slots: dict[Key, int] = {}
    first = size  # of the slots in the tail
    for keys, block in _blocks(connection, model):
        if not len(base):
            # Filled piece by piece: what is put together at the end is in memory twice.
            base = np.zeros((size, block.shape[1]), dtype=np.float32)
        here = np.arange(len(slots), len(slots) + len(keys))
        if order:
            here = np.array([place.get(vector_hash(key), -1) for key in keys], dtype=np.int64)
            is_new = here < 0
            base[here[~is_new]] = block[~is_new]
            come.append(block[is_new])
            here[is_new] = np.arange(first, first + len(come[-1]))
            first += len(come[-1])
        else:
            base[here[0] : here[-1] + 1] = block
        slots.update(zip(keys, here.tolist(), strict=True))
    return _picture(stamp, slots, base, np.concatenate(come) if come else base[:0])


def changed_vectors(
    connection: Connection, stamp: str, *, model: str, before: VectorSegment
) -> VectorSegment:
    """Return the present vectors, reading only those missing in `before`."""
    if not len(before.base):
        return read_vectors(connection, stamp, model=model)
    keys = _keys(connection, model)
    known = before.slots
    come = [key for key in keys if key not in known]
    first = len(before.base) + len(before.tail)
    new = {key: first + number for number, key in enumerate(come)}
    tail = before.tail
    if come:
        made = _read(connection, come, model=model)
        tail = np.concatenate([tail, made]) if len(tail) else made
    slots = {key: new[key] if key in new else known[key] for key in keys}
    return _picture(stamp, slots, before.base, tail)


def merge_segments(held: VectorSegment) -> VectorSegment:
    """Merge into one block in hash order, independent of arrival.

    It puts chunks of one document, which are alike, far from each other: a graph that gets those
    that are alike one after the other links them with little else.
    """
    keys = sorted(held.slots, key=vector_hash)
    base = held.at(np.array([held.slots[key] for key in keys], dtype=np.int64))
    return _picture(held.stamp, {key: slot for slot, key in enumerate(keys)}, base, base[:0])


def vector_hash(key: Key) -> bytes:
    """Return the hash of a key for files, so that deleted ids leave no trace."""
    name = f"{key[0]}\x1f{key[1]}\x1f".encode("utf8", "surrogatepass")
    return hashlib.blake2b(name + key[2], digest_size=MARK_BYTES).digest()


def compact_vectors(held: VectorSegment, onto: VectorSegment) -> VectorSegment:
    """Return the vectors of `held` over the base block of `onto`, the rest in the tail."""
    come = [key for key in held.slots if key not in onto.slots]
    tail = held.at(np.array([held.slots[key] for key in come], dtype=np.int64))
    slots = {key: onto.slots[key] for key in held.slots if key in onto.slots}
    slots |= {key: len(onto.base) + number for number, key in enumerate(come)}
    return _picture(held.stamp, slots, onto.base, tail)


def count_vectors(connection: Connection, *, model: str) -> int:
    """Count the vectors of the model in the library."""
    query = select(func.count()).select_from(vectors).where(vectors.c.model == model)
    return int(connection.execute(query).scalar_one())


def _blocks(connection: Connection, model: str) -> Iterator[tuple[list[Key], NDArray[np.float32]]]:
    """Every vector with its key, some at a time."""
    columns = select(vectors.c.chunk_id, vectors.c.window, vectors.c.vector)
    result = connection.execute(columns.where(vectors.c.model == model))
    for rows in result.partitions(FEW):
        part: Iterable[Any] = rows
        # Unpacked: a hundred thousand rows by attribute would take longer than their reading.
        keys = [(chunk_id, window, content[:HEAD_BYTES]) for chunk_id, window, content in part]
        joined = b"".join([content for _, _, content in part])
        yield keys, np.frombuffer(joined, dtype="<f4").reshape(len(rows), -1)


def _keys(connection: Connection, model: str) -> list[Key]:
    head = func.substr(vectors.c.vector, 1, HEAD_BYTES).label("head")
    query = select(vectors.c.chunk_id, vectors.c.window, head).where(vectors.c.model == model)
    rows: Iterable[Any] = connection.execute(query).all()
    return [(chunk_id, window, bytes(start)) for chunk_id, window, start in rows]


def _picture(
    stamp: str, slots: dict[Key, int], base: NDArray[np.float32], tail: NDArray[np.float32]
) -> VectorSegment:
    number: dict[str, int] = {}
    numbers = [number.setdefault(chunk_id, len(number)) for chunk_id, _, _ in slots]
    chunk_of = np.full(len(base) + len(tail), -1, dtype=np.int64)
    chunk_of[np.fromiter(slots.values(), dtype=np.int64, count=len(slots))] = numbers
    return VectorSegment(stamp, base, tail, slots, tuple(number), chunk_of)


def _read(connection: Connection, keys: list[Key], *, model: str) -> NDArray[np.float32]:
    """Read the vectors of these keys in order."""
    place = {(chunk_id, window): number for number, (chunk_id, window, _) in enumerate(keys)}
    columns = select(vectors.c.chunk_id, vectors.c.window, vectors.c.vector)
    columns = columns.where(vectors.c.model == model)
    several = list(in_batches(key[0] for key in keys)) if len(keys) <= FEW else []
    queries = [columns.where(vectors.c.chunk_id.in_(batch)) for batch in several] or [columns]
    found = np.zeros((0, 0), dtype=np.float32)
    for query in queries:
        rows: Iterable[Any] = connection.execute(query)
        for chunk_id, window, content in rows:
            if not len(found):
                found = np.zeros((len(keys), len(content) // 4), dtype=np.float32)
            number = place.get((chunk_id, window))
            if number is not None:
                found[number] = np.frombuffer(content, dtype="<f4")
    return found


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


def build_hnsw(base: NDArray[np.float32], *, is_wanted: Callable[[], bool]) -> VectorGraph | None:
    """Build the HNSW graph of a base block of vectors on one thread, deterministically.

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


def write_hnsw(graph: VectorGraph, keys: Sequence[Key], *, folder: Path, model: str) -> bool:
    """Write the HNSW graph of these keys to `folder` (`derived/`); return success."""
    faiss: Any = importlib.import_module("faiss")

    marks = b"".join(map(vector_hash, keys))

    def write(place: Path) -> None:
        (place / MARKS).write_bytes(marks)
        faiss.write_index(graph.index, str(place / FILE_NAME), faiss.IO_FLAG_SKIP_STORAGE)

    name = f"{KIND}-{_recipe(model)}-{hashlib.sha256(marks).hexdigest()[:16]}"
    return files.load_artifact(folder / name, write=write, load=lambda _: True) is not None


def hnsw_available() -> bool:
    """Check whether the extra `faiss`, which makes HNSW graphs, is installed."""
    return importlib.util.find_spec("faiss") is not None


def cached_graph(folder: Path, *, model: str) -> tuple[Path, list[bytes]] | None:
    """Return the stored graph of this model in `folder` (`derived/`) and its block's hashes."""
    for place in sorted(folder.glob(f"{KIND}-{_recipe(model)}-*")):
        if place.suffix == ".part" or not files.is_valid_artifact(place):
            continue
        try:
            marks = (place / MARKS).read_bytes()
        except FileNotFoundError:  # another process made another one
            continue
        starts = range(0, len(marks), MARK_BYTES)
        return place, [marks[start : start + MARK_BYTES] for start in starts]
    return None


def load_hnsw(place: Path, held: VectorSegment) -> VectorGraph | None:
    """Load a stored HNSW graph with the vectors of the present base block.

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
