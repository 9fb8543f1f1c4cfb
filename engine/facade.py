"""`KnowledgeEngine`: everything the product does, in one object over one library.

It keeps no knowledge of its own: which part gets what stands in `assemble`, how documents are cut,
indexed, found and answered in the packages beside this module.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .answer.router import answer_of
from .assemble import assemble
from .errors import LibraryBusy, LibraryUnusable, QuestionError
from .index.door import KnowledgeGraphIndex, graph_errors
from .index.indexer import Work
from .index.library import DocumentRow, Library
from .index.vector import WindowedVectorIndex
from .ingest.intake import Held, Intake
from .ingest.sources import find_sources
from .models.build import build_embedding, build_llm
from .retrieve.local import LocalRetriever
from .settings import Settings
from .types import Answer, IngestReport, Passage, SourceFailure, SourceText

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.query_engine import RouterQueryEngine
    from llama_index.core.schema import Document
    from llama_index.core.tools import QueryEngineTool

Progress = Callable[[str, int, int], None]
MAX_QUESTION_CHARACTERS = 4_000
NOTHING_TO_READ = "holds no file that can be read (.md .txt .html .pdf …): check the path"


_log = logging.getLogger("loregraph")


def _silent(_stage: str, _done: int, _total: int) -> None: ...


class KnowledgeEngine:
    """An open library with everything that can be done with it; a context manager.

    Args:
        library: the truth.
        settings: all sections.
        llm: writes answers; None means extractive answers.
        embed_model: embeds chunks and questions; None means keyword and graph only.
    """

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings,
        llm: LLM | None,
        embed_model: BaseEmbedding | None,
    ) -> None:
        self._library = library
        self._settings = settings
        parts = assemble(library, settings=settings, llm=llm, embed_model=embed_model)
        self._graph = parts.graph
        self._vectors = parts.vectors
        self._keyword = parts.keyword
        self._indexer = parts.indexer
        self._retriever = parts.retriever
        self._local = parts.local
        self._global = parts.overview
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
            llm: any LlamaIndex LLM, instead of the one that settings name.
            embed_model: any LlamaIndex embedding, instead of the one that settings name.
            create: whether to make a library where there is none.

        Raises:
            SettingsError: a profile that cannot be used.
            LibraryError: no library, not a library, or a newer one.
            ModelUnavailable: a model that settings name is not there.
        """
        if not isinstance(settings, Settings):
            settings = Settings.load(settings)
        llm = llm or build_llm(settings.llm)
        embed_model = embed_model or build_embedding(settings.embedding)
        library = Library(
            path, create=create, lock_timeout_seconds=settings.library.lock_timeout_seconds
        )
        return cls(library, settings=settings, llm=llm, embed_model=embed_model)

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
        """Close the library."""
        self._library.close()

    # --- documents in and out ---------------------------------------------------------------

    def add(
        self,
        sources: str | Path | Document | Sequence[str | Path | Document],
        *,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add files, folders and LlamaIndex documents; what is there unchanged costs nothing.

        A document that changed replaces itself. One source that fails stops no other: it is a row
        of the report. `progress(stage, done, total)` is called as work goes on.

        Raises:
            LibraryBusy: another process went on writing for too long.
            LibraryUnusable: the disk is full; what was committed is kept.
        """
        given: list[str | Path | Document] = []
        if isinstance(sources, Sequence) and not isinstance(sources, str):
            given += sources
        else:
            given.append(sources)
        paths = [source for source in given if isinstance(source, (str, Path))]
        documents = [source for source in given if not isinstance(source, (str, Path))]
        found = find_sources(paths, exclude=[self._library.path])
        show = progress or _silent
        failures = list(found.failures)
        if not found.sources and not documents and not failures:
            named = ", ".join(map(str, paths)) or "nothing"
            failures.append(SourceFailure(source=named, reason=NOTHING_TO_READ))

        def feed(intake: Intake) -> Iterator[SourceText]:
            count = len(found.sources)
            yield from intake.files(found.sources, progress=lambda done: show("read", done, count))
            show("read", count, count)
            yield from intake.documents(documents)

        return self._put(feed, failures=failures, notes=found.notes, progress=show)

    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add one text under an id of yours; the same id later replaces it."""
        return self._put(
            lambda intake: intake.text(text, document_id=document_id, title=title),
            failures=[],
            notes=[],
            progress=progress or _silent,
        )

    def remove(
        self, document_ids: str | Sequence[str], *, progress: Progress | None = None
    ) -> IngestReport:
        """Remove documents by id, with all that only they said."""
        wanted = [document_ids] if isinstance(document_ids, str) else list(document_ids)
        work, removed = Work(), []
        failures: list[SourceFailure] = []
        with self._library.writer():
            known = self._library.documents()
            for document_id in sorted(set(wanted)):
                if document_id not in known:
                    reason = "is not in the library: `loregraph stats --documents` lists the ids"
                    failures.append(SourceFailure(source=document_id, reason=reason))
                    continue
                self._indexer.remove(document_id)
                removed.append(document_id)
            self._finish(work, progress or _silent)
        return IngestReport(
            removed=tuple(removed), failed=tuple(failures), seconds=dict(work.seconds)
        )

    def _put(
        self,
        feed: Callable[[Intake], Iterable[SourceText]],
        *,
        failures: Sequence[SourceFailure],
        notes: Sequence[str],
        progress: Progress,
    ) -> IngestReport:
        work = Work()
        with self._library.writer():
            held = {
                row.id: Held(sha256=row.sha256, recipe=row.recipe, title=row.title)
                for row in self.documents()
            }
            intake = Intake(settings=self._settings.ingest, held=held, recipe=self._indexer.recipe)
            done = set(self._indexer.put(feed(intake), work=work, progress=progress))
            self._finish(work, progress)
        failed = [*failures, *intake.failures]
        return IngestReport(
            added=tuple(sorted(done - held.keys())),
            changed=tuple(sorted(done & held.keys())),
            unchanged=tuple(sorted(intake.unchanged)),
            failed=tuple(sorted(failed, key=lambda failure: failure.source)),
            notes=tuple(notes),
            chunks=work.chunks,
            embedded=work.embedded,
            extracted=work.extracted,
            seconds={stage: round(value, 3) for stage, value in sorted(work.seconds.items())},
        )

    def _finish(self, work: Work, progress: Progress) -> None:
        self._indexer.derive(work=work, progress=progress)

    # --- questions --------------------------------------------------------------------------

    def ask(self, question: str, *, mode: str = "auto") -> Answer:
        """Answer a question, every claim cited; `mode` is auto, local or global.

        Raises:
            QuestionError: an empty question, one that is too long, or an unknown mode.
            ModelError: the language model could not do its part.
        """
        question = _checked(question)
        self._refresh()
        started = time.perf_counter()
        match mode:
            case "auto":
                response = self._router.query(question)
                return answer_of(response, seconds=time.perf_counter() - started)
            case "local":
                return self._local.answer(question)
            case "global":
                return self._global.answer(question)
            case _:
                raise QuestionError(f"unknown mode {mode!r}: auto, local or global")

    def retrieve(
        self, question: str, *, top_k: int | None = None, min_relevance: float = 0.0
    ) -> list[Passage]:
        """The passages that a question finds, best first."""
        self._refresh()
        found = self._retriever.search(_checked(question), top_k=top_k, min_relevance=min_relevance)
        return found.passages

    def _refresh(self) -> None:
        """Resume a derivation that a killed run left undone.

        Where another process writes (it will derive when it is done) or the disk refuses, the
        question is answered without: what is dirty is not read.
        """
        if self._indexer.is_fresh():
            return
        try:
            with self._library.writer(timeout_seconds=0):
                self._finish(Work(), _silent)
        except LibraryBusy:
            _log.info("another process is writing: answered from what is derived so far")
        except LibraryUnusable as error:
            _log.warning("answered from what is derived so far: %s", error)

    # --- looking in -------------------------------------------------------------------------

    def documents(self) -> list[DocumentRow]:
        """Every document without its text, sorted by id."""
        return list(self._library.documents().values())

    def document_text(self, document_id: str) -> str:
        """The stored text that a citation's offsets refer to."""
        return self._library.document_text(document_id)

    def stats(self) -> dict[str, Any]:
        """How much there is of everything."""
        counts = self._library.counts()
        names = (
            "documents",
            "chunks",
            "vectors",
            "mentions",
            "statements",
            "entities",
            "relations",
            "communities",
            "reports",
        )
        return {name: counts[name] for name in names} | {
            "size_bytes": self._library.size_bytes(),
            "up_to_date": self._indexer.is_fresh(),
        }

    def problems(self) -> list[str]:
        """What is wrong with the library, one line each; empty when it is sound."""
        return self._library.problems()

    def export_graph(self, target: str | Path, *, max_nodes: int = 2000) -> Path:
        """Write the graph: `.html` (one offline page), `.graphml` or `.json`, by the suffix."""
        from .index.exports import write_graph

        self._refresh()
        with graph_errors():
            return write_graph(self._graph.export(), Path(target), max_nodes=max_nodes)

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
        self._refresh()
        return self._router

    def as_retriever(self) -> LocalRetriever:
        """Local hybrid retrieval as a LlamaIndex retriever."""
        self._refresh()
        return self._retriever

    def as_tool(self) -> QueryEngineTool:
        """The router as a tool for a LlamaIndex agent."""
        from llama_index.core.tools import QueryEngineTool

        return QueryEngineTool.from_defaults(
            self.as_query_engine(),
            name="knowledge",
            description="Answers questions about the documents of this library, with citations.",
        )


def _checked(question: str) -> str:
    stripped = question.strip()
    if not stripped:
        raise QuestionError("the question is empty: ask something in words")
    if len(stripped) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"the question has {len(stripped):,} characters, at most "
            f"{MAX_QUESTION_CHARACTERS:,} are read: shorten it"
        )
    return stripped
