"""Indexes of a library as LlamaIndex sees them: `VectorStoreIndex`, its store, `BM25Retriever`.

A chunk longer than the encoder's window is embedded in windows. Texts are embedded once per model,
by hash. What is stored here is searched by `vectors.index.DenseIndex`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.vector_store import VectorStoreIndex
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.core.storage.storage_context import StorageContext
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr
from sqlalchemy import Connection, select

from ..embeddings.embedding_model import EmbeddingModel
from ..embeddings.llamaindex import as_llamaindex
from ..ingest.document import normalise_text
from .bm25_index import KeywordIndex, context_prefix
from .graph_api import (
    chunk_of_node,
    chunk_table,
    document_splitter,
    node_of_chunk,
    put_chunks,
    read_chunks,
)
from .library import Library, WindowVector
from .schema import document_filter
from .vectors.external import Dense
from .vectors.index import DenseIndex

if TYPE_CHECKING:
    from llama_index.core.data_structs import IndexDict

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
        embed_model: EmbeddingModel,
        model: str,
        windows: Windower,
        dense: Dense | None = None,
    ) -> None:
        self._library = library
        self._windows = windows
        self._model_identity = model
        self._encoder = embed_model
        self.store = LibraryVectorStore(library, model=model, dense=dense)
        super().__init__(
            nodes=[],
            embed_model=as_llamaindex(embed_model),
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
            made = dict(zip(texts, self._encoder.get_text_embedding_batch(texts), strict=True))
            for node in waiting:
                node.embedding = made[node.get_content(MetadataMode.NONE)]
        return len(texts)

    def try_out(self) -> None:
        """Embed a plain word; raises what the model raises."""
        self._encoder.get_text_embedding_batch(["word"])

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


class KeywordRetriever(BM25Retriever):
    """LlamaIndex's BM25 retriever, over the arrays and tokens of a library.

    LlamaIndex's pattern takes a whole Chinese clause for one token; this one accepts an empty
    library, too.

    Args:
        index: does the work.
        top_k: how many nodes `retrieve` gives at most.
    """

    def __init__(self, index: KeywordIndex, *, top_k: int = 10) -> None:
        self._index = index
        self.similarity_top_k = top_k
        # The stock constructor builds its own arrays with its own tokeniser: passed over.
        BaseRetriever.__init__(self, callback_manager=CallbackManager([]))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._index.scored_chunks(query_bundle.query_str, top_k=self.similarity_top_k)
        return [NodeWithScore(node=node_of_chunk(chunk), score=score) for chunk, score in found]
