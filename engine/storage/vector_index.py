"""Vector index: a LlamaIndex `VectorStoreIndex` whose vectors are stored in the library.

A chunk longer than the encoder's window is embedded in windows, and a question is compared with the
best of them. Texts are embedded once per model, by hash. Search is exact up to 200,000 vectors;
above, an HNSW graph finds candidates, and vectors added since it was made are compared beside it.
Cosines returned are exact in both cases. Compaction into one block with a new graph runs in a
thread; questions go on meanwhile.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.data_structs import IndexDict
from llama_index.core.indices.vector_store import VectorStoreIndex
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, TextNode
from llama_index.core.storage.storage_context import StorageContext
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from numpy.typing import NDArray
from pydantic import PrivateAttr
from sqlalchemy import Connection, select

from ..ingest.document import normalise_text
from .bm25_index import context_prefix
from .external_index import Dense
from .graph_api import (
    chunk_of_node,
    chunk_table,
    document_splitter,
    node_of_chunk,
    put_chunks,
    read_chunks,
)
from .library import Library, WindowVector, unit_length, vector_stamp
from .schema import document_filter
from .vector_cache import (
    VectorGraph,
    VectorSegment,
    build_hnsw,
    cached_graph,
    changed_vectors,
    compact_vectors,
    count_vectors,
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
        found = cached_graph(self._folder, model=self._model)
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
    slots = np.flatnonzero(np.isin(held.chunk_of, numbers))
    cosines = np.einsum("ij,j->i", held.at(slots), query)
    best = np.full(len(held.chunk_ids), -np.inf, dtype=np.float32)
    np.maximum.at(best, held.chunk_of[slots], cosines)
    return best[numbers]


CHUNK_KEY = "window_of"
"""Metadata of a window node: the id of the chunk that it is part of."""


class Windower(Protocol):
    """Cutter of texts into the pieces that are embedded, each with the prefix in front."""

    def __call__(self, text: str, *, prefix: str) -> list[str]:
        """Return the pieces of a text, in order."""


class LibraryVectorStore(BasePydanticVectorStore):
    """LlamaIndex's vector store over the library's `vectors` table."""

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False
    _library: Library = PrivateAttr()
    _model: str = PrivateAttr()
    _dense: Dense = PrivateAttr()

    def __init__(self, library: Library, *, model: str, dense: Dense | None = None) -> None:
        super().__init__(stores_text=True)
        self._library = library
        self._model = model
        self._dense = dense or DenseIndex(library, model=model)

    @property
    def client(self) -> Library:
        """The library."""
        return self._library

    @property
    def dense(self) -> Dense:
        """The search structure derived from the vectors."""
        return self._dense

    def add(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[str]:
        """Store window nodes (or chunks with one embedding each); return ids in order.

        All windows of a chunk must come together: they replace what it had.
        """
        values = []
        seen: dict[str, int] = {}
        with self._library.write() as connection:
            put_chunks(connection, [chunk_of_node(n) for n in nodes if CHUNK_KEY not in n.metadata])
            for node in nodes:
                chunk_id = str(node.metadata.get(CHUNK_KEY, node.node_id))
                window = seen[chunk_id] = seen.get(chunk_id, -1) + 1
                text = node.get_content(metadata_mode=MetadataMode.NONE)
                values.append(
                    WindowVector(
                        chunk_id=chunk_id,
                        window=window,
                        input_sha=input_sha(text),
                        vector=np.asarray(node.get_embedding(), dtype=np.float32),
                    )
                )
            self._library.put_vectors(values, model=self._model)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_delete_kwargs: Any) -> None:
        """Remove the vectors of a document's chunks, and chunks that nobody else reads."""
        inside = select(chunk_table.c.id).where(chunk_table.c.document_id == ref_doc_id)
        with self._library.write() as connection:
            self._library.delete_vectors(connection.execute(inside).scalars().all())

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: Any = None, **_delete_kwargs: Any
    ) -> None:
        """Delete by chunk id, metadata filters, or both combined, like `delete`."""
        if node_ids is None and filters is None:
            return
        with self._library.write() as connection:
            wanted = None if node_ids is None else frozenset(node_ids)
            chosen = self._admitted(connection, filters=filters, node_ids=wanted)
            self._library.delete_vectors(chosen or [])

    def query(self, query: VectorStoreQuery, **_kwargs: Any) -> VectorStoreQueryResult:
        """Return the chunks nearest to the query embedding by their best window, best first."""
        if query.mode != VectorStoreQueryMode.DEFAULT:
            raise NotImplementedError(f"query mode {query.mode.value!r} is not offered: default is")
        if query.query_embedding is None:
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        with self._library.read() as connection:
            best = self._dense.search(
                np.asarray(query.query_embedding, dtype=np.float32),
                top_k=query.similarity_top_k,
                within=self._admitted(
                    connection,
                    filters=query.filters,
                    # LlamaIndex's retriever hands over an empty list where it means all.
                    node_ids=frozenset(query.node_ids) if query.node_ids else None,
                    document_ids=None if query.doc_ids is None else frozenset(query.doc_ids),
                ),
            )
            held = read_chunks(connection, [chunk_id for chunk_id, _ in best])
        found = [(held[chunk_id], score) for chunk_id, score in best if chunk_id in held]
        return VectorStoreQueryResult(
            nodes=[node_of_chunk(chunk) for chunk, _ in found],
            similarities=[score for _, score in found],
            ids=[chunk.id for chunk, _ in found],
        )

    def _admitted(
        self,
        connection: Connection,
        *,
        filters: MetadataFilters | None,
        node_ids: Collection[str] | None = None,
        document_ids: Collection[str] | None = None,
    ) -> frozenset[str] | None:
        """Return chunks admitted by all conditions; None for all."""
        judge = document_filter(filters)
        if judge is None and node_ids is None and document_ids is None:
            return None
        known = self._library.document_metadata(connection) if judge is not None else {}
        rows = connection.execute(select(chunk_table.c.id, chunk_table.c.document_id))
        return frozenset(
            row.id
            for row in rows
            if (judge is None or judge.admits(known.get(row.document_id, {})))
            and (node_ids is None or row.id in node_ids)
            and (document_ids is None or row.document_id in document_ids)
        )


