"""Local hybrid retrieval as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from ..events import Listener, null_listener
from ..storage.graph_api import node_of_chunk
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight
from .query_expansion import Expander
from .retriever import HybridRetriever, SearchResult


class LocalRetriever(BaseRetriever):
    """LlamaIndex retriever over one library.

    Args:
        retriever: does the work.
    """

    def __init__(self, retriever: HybridRetriever) -> None:
        self._retriever = retriever
        super().__init__(callback_manager=CallbackManager([]))

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        within: DocumentFilter | None = None,
        expander: Expander | None = None,
        on_event: Listener = null_listener,
    ) -> SearchResult:
        """Search passages; see `HybridRetriever.search`."""
        return self._retriever.search(
            question,
            top_k=top_k,
            min_relevance=min_relevance,
            within=within,
            expander=expander,
            on_event=on_event,
        )

    def idf(self, within: DocumentFilter | None = None) -> TokenWeight:
        """Return idf of tokens within the question's namespaces; see `KeywordIndex.idf`."""
        return self._retriever.idf(within)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=node_of_chunk(chunk), score=score)
            for chunk, score in self._retriever.scored_chunks(query_bundle.query_str)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # Embedding may wait for a server: the event loop must go on.
        return await asyncio.to_thread(self._retrieve, query_bundle)
