"""Nearest vectors by FAISS, derived from the library's vectors and built anew when they change.

Exact inner product up to 20,000 vectors; one byte a dimension above (recall about 1.0 at a quarter
of the memory); HNSW above 200,000, kept in a file because it is slow to build (see `derived`).
Rows are chunks in the order of document, position and id.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from . import derived
from .door import batches, chunk_table
from .library import Library, unit_length, vector_stamp, vectors

EXACT_LIMIT = 20_000
SCALAR_LIMIT = 200_000
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

    def search(self, query: NDArray[np.float32], *, top_k: int) -> list[tuple[str, float]]:
        """`(chunk id, cosine)` of the nearest chunks by their best window, best first."""
        built = self._current()
        scores = self._row_scores(built, query, top_k)
        order = sorted(scores, key=lambda row: (-scores[row], built.chunk_ids[row]))
        return [(built.chunk_ids[row], scores[row]) for row in order[:top_k]]

    def scores(self, query: NDArray[np.float32], *, depth: int) -> dict[str, float]:
        """Cosine by chunk id of at least the `depth` nearest chunks (fewer if there are fewer)."""
        built = self._current()
        found = self._row_scores(built, query, depth)
        return {built.chunk_ids[row]: score for row, score in found.items()}

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

    def _row_scores(
        self, built: _Built, query: NDArray[np.float32], depth: int
    ) -> dict[int, float]:
        if built.index is None or depth < 1:
            return {}
        question = unit_length(query).reshape(1, -1)
        count = len(built.rows)
        wanted = min(count, depth * 3)  # most chunks have few windows: this holds enough of them
        while True:
            distances, numbers = built.index.search(question, wanted)
            best: dict[int, float] = {}
            for number, score in zip(numbers[0], distances[0], strict=True):
                if number >= 0:
                    row = int(built.rows[number])
                    best[row] = max(best.get(row, -1.0), float(score))
            if len(best) >= depth or wanted == count:
                return best
            wanted = min(count, wanted * 4)

    def _current(self) -> _Built:
        with self._lock, self._library.read() as connection:
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
