"""`KnowledgeEngine`: everything the product does, in one object over one library.

It keeps no knowledge of its own: which part gets what stands in `assemble`, how documents are cut,
indexed, found and answered in the packages beside this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .adding import Adding
from .asking import Asking
from .assemble import build_components
from .curate import EntityEditor
from .documents import IngestPipeline
from .errors import SettingsError
from .explore import GraphExplorer, GraphViewCache
from .index.catalogue import DocumentStore
from .index.door import KnowledgeGraphIndex, graph_errors
from .index.filters import document_filter
from .index.ledger import UsageLog
from .index.library import DocumentRow, Library
from .index.partial import partial_documents
from .index.soundness import check_library, library_counts, pending_chunks, repair_library
from .index.unanswered import forget_unanswered
from .index.unbegun import delete_if_empty
from .index.vector import WindowedVectorIndex
from .kept.build import build_answer_cache
from .model_parts import asks_a_model
from .models.build import build_chain
from .models.fallback import ChosenEmbedding, choose_embedding, probe_error, skip_probe
from .models.gateways import Stage, build_llms
from .models.stages import build_models
from .models.unasked import with_placeholder_keys, without_reranker
from .observe.telemetry import build_telemetry
from .questions import QueryPipeline
from .retrieve.local import LocalRetriever
from .settings import Settings
from .types import PartialDocument, PendingChunk, StageUsage

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.chat_engine.types import BaseChatEngine
    from llama_index.core.llms import LLM
    from llama_index.core.query_engine import RouterQueryEngine
    from llama_index.core.tools import FunctionTool, QueryEngineTool

    from .index.filters import Filters, Namespaces
    from .retrieve.corrective import WebSearch


class KnowledgeEngine(Adding, Asking):
    """An open library with everything that can be done with it; a context manager.

    Args:
        library: the truth.
        settings: all sections.
        llm: one language model for all stages, or None.
        llms: otherwise each stage's; a stage without one does without.
        embedding: the model of chunks and questions; None means keyword and graph only.
    """

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings,
        llm: LLM | None,
        llms: Mapping[Stage, LLM],
        embedding: ChosenEmbedding | None,
        web_search: WebSearch | None = None,
    ) -> None:
        self._library = library
        self._settings = settings
        self._ledger = UsageLog(library, currency=settings.budget.currency)
        models = build_models(settings, llm=llm, llms=llms, ledger=self._ledger)
        make = partial(
            build_components,
            library,
            settings=settings,
            models=models,
            history=self._ledger.rows,
            web_search=web_search,
        )
        embed_model = embedding.model if embedding is not None else None
        parts = make(embed_model=embed_model)
        questions = QueryPipeline(
            parts,
            budget=models.budget,
            without_vectors=lambda: make(embed_model=None),
            kept=build_answer_cache(
                library,
                settings,
                models=models,
                embed_model=embed_model,
                searches_web=web_search is not None,
            ),
            telemetry=build_telemetry(settings.telemetry),
        )
        documents = IngestPipeline(
            library,
            parts.indexer,
            settings.ingest,
            budget=models.budget,
            embedding=embedding,
            changed=questions.library_changed,
            warnings=models.void_caps() if asks_a_model(settings) else (),
        )
        Adding.__init__(self, documents, forecasts=parts.forecasts)
        Asking.__init__(self, questions, ready=parts.indexer.ensure_current)
        self._graph = parts.graph
        self._vectors = parts.vectors
        self._keyword = parts.keyword
        self._indexer = parts.indexer
        self._pictures = GraphViewCache(library)
        self._retriever = parts.retriever
        self._router = parts.router

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        settings: Settings | str | Path | None = None,
        llm: LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        web_search: WebSearch | None = None,
        create: bool = True,
        asks_models: bool = True,
    ) -> Self:
        """Open a library, or make one.

        Args:
            path: the library's folder.
            settings: a `Settings`, the path of a YAML profile, or None for the defaults (with the
                environment's overrides).
            llm: any LlamaIndex LLM, instead of those that settings name, for all stages.
            embed_model: any LlamaIndex embedding, instead of the one that settings name.
            web_search: searches outside of the library, where `check.corrective` finds too little
                in it; None never does. What it finds is cited as `origin: web`.
            create: whether to make a library where there is none.
            asks_models: False where nothing is going to be asked of a model (`estimate`, looking
                around, decisions by hand): the keys of those that settings name need not be there,
                and no server is tried.

        Raises:
            SettingsError: a profile that cannot be used.
            LibraryError: no library, not a library, or a newer one.
            ModelUnavailable: a model that settings name is not there.
        """
        if not isinstance(settings, Settings):
            settings = Settings.load(settings)
        environment: Mapping[str, str] = os.environ
        if not asks_models:
            environment = with_placeholder_keys(settings, environment)
            settings = without_reranker(settings)
        llms = build_llms(settings.llm, environment) if llm is None else {}
        build_models(settings, llm=llm, llms=llms)  # what is wrong shows before there is a folder
        wanted = [embed_model] if embed_model is not None else None
        chain = wanted or build_chain(settings.embedding, environment)
        is_new = not Path(path).exists()
        library = Library(
            path, create=create, lock_timeout_seconds=settings.library.lock_timeout_seconds
        )
        try:
            held = library.vector_models()
            judge = probe_error if asks_models else skip_probe
            chosen = choose_embedding(chain, held=held, reason_against=judge) if chain else None
            return cls(
                library,
                settings=settings,
                llm=llm,
                llms=llms,
                embedding=chosen,
                web_search=web_search,
            )
        except BaseException:
            library.close()
            if is_new:
                delete_if_empty(Path(path))
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the library, and the vector store where there is one."""
        if self._vectors is not None:
            self._vectors.store.dense.close()
        self._questions.close()
        self._ledger.close()
        self._library.close()

    @property
    def path(self) -> Path:
        """The library's folder."""
        return self._library.path

    # --- looking in -------------------------------------------------------------------------

    def documents(self) -> list[DocumentRow]:
        """Every document without its text, sorted by id."""
        return list(self._library.documents().values())

    @property
    def catalogue(self) -> DocumentStore:
        """The documents page by page, one by one, and windows of their text."""
        return DocumentStore(self._library)

    def document_text(self, document_id: str) -> str:
        """Return the stored text that citation offsets refer to."""
        return self._library.document_text(document_id)

    def stats(self) -> dict[str, Any]:
        """Return counts of documents, chunks, vectors, entities and relations."""
        return library_counts(self._library) | {"up_to_date": self._indexer.is_fresh()}

    def usage(self) -> list[StageUsage]:
        """Return LLM usage of this library by day, stage and model."""
        return self._ledger.rows()

    def pending(self) -> list[PendingChunk]:
        """The chunks that a language model has not read, and why.

        The next `add` tries those again that are not unreadable by this model.
        """
        return pending_chunks(self._library)

    def partial(self) -> list[PartialDocument]:
        """The documents that a stage could not take, sorted by id.

        And what they lack and why.
        """
        return partial_documents(self._library)

    def retry_unanswered(self) -> None:
        """Let the next `add` ask again about everything that a model could not answer."""
        with self._library.writer():
            forget_unanswered(self._library)

    def problems(self) -> list[str]:
        """Return the problems of the library, one line each; empty when it is sound."""
        return check_library(self._library)

    def repair(self) -> list[str]:
        """Rebuild everything derived from the library; return a line for each repair.

        Entities, communities and reports are derived where they are not up to date; a vector store
        outside is compared with the library and every vector in it written anew.
        """
        return repair_library(self._indexer, self._vectors)

    def export_graph(
        self,
        target: str | Path,
        *,
        focus: str = "",
        hops: int = 1,
        community: str | int | None = None,
        question: str = "",
        max_nodes: int = 50_000,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> Path:
        """Export the graph by suffix.

        `.html` (offline page), `.svg`, `.png`, `.graphml`, `.json`.

        At most one of: `focus` (an entity's name or id) writes what is within `hops` relations of
        it; `community` (an id, a number in the listing, or a title) that community; `question` asks
        and writes what the answer rests on, with the answer. `filters` and `namespace` as for
        `ask`: nothing of other documents is in the file.
        """
        from .index.exports import checked_suffix, select_subgraph, subgraph_of_answer, write_graph

        if sum((bool(focus), community is not None, bool(question))) > 1:
            raise SettingsError("choose one part of the graph: focus, community or question")
        path = Path(target)
        checked_suffix(path)
        answer = self.ask(question, filters=filters, namespace=namespace) if question else None
        whole = self.graph.export(filters=filters, namespace=namespace)
        with graph_errors():
            if answer is not None:
                part = subgraph_of_answer(whole, answer)
            else:
                part = select_subgraph(whole, focus=focus, hops=hops, community=community)
            return write_graph(part, path, max_nodes=max_nodes)

    @property
    def graph(self) -> GraphExplorer:
        """Entities, what lies about them and between them, communities and their reports."""
        return GraphExplorer(
            self._library, pictures=self._pictures, ensure_current=self._indexer.ensure_current
        )

    @property
    def entities(self) -> EntityEditor:
        """Entity editor: inspect and override entity resolution."""
        return EntityEditor(self._library, derive=self._indexer.derived)

    # --- LlamaIndex -------------------------------------------------------------------------

    @property
    def graph_index(self) -> KnowledgeGraphIndex:
        """The LlamaIndex knowledge-graph index over this library."""
        return self._graph

    @property
    def vector_index(self) -> WindowedVectorIndex | None:
        """The LlamaIndex vector index over this library; None where embedding is off."""
        return self._vectors

    def as_query_engine(self) -> RouterQueryEngine:
        """Return the LlamaIndex router query engine over local and global answers."""
        self._indexer.ensure_current()
        return self._router

    def as_chat_engine(
        self, *, mode: str = "auto", filters: Filters = None, namespace: Namespaces = None
    ) -> BaseChatEngine:
        """Return a LlamaIndex chat engine with a history of its own."""
        from .chat import KnowledgeChatEngine

        return KnowledgeChatEngine(self, mode=mode, filters=filters, namespace=namespace)

    def as_retriever(
        self, *, filters: Filters = None, namespace: Namespaces = None
    ) -> LocalRetriever:
        """Return local hybrid retrieval as a LlamaIndex retriever."""
        self._indexer.ensure_current()
        within = document_filter(filters, namespace=namespace)
        return self._retriever if within is None else self._retriever.only(within)

    def tools(
        self,
        *,
        read_only: bool = True,
        namespace: str | None = None,
        folders: Sequence[str | Path] = (),
    ) -> list[FunctionTool]:
        """Return tools for a LlamaIndex agent, as offered by `loregraph mcp`.

        Args:
            read_only: leave out those that add and remove documents.
            namespace: all that the tools may see and change; None is everything.
            folders: where files may be added from.
        """
        from .tools.llama import llama_tools

        return llama_tools(self, read_only=read_only, namespace=namespace, folders=folders)

    def as_tool(self) -> QueryEngineTool:
        """Return the router as one LlamaIndex tool; see `tools` for all of them."""
        from llama_index.core.tools import QueryEngineTool

        return QueryEngineTool.from_defaults(
            self.as_query_engine(),
            name="knowledge",
            description="Answers questions about the documents of this library, with citations.",
        )
