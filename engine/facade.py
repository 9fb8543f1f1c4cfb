"""`KnowledgeEngine`: everything the product does, in one object over one library.

It keeps no knowledge of its own: which part gets what stands in `assemble`, how documents are cut,
indexed, found and answered in the packages beside this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .assemble import assemble
from .curate import Curation
from .documents import Documents, chosen, listed
from .index.door import KnowledgeGraphIndex, graph_errors
from .index.filters import document_filter
from .index.ledger import Ledger
from .index.library import DocumentRow, Library
from .index.soundness import held, pending, problems, repaired
from .index.vector import WindowedVectorIndex
from .ingest.intake import Wish
from .models.build import build_chain
from .models.fallback import ChosenEmbedding, choose_embedding
from .models.gateways import Stage, build_llms
from .models.stages import build_models
from .progress import Progress, silent
from .questions import Questions, checked
from .retrieve.local import LocalRetriever
from .settings import Settings
from .types import Answer, Estimate, IngestReport, MetaValue, Passage, PendingChunk, StageUsage

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.query_engine import RouterQueryEngine
    from llama_index.core.schema import Document
    from llama_index.core.tools import QueryEngineTool

    from .index.filters import Filters


class KnowledgeEngine:
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
    ) -> None:
        self._library = library
        self._settings = settings
        self._ledger = Ledger(library)
        models = build_models(settings, llm=llm, llms=llms, ledger=self._ledger)
        make = partial(
            assemble, library, settings=settings, models=models, history=self._ledger.rows
        )
        parts = make(embed_model=embedding.model if embedding is not None else None)
        self._questions = Questions(
            parts, budget=models.budget, without_vectors=lambda: make(embed_model=None)
        )
        self._graph = parts.graph
        self._vectors = parts.vectors
        self._keyword = parts.keyword
        self._indexer = parts.indexer
        self._documents = Documents(
            library,
            parts.indexer,
            settings.ingest,
            budget=models.budget,
            embedding=embedding,
        )
        self._forecasts = parts.forecasts
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
        create: bool = True,
    ) -> Self:
        """Open a library, or make one.

        Args:
            path: the library's folder.
            settings: a `Settings`, the path of a YAML profile, or None for the defaults (with the
                environment's overrides).
            llm: any LlamaIndex LLM, instead of those that settings name, for all stages.
            embed_model: any LlamaIndex embedding, instead of the one that settings name.
            create: whether to make a library where there is none.

        Raises:
            SettingsError: a profile that cannot be used.
            LibraryError: no library, not a library, or a newer one.
            ModelUnavailable: a model that settings name is not there.
        """
        if not isinstance(settings, Settings):
            settings = Settings.load(settings)
        llms = build_llms(settings.llm) if llm is None else {}
        build_models(settings, llm=llm, llms=llms)  # what is wrong shows before there is a folder
        chain = [embed_model] if embed_model is not None else build_chain(settings.embedding)
        library = Library(
            path, create=create, lock_timeout_seconds=settings.library.lock_timeout_seconds
        )
        try:
            chosen = choose_embedding(chain, held=library.vector_models()) if chain else None
            return cls(library, settings=settings, llm=llm, llms=llms, embedding=chosen)
        except BaseException:
            library.close()
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
        self._ledger.close()
        self._library.close()

    # --- documents in and out ---------------------------------------------------------------

    def add(
        self,
        sources: str | Path | Document | Sequence[str | Path | Document],
        *,
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add files, folders, web addresses, databases and LlamaIndex documents.

        What is there unchanged costs nothing; a document that changed replaces itself. One source
        that fails stops no other: it is a row of the report.

        Args:
            sources: paths; `http(s)://` addresses; SQLAlchemy URLs, of which the schema and each
                row become documents; LlamaIndex documents.
            metadata: what you say of these documents, for filters: `tags`, a `date` (ISO 8601),
                anything. None leaves what a document has, anything else replaces it.
            namespace: keeps documents apart: their ids begin with it, and a question can be
                confined to it.
            include: patterns as in `.gitignore`; of what lies in a folder only what one of them
                matches is taken.
            exclude: of what lies in a folder, what one of these matches is passed over.
            tables: patterns of table names; of a database only these are read, and what is held of
                others stays.
            progress: called as work goes on, with a stage, steps done and steps in all.

        Raises:
            LibraryBusy: another process went on writing for too long.
            LibraryUnusable: the disk is full; what was committed is kept.
            SourceError: a namespace or metadata that cannot be.
        """
        choice = chosen(include, exclude, tables, namespace, metadata)
        return self._documents.add(listed(sources), choice=choice, progress=progress or silent)

    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add one text under an id of yours; the same id later replaces it."""
        return self._documents.add_text(
            text,
            document_id=document_id,
            title=title,
            choice=chosen((), (), (), namespace, metadata),
            progress=progress or silent,
        )

    def estimate(
        self,
        sources: str | Path | Document | Sequence[str | Path | Document],
        *,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Estimate:
        """What `add` would ask of language models, and what that would cost; nothing is asked.

        Documents are read and cut, not stored. Prices are those of `budget.prices`.
        """
        return self._documents.estimate(
            listed(sources),
            choice=chosen(include, exclude, tables, namespace, None),
            forecast=self._forecasts.of,
            progress=progress or silent,
        )

    def sync(
        self,
        sources: str | Path | Sequence[str | Path],
        *,
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> IngestReport:
        """As `add`, and documents whose file is gone from these folders are removed.

        Also those that the patterns now leave out. A folder in which nothing readable is left is
        a failure, and nothing of it is removed: its disk may be away. With `dry_run` nothing is
        read or written: the report says what would be done to files.
        """
        return self._documents.sync(
            listed(sources),
            choice=chosen(include, exclude, tables, namespace, metadata),
            dry_run=dry_run,
            progress=progress or silent,
        )

    def remove(
        self,
        document_ids: str | Sequence[str],
        *,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Remove documents by id, with all that only they said.

        The id of an archive, a message, an address or a database removes all that came of it.
        """
        wanted = [document_ids] if isinstance(document_ids, str) else list(document_ids)
        wish = Wish(namespace=namespace)
        return self._documents.remove(
            [wish.id_of(name) for name in wanted], progress=progress or silent
        )

    # --- questions --------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        *,
        mode: str = "auto",
        filters: Filters = None,
        namespace: str | None = None,
    ) -> Answer:
        """Answer a question, every claim cited; `mode` is auto, local or global.

        Args:
            question: in words.
            mode: which way it takes.
            filters: which documents may be seen: LlamaIndex's `MetadataFilters`, a mapping whose
                conditions must all hold, or conditions such as `["date>=2024-01-01", "tags=red"]`.
            namespace: only documents of this one; None means all.

        Raises:
            QuestionError: an empty question, one that is too long, or an unknown mode.
            ModelError: the language model could not do its part.
        """
        question = checked(question)
        within = document_filter(filters, namespace=namespace)
        self._indexer.catch_up()
        return self._questions.ask(question, mode=mode, within=within)

    def retrieve(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        filters: Filters = None,
        namespace: str | None = None,
    ) -> list[Passage]:
        """The passages that a question finds, best first; `filters` and `namespace` as in `ask`."""
        question = checked(question)
        within = document_filter(filters, namespace=namespace)
        self._indexer.catch_up()
        return self._questions.retrieve(
            question, top_k=top_k, min_relevance=min_relevance, within=within
        )

    # --- looking in -------------------------------------------------------------------------

    def documents(self) -> list[DocumentRow]:
        """Every document without its text, sorted by id."""
        return list(self._library.documents().values())

    def document_text(self, document_id: str) -> str:
        """The stored text that a citation's offsets refer to."""
        return self._library.document_text(document_id)

    def stats(self) -> dict[str, Any]:
        """How much there is of everything."""
        return held(self._library) | {"up_to_date": self._indexer.is_fresh()}

    def usage(self) -> list[StageUsage]:
        """What language models have cost in this library, by day, stage and model."""
        return self._ledger.rows()

    def pending(self) -> list[PendingChunk]:
        """The chunks that a language model has not read, and why; the next `add` tries again."""
        return pending(self._library)

    def problems(self) -> list[str]:
        """What is wrong with the library, one line each; empty when it is sound."""
        return problems(self._library)

    def repair(self) -> list[str]:
        """Bring everything that is derived up to the library, which is the truth; what was done.

        Entities, communities and reports are derived where they are not up to date; a vector store
        outside is compared with the library and every vector in it written anew.
        """
        return repaired(self._indexer, self._vectors)

    def export_graph(self, target: str | Path, *, max_nodes: int = 2000) -> Path:
        """Write the graph: `.html` (one offline page), `.graphml` or `.json`, by the suffix."""
        from .index.exports import write_graph

        self._indexer.catch_up()
        with graph_errors():
            return write_graph(self._graph.export(), Path(target), max_nodes=max_nodes)

    @property
    def entities(self) -> Curation:
        """What the library takes for one thing, and your own word on it."""
        return Curation(self._library, derive=self._indexer.derived)

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
        """The router over the local and the global engine."""
        self._indexer.catch_up()
        return self._router

    def as_retriever(
        self, *, filters: Filters = None, namespace: str | None = None
    ) -> LocalRetriever:
        """Local hybrid retrieval as a LlamaIndex retriever; with filters over those documents."""
        self._indexer.catch_up()
        within = document_filter(filters, namespace=namespace)
        return self._retriever if within is None else self._retriever.only(within)

    def as_tool(self) -> QueryEngineTool:
        """The router as a tool for a LlamaIndex agent."""
        from llama_index.core.tools import QueryEngineTool

        return QueryEngineTool.from_defaults(
            self.as_query_engine(),
            name="knowledge",
            description="Answers questions about the documents of this library, with citations.",
        )
