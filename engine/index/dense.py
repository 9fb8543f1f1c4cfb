"""Nearest vectors by FAISS, derived from the library's vectors and built anew when they change.

Exact inner product up to 20,000 vectors; one byte a dimension above (a quarter of the memory);
HNSW above 200,000, kept in a file because it is slow to build (see `derived`). What these two find
is weighed again with the exact vectors. Rows are chunks in the order of document, position and id.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from . import derived
from .door import batches, chunk_table
from .library import Library, unit_length, vector_stamp
from .tables import vectors

EXACT_LIMIT = 20_000
SCALAR_LIMIT = 200_000
FEW_TIMES = 8
"""Up to this many times the depth, the chunks that count are compared one by one, exactly."""
KIND = "hnsw"
FILE_NAME = "vectors.faiss"
_NEIGHBOURS = 32


@dataclass(frozen=True)
class _Built:
    stamp: str
    chunk_ids: tuple[str, ...]
    rows: NDArray[np.int64]  # vector number → chunk row
    index: Any


class DenseIndex:
    """Searches the vectors of one model in one library."""

    def __init__(self, library: Library, *, model: str) -> None:
        self._library = library
        self._model = model
        self._lock = threading.Lock()
        self._built: _Built | None = None

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
        """Cosine by chunk id of at least the `depth` nearest chunks (fewer if there are fewer),
        of those in `within` where it is given.

        The cosines are exact; what a structure that only comes near them may miss is a chunk.
        """
        if within is not None and len(within) <= FEW_TIMES * depth:
            return self.cosines(query, list(within))
        with self._library.read():  # one picture for both steps
            built = self._current()
            found = _nearest(built, unit_length(query), depth, within=within)
            if len(built.rows) > EXACT_LIMIT:
                return self.cosines(query, list(found))
        return found

    def cosines(self, query: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
        """Exact cosine of these chunks by their best window, whether or not they are near."""
        query = unit_length(query)
        best: dict[str, float] = {}
        with self._library.read() as connection:
            for batch in batches(chunk_ids):
                wanted = select(vectors.c.chunk_id, vectors.c.vector).where(
                    vectors.c.model == self._model, vectors.c.chunk_id.in_(batch)
                )
                for row in connection.execute(wanted):
                    cosine = float(np.frombuffer(row.vector, dtype="<f4") @ query)
                    best[row.chunk_id] = max(best.get(row.chunk_id, -1.0), cosine)
        return best

    def _current(self) -> _Built:
        # First a connection, then the lock, as where a reader is inside a view already.
        with self._library.read() as connection, self._lock:
            now = vector_stamp(connection)
            if self._built is None or self._built.stamp != now:
                self._built = self._build(connection, now)
            return self._built

    def _build(self, connection: Connection, now: str) -> _Built:
        query = (
            select(vectors.c.chunk_id, vectors.c.vector, vectors.c.input_sha)
            .join(chunk_table, chunk_table.c.id == vectors.c.chunk_id)
            .where(vectors.c.model == self._model)
            .order_by(
                chunk_table.c.document_id,
                chunk_table.c.position,
                chunk_table.c.id,
                vectors.c.window,
            )
        )
        found = connection.execute(query).all()
        place: dict[str, int] = {}
        rows = np.array([place.setdefault(row.chunk_id, len(place)) for row in found], np.int64)
        if not found:
            return _Built(now, (), rows, None)
        matrix = np.frombuffer(b"".join(row.vector for row in found), dtype="<f4")
        index = self._index_of(matrix.reshape(len(found), -1))
        return _Built(now, tuple(place), rows, index)

    def _index_of(self, matrix: NDArray[np.float32]) -> Any:
        import faiss

        count, dimension = matrix.shape
        if count > SCALAR_LIMIT:
            made_of = hashlib.sha256(f"{faiss.__version__} {matrix.shape}".encode())
            made_of.update(matrix.data)
            return self._kept_hnsw(matrix, made_of.hexdigest()[:32])
        index: Any
        if count > EXACT_LIMIT:
            index = faiss.IndexScalarQuantizer(
                dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
            )
            index.train(matrix)
        else:
            index = faiss.IndexFlatIP(dimension)
        index.add(matrix)
        return index

    def _kept_hnsw(self, matrix: NDArray[np.float32], stamp: str) -> Any:
        import faiss

        def fresh() -> Any:
            index = faiss.IndexHNSWFlat(matrix.shape[1], _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
            index.add(matrix)
            return index

        index: Any = derived.opened(
            self._library.path / "derived" / f"{KIND}-{stamp}",
            write=lambda folder: faiss.write_index(fresh(), str(folder / FILE_NAME)),
            load=lambda folder: faiss.read_index(str(folder / FILE_NAME)),
        )
        index = fresh() if index is None else index
        index.hnsw.efSearch = 256
        return index


def _nearest(
    built: _Built,
    query: NDArray[np.float32],
    depth: int,
    *,
    within: Collection[str] | None = None,
) -> dict[str, float]:
    if built.index is None or depth < 1:
        return {}
    count, params = len(built.rows), None
    if within is not None:
        admitted = _numbers(built, within)
        count, params = admitted.size, _only(built.index, admitted)
    wanted = min(count, depth * 3)  # most chunks have few windows: this holds enough of them
    while wanted:
        scores, numbers = built.index.search(query.reshape(1, -1), wanted, params=params)
        best: dict[str, float] = {}
        for number, score in zip(numbers[0], scores[0], strict=True):
            if number >= 0:
                chunk_id = built.chunk_ids[built.rows[number]]
                best[chunk_id] = max(best.get(chunk_id, -1.0), float(score))
        if len(best) >= depth or wanted == count:
            return best
        wanted = min(count, wanted * 4)
    return {}


def _numbers(built: _Built, chunk_ids: Collection[str]) -> NDArray[np.int64]:
    """The numbers of these chunks' vectors."""
    rows = [row for row, chunk_id in enumerate(built.chunk_ids) if chunk_id in chunk_ids]
    return np.flatnonzero(np.isin(built.rows, np.array(rows, dtype=np.int64)))


def _only(index: Any, numbers: NDArray[np.int64]) -> Any:
    faiss: Any = importlib.import_module("faiss")  # its types do not know of selectors

    chosen = faiss.IDSelectorBatch(numbers)
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=chosen, efSearch=256)
    return faiss.SearchParameters(sel=chosen)