class WindowedVectorIndex(VectorStoreIndex):
    """A `VectorStoreIndex` that embeds a long chunk in several windows.

    `dense` finds near vectors; None means the library's own index.
    """

    def __init__(
        self,
        library: Library,
        *,
        embed_model: BaseEmbedding,
        model: str,
        windows: Windower,
        dense: Dense | None = None,
    ) -> None:
        self._library = library
        self._windows = windows
        self._model_identity = model
        self.store = LibraryVectorStore(library, model=model, dense=dense)
        super().__init__(
            nodes=[],
            embed_model=embed_model,
            storage_context=StorageContext.from_defaults(vector_store=self.store),
            callback_manager=CallbackManager([]),
            # An empty list would make LlamaIndex read its global settings.
            transformations=[document_splitter()],
        )

    def windows(self, nodes: Sequence[BaseNode]) -> list[BaseNode]:
        """Return window nodes of chunks, with stored embeddings where available."""
        pieces = [piece for node in nodes for piece in self._pieces(node)]
        shas = {piece.node_id: input_sha(piece.get_content(MetadataMode.NONE)) for piece in pieces}
        known = self._library.vectors_by_input(shas.values(), model=self._model_identity)
        for piece in pieces:
            vector = known.get(shas[piece.node_id])
            piece.embedding = None if vector is None else vector.tolist()
        return pieces

    def embed(self, windows: Sequence[BaseNode]) -> int:
        """Embed the windows that have no embedding yet, equal texts once; how many texts."""
        waiting = [node for node in windows if node.embedding is None]
        texts = sorted({node.get_content(MetadataMode.NONE) for node in waiting})
        if texts:
            made = dict(zip(texts, self._embed_model.get_text_embedding_batch(texts), strict=True))
            for node in waiting:
                node.embedding = made[node.get_content(MetadataMode.NONE)]
        return len(texts)

    def try_out(self) -> None:
        """Embed a plain word; raises what the model raises."""
        self._embed_model.get_text_embedding_batch(["word"])

    def _pieces(self, node: BaseNode) -> list[BaseNode]:
        if CHUNK_KEY in node.metadata:
            return [node]
        prefix = "".join(
            f"{normalise_text(part)}. " for part in context_prefix(node.metadata) if part
        )
        text = normalise_text(node.get_content(MetadataMode.NONE))
        pieces: list[BaseNode] = []
        for number, piece in enumerate(self._windows(text, prefix=prefix)):
            window = TextNode(
                id_=f"{node.node_id}#{number}", text=piece, metadata={CHUNK_KEY: node.node_id}
            )
            source = node.relationships.get(NodeRelationship.SOURCE)
            if source is not None:
                window.relationships[NodeRelationship.SOURCE] = source
            pieces.append(window)
        return pieces

    def _add_nodes_to_index(
        self,
        index_struct: IndexDict,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **_insert_kwargs: Any,
    ) -> None:
        """Embed, then store all at once, so that a batch never splits a chunk's windows."""
        if not nodes:  # LlamaIndex's way to begin, also over a library that cannot be written
            return
        whole = [node for node in nodes if CHUNK_KEY not in node.metadata]
        pieces = self.windows(whole) + [node for node in nodes if CHUNK_KEY in node.metadata]
        self.embed(pieces)
        with self._library.write() as connection:
            put_chunks(connection, [chunk_of_node(node) for node in whole])
            if pieces:
                self.store.add(pieces)

    async def _async_add_nodes_to_index(
        self,
        index_struct: IndexDict,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **_insert_kwargs: Any,
    ) -> None:
        await asyncio.to_thread(self._add_nodes_to_index, index_struct, nodes)


def input_sha(text: str) -> str:
    """Return the hash of the embedded text."""
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()
