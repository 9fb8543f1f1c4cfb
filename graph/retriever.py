"""Questions to chunks over the graph alone, as a LlamaIndex retriever.

No keywords and no vectors: only what the names in a question lead to.
"""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from .errors import GraphInputError
from .nodes import node_of_chunk
from .read import read_chunks
from .search_view import read_view
from .store import SqlGraphStore


class GraphRetriever(BaseRetriever):
    """Retriever walking from names in the question; at most `top_k` chunks, best first.

    Raises:
        GraphInputError: a `top_k` below 1.
    """

    def __init__(self, store: SqlGraphStore, *, top_k: int = 10) -> None:
        if top_k < 1:
            raise GraphInputError(f"top_k must be 1 or more, not {top_k}")
        self._store = store
        self._top_k = top_k
        super().__init__(callback_manager=CallbackManager([]))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with self._store.reading() as connection:
            view = read_view(connection)
            labels = view.names_in(connection, query_bundle.query_str).labels
            ranked = view.from_labels(labels)[: self._top_k]
            held = read_chunks(connection, [chunk_id for chunk_id, _ in ranked])
        return [
            NodeWithScore(node=node_of_chunk(held[chunk_id]), score=score)
            for chunk_id, score in ranked
        ]
