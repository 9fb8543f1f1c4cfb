"""Methods of `KnowledgeEngine` that give LlamaIndex's objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..components import Components
from ..config import Settings
from ..events import Listener
from ..memory.records import Memory
from ..namespaces import NamespaceReadings, Reading
from ..retrieval.retriever import HybridRetriever, check_top_k
from ..storage.schema import document_filter
from ..types import (
    Answer,
    History,
    Passage,
)

if TYPE_CHECKING:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.tools import QueryEngineTool

    from ..agent.runner import Decide
    from ..agent.workflow import SearchWorkflow
    from ..memory.llamaindex import LoregraphMemory, LoregraphMemoryBlock
    from ..memory.service import MemoryService
    from ..retrieval.llamaindex import LocalRetriever
    from ..storage.graph_api import KnowledgeGraphIndex
    from ..storage.llamaindex import KeywordRetriever, WindowedVectorIndex
    from ..storage.schema import Filters, Namespaces


class LlamaIndexMethods(ABC):
    """Indexes, retrievers, query engines, chat engines and tools; a part of `KnowledgeEngine`."""

    _whole: Reading
    _readings: NamespaceReadings
    _settings: Settings

    @property
    @abstractmethod
    def memory(self) -> MemoryService:
        """Memory of users."""

    @abstractmethod
    def _asker(
        self,
        question: str,
        mode: str,
        effort: str | None,
        filters: Filters,
        namespace: Namespaces,
        history: History,
        memory: Memory | None = None,
        *,
        adjust: Callable[[Components], Components] | None = None,
    ) -> Callable[[Listener], Answer]:
        """Return the function that answers a question and tells how."""

    @property
    def graph_index(self) -> KnowledgeGraphIndex:
        """The LlamaIndex knowledge-graph index over this library."""
        return self._whole.parts.graph

    @property
    def vector_index(self) -> WindowedVectorIndex | None:
        """The LlamaIndex vector index of the first model; None where embedding is off."""
        return self._whole.parts.spaces[0].index if self._whole.parts.spaces else None

    @property
    def keyword_index(self) -> KeywordRetriever:
        """The LlamaIndex BM25 retriever over this library."""
        from ..storage.llamaindex import KeywordRetriever

        return KeywordRetriever(self._whole.parts.keyword)

    def as_query_engine(
        self,
        *,
        similarity_top_k: int | None = None,
        mode: str = "auto",
        filters: Filters = None,
        namespace: Namespaces = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        streaming: bool = False,
        **others: object,
    ) -> BaseQueryEngine:
        """Return a LlamaIndex query engine; without keywords the router of this library.

        `response.metadata["answer"]` holds the `Answer`; a streamed response has it, and its source
        nodes, when the stream has ended.

        Args:
            similarity_top_k: how many passages a local answer reads; None as the settings say.
            mode: which way questions take: auto, local, global or both.
            filters: as for `ask`, LlamaIndex's `MetadataFilters` among them.
            namespace: as for `ask`.
            node_postprocessors: LlamaIndex's, applied in order to what retrieval found.
            streaming: whether the response's text comes as it is written.
            others: LlamaIndex's further keywords; each is refused with what to use instead.

        Raises:
            QuestionError: a `similarity_top_k` below 1.
            TypeError: a keyword that has no place here.
        """
        from ..tools.llamaindex import KnowledgeQueryEngine, refuse_keywords

        refuse_keywords("as_query_engine", others)
        self._whole.parts.ensure_current()
        wants_all = filters is None and namespace is None and mode == "auto" and not streaming
        if wants_all and similarity_top_k is None and not node_postprocessors:
            from ..routing.llamaindex import LibraryRouter

            return LibraryRouter(self._whole.parts.router)
        adjust = None
        if similarity_top_k is not None or node_postprocessors:
            if similarity_top_k is not None:
                check_top_k(similarity_top_k)

            def adjust(parts: Components) -> Components:
                retriever = parts.retriever.adjusted(
                    top_k=similarity_top_k, postprocessors=node_postprocessors
                )
                return parts.with_retriever(retriever)

        return KnowledgeQueryEngine(
            lambda question: self._asker(
                question, mode, None, filters, namespace, (), adjust=adjust
            ),
            streaming=streaming,
        )

    def as_memory(self, memory: Memory) -> LoregraphMemory:
        """Return the memory of a user and session as LlamaIndex's `BaseMemory`."""
        from ..memory.llamaindex import LoregraphMemory

        return LoregraphMemory(self.memory, memory)

    def as_memory_block(self, memory: Memory) -> LoregraphMemoryBlock:
        """Return the memory of a user and session as a block of LlamaIndex's `Memory`."""
        from ..memory.llamaindex import LoregraphMemoryBlock

        return LoregraphMemoryBlock(self.memory, memory)

    def as_retriever(
        self,
        *,
        similarity_top_k: int | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        **others: object,
    ) -> LocalRetriever:
        """Return local hybrid retrieval as a LlamaIndex retriever.

        Args:
            similarity_top_k: how many passages; None as the settings say.
            filters: as for `ask`.
            namespace: as for `ask`.
            node_postprocessors: LlamaIndex's, applied in order to what was found.
            others: LlamaIndex's further keywords; each is refused with what to use instead.

        Raises:
            QuestionError: a `similarity_top_k` below 1.
            TypeError: a keyword that has no place here.
        """
        from ..retrieval.llamaindex import LocalRetriever

        if others:
            from ..tools.llamaindex import refuse_keywords

            refuse_keywords("as_retriever", others)
        self._whole.parts.ensure_current()
        within = document_filter(filters, namespace=namespace)
        if within is None and similarity_top_k is None and not node_postprocessors:
            return LocalRetriever(self._whole.parts.retriever)

        @contextmanager
        def home() -> Iterator[HybridRetriever]:
            with self._readings.of(namespace) as reading:
                yield reading.parts.retriever

        return LocalRetriever(
            self._whole.parts.retriever.adjusted(
                within=within, top_k=similarity_top_k, postprocessors=node_postprocessors, home=home
            )
        )

    def as_workflow(
        self,
        *,
        decide: Decide | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> SearchWorkflow:
        """Return agentic search as a LlamaIndex workflow: `await workflow.run(question=…)`.

        Args:
            decide: state to the next action; None decides as `mode="agent"` does.
            filters: which documents may be seen (see `ask`).
            namespace: only documents of this one, or of these; None means all.
        """
        from ..agent.runner import AgentTools
        from ..agent.workflow import SearchWorkflow

        within = document_filter(filters, namespace=namespace)

        def answer(question: str, found: Sequence[Passage] | None) -> Answer:
            with self._readings.of(namespace) as reading:
                return reading.parts.agent.tools(within=within).answer(question, found)

        def search(question: str) -> Sequence[Passage]:
            with self._readings.of(namespace) as reading:
                return reading.parts.agent.tools(within=within).search(question)

        agent = self._whole.parts.agent
        tools = AgentTools(answer=answer, search=search, reads=agent.tools().reads)
        return SearchWorkflow(tools, decide=decide or agent.decider(), limits=agent.limits)

    def as_tool(self) -> QueryEngineTool:
        """Return the router as one LlamaIndex tool; see `tools` for all of them."""
        from llama_index.core.tools import QueryEngineTool

        return QueryEngineTool.from_defaults(
            self.as_query_engine(),
            name="knowledge",
            description="Answers questions about the documents of this library, with citations.",
        )
