"""Nearest chunks from an external vector store, and its reconciliation with the library.

The store names chunks; their cosines come from the library, exact and current. What a store still
has of a removed chunk is never shown, and what it fails to name is looked up in the library where
too few were found. A point's id is a hash of chunk, window, embedded text and model, so that
comparing sets of ids says all. The stamp of the last reconciliation is deleted before the store is
touched and written after, so that a crash between leads to a new reconciliation.
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from ...errors import LibraryBusy, LibraryUnusable, VectorStoreUnavailable
from ..graph_api import chunk_table, in_batches
from ..library import Library, unit_length
from ..schema import documents, vectors
from .cache import count_vectors
from .log import vector_stamp
from .stores import BATCH, OpenStore, collection_name, sha256_hex, translate_error

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import MetadataFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """Numbers of points added and removed by a reconciliation."""

    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """Location of a point's vector in the library."""

    chunk_id: str
    number: int


def point_id(chunk_id: str, number: int, *, input_sha: str, model: str) -> str:
    """Return the UUID of window `number` of a chunk; Qdrant accepts no other text."""
    return str(uuid.UUID(sha256_hex("\x1f".join([f"{chunk_id}#{number}", input_sha, model]))[:32]))


def expected_points(connection: Connection, *, model: str) -> dict[str, Window]:
    """Every vector of the model that the library holds, by point id, sorted."""
    columns = (vectors.c.chunk_id, vectors.c.window, vectors.c.input_sha)
    rows = connection.execute(select(*columns).where(vectors.c.model == model))
    points = {
        point_id(row.chunk_id, row.window, input_sha=row.input_sha, model=model): Window(
            row.chunk_id, row.window
        )
        for row in rows
    }
    return dict(sorted(points.items()))


def reconcile(
    store: OpenStore, connection: Connection, *, model: str, full: bool = False
) -> SyncResult:
    """Make the store hold exactly the library's vectors; with `full`, rewrite every one."""
    wanted = expected_points(connection, model=model)
    held = Counter(store.ids())
    ghosts = sorted(name for name, times in held.items() if full or times > 1 or name not in wanted)
    for start in range(0, len(ghosts), BATCH):
        store.remove(ghosts[start : start + BATCH])
    gone = set(ghosts)
    missing = [name for name in wanted if name in gone or name not in held]
    for start in range(0, len(missing), BATCH):
        some = {name: wanted[name] for name in missing[start : start + BATCH]}
        store.put(_nodes(connection, some, model=model))
    return SyncResult(added=len(missing), removed=sum(held[name] for name in ghosts))


def _nodes(connection: Connection, points: Mapping[str, Window], *, model: str) -> list[TextNode]:
    names = {(window.chunk_id, window.number): name for name, window in points.items()}
    nodes: dict[str, TextNode] = {}
    for batch in in_batches(sorted({window.chunk_id for window in points.values()})):
        query = (
            select(vectors, chunk_table.c.document_id, documents.c.namespace)
            .join(chunk_table, chunk_table.c.id == vectors.c.chunk_id)
            .outerjoin(documents, documents.c.id == chunk_table.c.document_id)
            .where(vectors.c.model == model, vectors.c.chunk_id.in_(batch))
        )
        for row in connection.execute(query):
            name = names.get((row.chunk_id, row.window))
            if name is not None:
                vector = np.frombuffer(row.vector, dtype="<f4").tolist()
                nodes[name] = _node(
                    name,
                    row.chunk_id,
                    row.document_id,
                    namespace=row.namespace or "",
                    vector=vector,
                )
    return [nodes[name] for name in points if name in nodes]


def _node(
    name: str, chunk_id: str, document_id: str, *, namespace: str, vector: list[float]
) -> TextNode:
    """Build a point without text, so that deleted text leaves no copy."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    node = TextNode(
        id_=name,
        text="",
        embedding=vector,
        metadata={
            "chunk_id": chunk_id,
            "document_key": document_key(document_id),
            "namespace": namespace.replace("\0", "\ufffd"),
            "namespace_key": namespace_key(namespace),
        },
    )
    plain = document_id.replace("\0", "\ufffd")  # PostgreSQL holds no such character
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=plain)
    return node


def document_key(document_id: str) -> str:
    """Return the filter key of a document's points."""
    return "d" + sha256_hex(document_id)[:24]


def namespace_key(namespace: str) -> str:
    """Return the filter key of a namespace's points."""
    return "n" + sha256_hex(namespace)[:24]


def read_stamp(file: Path) -> dict[str, str]:
    """Return the stamp of the store's last state; empty if unknown."""
    try:
        held = json.loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def write_stamp(file: Path, stamp: Mapping[str, str]) -> None:
    """Note what the store is equal to now; whole or not at all."""
    temporary = file.with_name(f"{file.name}.part")
    temporary.write_text(json.dumps(dict(sorted(stamp.items()))), encoding="utf8")
    temporary.replace(file)


FEW_TIMES = 8
"""Multiple of the depth up to which candidates are compared exactly."""
MOST_DOCUMENTS = 200
"""Maximum documents named in a filter; above it only namespaces are."""
_LOCK_SECONDS = 600.0

Connect = Callable[[str, int], OpenStore]
"""`(collection name, dimension)` → the open store."""


class Dense(Protocol):
    """Protocol of the dense side of retrieval."""

    def search(
        self, query: NDArray[np.float32], *, top_k: int, within: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """`(chunk id, cosine)` of the nearest, best first."""

    def scores(
        self, query: NDArray[np.float32], *, depth: int, within: Collection[str] | None = None
    ) -> dict[str, float]:
        """Cosine by chunk id of at least the `depth` nearest."""

    def array(
        self, query: NDArray[np.float32], chunk_ids: tuple[str, ...], *, depth: int
    ) -> NDArray[np.float64] | None:
        """Cosine of each of these chunks, in their order; the least for what is not near."""

    def cosines(self, query: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
        """Exact cosine of these chunks."""

    def close(self) -> None:
        """Let go of files, connections and threads."""


@dataclass(frozen=True, slots=True)
class _Held:
    stamp: str
    windows: int
    documents: dict[str, str]  # of each chunk that has a vector
    namespaces: dict[str, str]  # of each document


class ExternalDense:
    """Searches the vectors of one model in one library through a store.

    Args:
        library: the truth.
        connect: opens the store when there is first something to find.
        model: the embedding model's identity.
        prefix: how the names of its collections begin.
    """

    def __init__(
        self, library: Library, connect: Connect, *, model: str, prefix: str = "loregraph"
    ) -> None:
        self._library = library
        self._connect = connect
        self._model = model
        self._prefix = prefix
        self._turn = threading.RLock()
        self._store: OpenStore | None = None
        self._name, self._size = "", 0
        self._checked = False
        self._held: _Held | None = None
        self._stamped: tuple[str, dict[str, str]] | None = None
        mark = hashlib.sha256(model.encode()).hexdigest()[:8]  # a stamp and a lock for each model
        self._file = library.path / "derived" / f"vector-store-{mark}.json"

    def search(
        self, query: NDArray[np.float32], *, top_k: int, within: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Search like `DenseIndex.search`."""
        found = self.scores(query, depth=top_k, within=within)
        order = sorted(found, key=lambda chunk_id: (-found[chunk_id], chunk_id))
        return [(chunk_id, found[chunk_id]) for chunk_id in order[:top_k]]

    def cosines(self, query: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return cosines like `DenseIndex.cosines`, read from the library."""
        query = unit_length(query)
        best: dict[str, float] = {}
        with self._library.read() as connection:
            for batch in in_batches(chunk_ids):
                wanted = select(vectors.c.chunk_id, vectors.c.vector).where(
                    vectors.c.model == self._model, vectors.c.chunk_id.in_(batch)
                )
                for row in connection.execute(wanted):
                    cosine = float(np.frombuffer(row.vector, dtype="<f4") @ query)
                    best[row.chunk_id] = max(best.get(row.chunk_id, -1.0), cosine)
        return best

    def scores(
        self, query: NDArray[np.float32], *, depth: int, within: Collection[str] | None = None
    ) -> dict[str, float]:
        """Return scores like `DenseIndex.scores`.

        Raises:
            VectorStoreUnavailable: the store cannot be reached, or refuses.
        """
        if within is not None and len(within) <= FEW_TIMES * depth:
            return self.cosines(query, list(within))
        with self._library.read() as connection:
            held = self._current(connection)
            allowed = held.documents.keys() if within is None else within
            if not held.windows or depth < 1:
                return {}
            found = self._named(unit_length(query), depth, held=held, within=within)
            if len(found) < min(depth, len(held.documents.keys() & set(allowed))):
                return self.cosines(query, sorted(allowed))  # an approximate index came up short
            return self.cosines(query, sorted(found))

    def array(
        self, query: NDArray[np.float32], chunk_ids: tuple[str, ...], *, depth: int
    ) -> NDArray[np.float64] | None:
        """Return an array like `DenseIndex.array`; others get the least cosine found."""
        with self._library.read() as connection:
            everything = self._current(connection).documents.keys() <= set(chunk_ids)
            within = None if everything else frozenset(chunk_ids)
            found = self.scores(query, depth=depth, within=within)
        if not found:
            return None
        floor = min(found.values())
        return np.array([found.get(chunk_id, floor) for chunk_id in chunk_ids])

    def reconcile(self, *, full: bool = False) -> SyncResult:
        """Make the store equal to the library now; with `full`, write every vector anew."""
        with self._turn, ThreadPoolExecutor(max_workers=1) as elsewhere:
            # Another thread has a view of its own: of what is committed, at this moment.
            return elsewhere.submit(self._reconcile, full=full, always=True).result()

    def ensure_current(self) -> SyncResult:
        """Synchronise the store with the library unless its stamp is current.

        Raises:
            VectorStoreUnavailable: the store cannot be reached, or refuses.
        """
        with self._turn, self._library.read() as connection:
            now = self._stamp(connection)
            if now is None or read_stamp(self._file) == now:
                return SyncResult()
            with ThreadPoolExecutor(max_workers=1) as elsewhere:
                return elsewhere.submit(self._reconcile).result()

    def close(self) -> None:
        """Let go of the store."""
        with self._turn:
            if self._store is not None:
                self._store.close()
            self._store, self._checked = None, False

    def _named(
        self,
        query: NDArray[np.float32],
        depth: int,
        *,
        held: _Held,
        within: Collection[str] | None,
    ) -> set[str]:
        from llama_index.core.vector_stores.types import VectorStoreQuery

        filters = None if within is None else _filters(held, within)
        allowed = None if within is None else set(within)
        with self._asked() as store:
            limit = min(held.windows, store.most)
            wanted = min(limit, depth * 3)
            while True:
                asked = VectorStoreQuery(
                    query_embedding=query.tolist(), similarity_top_k=wanted, filters=filters
                )
                nodes = store.query(asked)
                found = {str(node.metadata["chunk_id"]) for node in nodes} & held.documents.keys()
                if allowed is not None:
                    found &= allowed
                if len(found) >= depth or wanted >= limit or len(nodes) < wanted:
                    return found
                wanted = min(limit, wanted * 4)

    def _current(self, connection: Connection) -> _Held:
        now = vector_stamp(connection)
        with self._turn:
            if not self._checked or read_stamp(self._file) != self._stamp(connection):
                with ThreadPoolExecutor(max_workers=1) as elsewhere:
                    elsewhere.submit(self._reconcile).result()
            if self._held is None or self._held.stamp != now:
                self._held = _read_held(connection, now, model=self._model)
            return self._held

    def _reconcile(self, *, full: bool = False, always: bool = False) -> SyncResult:
        if not always and self._found_equal():
            return SyncResult()
        with self._alone(), self._library.read() as connection:
            now = self._stamp(connection)
            if now is None:
                self._checked = False
                return SyncResult()
            store = self._opened(int(now["dimension"]))
            with translate_error(repr(self._name), store.errors):
                # What dies from here on leaves a stamp that equals no library.
                write_stamp(self._file, now | {"library": ""})
                done = reconcile(store, connection, model=self._model, full=full)
                write_stamp(self._file, now)
            self._checked = True
            return done

    def _found_equal(self) -> bool:
        """Check whether the store's stamp and point count match the library."""
        with self._library.read() as connection:
            now = self._stamp(connection)
            if now is None or read_stamp(self._file) != now:
                return False
            windows = count_vectors(connection, model=self._model)
        store = self._opened(int(now["dimension"]))
        with translate_error(repr(self._name), store.errors):
            self._checked = self._checked or store.count() == windows
        return self._checked

    def _dimension(self, connection: Connection) -> int | None:
        """Return the dimension of the library's vectors, else the store's.

        None if there never were any.
        """
        found = _dimension(connection, self._model)
        if found is not None:
            return found
        held = read_stamp(self._file)
        known = held.get("dimension", "")
        same = known.isdigit() and held.get("collection") == self._collection(int(known))
        return int(known) if same else None

    def _collection(self, dimension: int) -> str:
        return collection_name(
            self._library.path, prefix=self._prefix, model=self._model, dimension=dimension
        )

    def _opened(self, dimension: int | None) -> OpenStore:
        """Return the store for this dimension; None for the last one used."""
        dimension = dimension or self._size
        if not dimension:  # it was opened before all vectors went
            raise LibraryUnusable(
                f"no vectors of model: {self._model!r}; open the library with its vector store"
            )
        name = self._collection(dimension)
        if self._store is not None and (self._store.lost or name != self._name):
            self._store.close()
            self._store = None
        if self._store is None:
            self._store = self._connect(name, dimension)
            self._name, self._size = name, dimension
        return self._store

    @contextmanager
    def _asked(self) -> Iterator[OpenStore]:
        with self._turn:  # local stores are not made for two threads
            store = self._opened(None)
            with translate_error(repr(self._name), store.errors):
                yield store

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time writes to the store; searches go on."""
        folder = self._file.parent
        lock = FileLock(self._file.with_suffix(".lock"), timeout=_LOCK_SECONDS)
        try:
            folder.mkdir(exist_ok=True)
            lock.acquire()
        except Timeout as error:
            raise LibraryBusy(
                "another process is writing to the vector store (waited "
                f"{_LOCK_SECONDS:.0f} s); try again when it is done"
            ) from error
        except OSError as error:
            raise VectorStoreUnavailable(
                f"vector store out of date, and cannot write: {str(folder)!r} ({error.strerror}); "
                "ask one question where the folder is writable"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _stamp(self, connection: Connection) -> dict[str, str] | None:
        """Return the stamp of a store equal to the library now; None without vectors."""
        now = vector_stamp(connection)
        if self._stamped is None or self._stamped[0] != now:
            dimension = self._dimension(connection)  # looks at every vector
            if dimension is None:
                return None
            collection = self._collection(dimension)
            self._stamped = (
                now,
                {"collection": collection, "dimension": str(dimension), "library": now},
            )
        return self._stamped[1]


def _dimension(connection: Connection, model: str) -> int | None:
    length = func.length(vectors.c.vector)
    query = select(func.min(length), func.max(length)).where(vectors.c.model == model)
    least, most = connection.execute(query).one()
    if least != most:
        raise LibraryUnusable(
            f"vectors of model {model!r} have different dimensions: {least // 4} and "
            f"{most // 4}; add all documents again"
        )
    return None if least is None else int(least) // 4


def _read_held(connection: Connection, now: str, *, model: str) -> _Held:
    query = (
        select(vectors.c.chunk_id, chunk_table.c.document_id)
        .join(chunk_table, chunk_table.c.id == vectors.c.chunk_id)
        .where(vectors.c.model == model)
    )
    rows = connection.execute(query).all()
    spaces = connection.execute(select(documents.c.id, documents.c.namespace)).all()
    return _Held(
        now,
        len(rows),
        {row.chunk_id: row.document_id for row in rows},
        {row.id: row.namespace for row in spaces},
    )


def _filters(held: _Held, within: Collection[str]) -> MetadataFilters | None:
    """Return a store filter that keeps at least the visible chunks; None if impossible."""
    from llama_index.core.vector_stores.types import (
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )

    inside = {held.documents[chunk_id] for chunk_id in within if chunk_id in held.documents}
    spaces = {held.namespaces.get(document_id, "") for document_id in inside}
    if len(inside) <= MOST_DOCUMENTS:
        key, values = "document_key", sorted(map(document_key, inside))
    elif len(spaces) == 1:
        key, values = "namespace_key", sorted(map(namespace_key, spaces))
    else:
        return None
    return MetadataFilters(
        filters=[MetadataFilter(key=key, value=values, operator=FilterOperator.IN)]
    )
