"""`KnowledgeEngine`: everything the product does, in one object over one library.

Methods check their arguments and hand over: documents to `pipeline`, questions to `query`. What is
built for a library, and from which settings, stands in `components`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..answering.extractive.likeness import likeness_reader
from ..arguments import accepts_query, checks_types
from ..components import Components
from ..concurrency import astream_from_thread, run_in_thread, stream_from_thread
from ..config import Settings
from ..conversation import parse_history
from ..embeddings.choice import EmbeddingChoice, choose_models, probe_error, skip_probe
from ..embeddings.cross_encoder import load_reader
from ..embeddings.question_encoder import load_question_encoder
from ..embeddings.tokenizer import load_tokeniser
from ..errors import LibraryError, QuestionError, SettingsError
from ..events import Event, Listener, Progress, null_listener
from ..memory.records import FOLDER, Memory
from ..observability import build_telemetry
from ..prompts import language_of
from ..providers.factory import build_chain
from ..providers.llm_clients import (
    Stage,
    build_llms,
    build_models,
    with_placeholder_keys,
    without_reranker,
)
from ..query import validate_effort, validate_question
from ..retrieval.retriever import Rescore
from ..storage.documents import (
    DocumentStore,
    check_library,
    library_counts,
    repair_library,
)
from ..storage.graph_api import graph_errors
from ..storage.graph_views import GraphViewCache
from ..storage.library import DocumentRow, Library, delete_if_empty
from ..storage.schema import document_filter
from ..storage.usage_log import UsageLog
from ..types import (
    Answer,
    History,
    Passage,
    StageUsage,
)
from .assembly import Assembly
from .documents import DocumentMethods
from .llamaindex import LlamaIndexMethods

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.chat_engine.types import BaseChatEngine
    from llama_index.core.llms import LLM, ChatMessage
    from llama_index.core.tools import FunctionTool

    from ..agent.web import WebSearch
    from ..embeddings.embedding_model import EmbeddingModel
    from ..evaluation.answers import AnswerReport, Judge
    from ..evaluation.gold import GoldQuestion
    from ..knowledge_graph.entities import EntityEditor
    from ..knowledge_graph.explorer import GraphExplorer
    from ..memory.service import MemoryService
    from ..storage.schema import Filters, Namespaces


_log = logging.getLogger("loregraph")

_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")


@contextmanager
def _closed_on_error(path: str | Path, **options: Any) -> Iterator[Library]:
    """Open the library of an engine; close it, and delete a new one, where the engine fails."""
    is_new = not Path(path).exists()
    library = Library(path, **options)
    try:
        yield library
    except BaseException:
        library.close()
        if is_new:
            delete_if_empty(Path(path))
        raise


def _choose_embedding(
    library: Library,
    chain: Sequence[EmbeddingModel],
    settings: Settings,
    *,
    environment: Mapping[str, str],
    asks_models: bool,
) -> EmbeddingChoice:
    """Return the first models of the chain that work; what was passed over is logged."""
    chosen = choose_models(
        chain,
        held=library.vector_models(),
        multilingual=settings.embedding.multilingual,
        holds_english=library.holds_english,
        reason_against=probe_error if asks_models else skip_probe,
        environment=environment,
    )
    for note in chosen.notes:
        _log.warning("%s", note)
    return chosen


class KnowledgeEngine(DocumentMethods, LlamaIndexMethods):
    """An open library with everything that can be done with it; a context manager.

    Args:
        library: the truth.
        settings: all sections.
        llm: one language model for all stages, or None.
        llms: otherwise each stage's; a stage without one does without.
        embedding: the models of chunks and questions; none means keyword and graph only.
    """

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings,
        llm: LLM | None,
        llms: Mapping[Stage, LLM],
        embedding: EmbeddingChoice,
        web_search: WebSearch | None = None,
    ) -> None:
        self._library = library
        self._settings = settings
        self._ledger = UsageLog(library, currency=settings.budget.currency)
        models = build_models(settings, llm=llm, llms=llms, ledger=self._ledger)
        telemetry = build_telemetry(settings.telemetry)
        assemble = Assembly(
            settings=settings,
            models=models,
            history=self._ledger.rows,
            reader=load_reader(settings.answer.reader),
            likeness=likeness_reader(load_question_encoder(settings.answer.reader)),
            web_search=web_search,
            telemetry=telemetry,
        )
        self._whole = assemble.reading(library, embedding)
        self._readings = assemble.readings_by_namespace(self._whole, embedding)
        self._telemetry = telemetry
        self._models = models
        self._embedding = embedding
        self._memory: MemoryService | None = None
        self._memory_lock = threading.Lock()
        self._watches_memory = False
        self.answer_model = models.answers
        """The client of the model that writes answers; None without one."""
        self.writes_answers = models.answers is not None
        """True where a language model writes answers."""

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
        if _ADDRESS.match(str(path)):
            raise LibraryError(f"library is not a folder: {str(path)!r}; give the path of a folder")
        if not isinstance(settings, Settings):
            settings = Settings.load(settings)
        environment: Mapping[str, str] = os.environ
        if not asks_models:
            environment = with_placeholder_keys(settings, environment)
            settings = without_reranker(settings)
        llms = build_llms(settings.llm, environment) if llm is None else {}
        build_models(settings, llm=llm, llms=llms)  # what is wrong shows before there is a folder
        wanted: list[EmbeddingModel] = [embed_model] if embed_model is not None else []
        chain = wanted or build_chain(settings.embedding, environment)
        timeout = settings.library.lock_timeout_seconds
        with _closed_on_error(path, create=create, lock_timeout_seconds=timeout) as library:
            chosen = _choose_embedding(
                library, chain, settings, environment=environment, asks_models=asks_models
            )
            return cls(
                library,
                settings=settings,
                llm=llm,
                llms=llms,
                embedding=chosen,
                web_search=web_search,
            )

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
        """Close the library, its memory, and the vector store where there is one."""
        if self._memory is not None:
            self._memory.close()
        self._readings.close()
        if self._telemetry is not None:
            self._telemetry.close()
        self._ledger.close()
        self._whole.close()

    @property
    def path(self) -> Path:
        """The library's folder."""
        return self._library.path

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    # --- questions ----------------------------------------------------------------------------

    @accepts_query
    def ask(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
        memory: Memory | None = None,
    ) -> Answer:
        """Answer a question, every claim cited; `mode` is auto, local, global, both or agent.

        Args:
            question: in words; `query=` is accepted for it.
            mode: which way it takes.
            effort: how much an overview may cost, low or medium; None as the settings say
                (`overview.effort`). What is answered from passages alone takes no notice of it.
            filters: which documents may be seen: LlamaIndex's `MetadataFilters`, a mapping whose
                conditions must all hold, or conditions such as `["date>=2024-01-01", "tags=red"]`.
            namespace: only documents of this one, or of these; None means all.
            history: what was asked and answered before, oldest first: earlier answers as they came,
                or a `Turn` each. "And when was he born?" is then understood, which
                `answer.rewritten_question` and the trace show; nothing of it is a source.
            memory: the user and session whose memory helps to understand the question, is searched
                as a list of its own (`answer.memory`, origin `memory`), and takes in the exchange.
                With it no answer is cached.

        Raises:
            QuestionError: an empty question, one that is too long, an unknown mode, or a filter
                that is no condition.
            ModelError: the language model could not do its part.
        """
        return self._asker(question, mode, effort, filters, namespace, history, memory)(
            null_listener
        )

    @accepts_query
    async def aask(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
        memory: Memory | None = None,
    ) -> Answer:
        """Answer like `ask` without blocking the event loop; cancelling stops the work."""
        asked = self._asker(question, mode, effort, filters, namespace, history, memory)
        return await run_in_thread(lambda: asked(null_listener))

    @accepts_query
    def stream(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
        memory: Memory | None = None,
    ) -> Generator[Event]:
        """Answer like `ask`, yielding events (see `events`); the last one holds the answer.

        The work is done in a thread of its own, which is given up where the generator is closed.
        What `ask` raises comes out of it too, after the events before.
        """
        return stream_from_thread(
            self._asker(question, mode, effort, filters, namespace, history, memory)
        )

    @accepts_query
    def astream(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
        memory: Memory | None = None,
    ) -> AsyncGenerator[Event]:
        """Stream like `stream` without blocking the event loop; cancelling stops the work."""
        return astream_from_thread(
            self._asker(question, mode, effort, filters, namespace, history, memory)
        )

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
        """Answers, and tells how; what is wrong with the question shows when it is called."""

        def asked(on_event: Listener) -> Answer:
            said, turns = validate_question(question), parse_history(history)
            within, work = document_filter(filters, namespace=namespace), validate_effort(effort)
            with self._readings.of(namespace) as reading:
                queries = reading.queries if adjust is None else reading.queries.adjusted(adjust)
                answer = partial(queries.answer, mode=mode, effort=work, within=within)
                if memory is None:
                    return answer(said, turns=turns, on_event=on_event)
                from ..memory.asking import ask_with_memory

                return ask_with_memory(
                    self.memory,
                    memory,
                    said,
                    turns=turns,
                    ask=lambda asks, before, heard, recall: answer(
                        asks, turns=before, on_event=heard, recall=recall
                    ),
                    known=lambda: self._document_frequency(namespace),
                    writes=self.writes_answers,
                    on_event=on_event,
                )

        return asked

    @accepts_query
    def retrieve(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> list[Passage]:
        """Return passages for a question, best first; `filters` and `namespace` as in `ask`."""
        question = validate_question(question)
        within = document_filter(filters, namespace=namespace)
        with self._readings.of(namespace) as reading:
            return reading.queries.retrieve(
                question, top_k=top_k, min_relevance=min_relevance, within=within
            )

    @accepts_query
    async def aretrieve(
        self,
        question: str,
        *,
        top_k: int | None = None,
        min_relevance: float = 0.0,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> list[Passage]:
        """Retrieve like `retrieve` without blocking the event loop.

        Cancelling stops the work.
        """
        return await run_in_thread(
            lambda: self.retrieve(
                question,
                top_k=top_k,
                min_relevance=min_relevance,
                filters=filters,
                namespace=namespace,
            )
        )

    # --- looking in -------------------------------------------------------------------------

    def documents(self) -> list[DocumentRow]:
        """Every document without its text, sorted by id."""
        return list(self._library.documents().values())

    @property
    def catalogue(self) -> DocumentStore:
        """The documents page by page, one by one, and windows of their text."""
        return DocumentStore(self._library)

    @checks_types
    def document_text(self, document_id: str) -> str:
        """Return the stored text that citation offsets refer to."""
        return self._library.document_text(document_id)

    def stats(self) -> dict[str, Any]:
        """Return counts of documents, chunks, vectors, entities and relations."""
        return library_counts(self._library) | {"up_to_date": self._whole.parts.is_fresh()}

    def usage(self) -> list[StageUsage]:
        """Return LLM usage of this library by day, stage and model."""
        return self._ledger.rows()

    def problems(self) -> list[str]:
        """Return the problems of the library, one line each; empty when it is sound."""
        return check_library(self._library)

    def repair(self) -> list[str]:
        """Rebuild everything derived from the library; return a line for each repair.

        Entities, communities and reports are derived as in a new library, and the file of the
        database is written anew; a vector store outside is compared with the library and every
        vector in it written anew.
        """
        return repair_library(self._library, self._whole.parts.indexer, self._whole.parts.spaces)

    @checks_types
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
        language: str = "",
    ) -> Path:
        """Export the graph by suffix.

        `.html` (offline page), `.svg`, `.png`, `.graphml`, `.json`.

        At most one of: `focus` (an entity's name or id) writes what is within `hops` relations of
        it; `community` (an id, a number in the listing, or a title) that community; `question` asks
        and writes what the answer rests on, with the answer. `filters` and `namespace` as for
        `ask`: nothing of other documents is in the file. Names are in `language` ("en", "zh") where
        they are known in it; by default in that of the question, else of most mentions.
        """
        from ..knowledge_graph.explorer import (
            export_suffix,
            select_subgraph,
            subgraph_of_answer,
            write_graph,
        )

        if sum((bool(focus), community is not None, bool(question))) > 1:
            raise SettingsError("choose one part of the graph: focus, community or question")
        path = Path(target)
        export_suffix(path)
        answer = self.ask(question, filters=filters, namespace=namespace) if question else None
        spoken = language or (language_of(question) if question else "")
        whole = self.graph.in_language(spoken).export(filters=filters, namespace=namespace)
        with graph_errors():
            if answer is not None:
                part = subgraph_of_answer(whole, answer)
            else:
                part = select_subgraph(whole, focus=focus, hops=hops, community=community)
            return write_graph(part, path, max_nodes=max_nodes)

    @property
    def memory(self) -> MemoryService:
        """Memory of users: sessions, facts, search, forgetting; apart from all documents."""
        with self._memory_lock:
            if self._memory is None:
                from ..memory.build import build_memory

                self._memory = build_memory(
                    self.path,
                    self._settings.memory,
                    open_library=self._conversations,
                    count=load_tokeniser().count,
                    client=self.answer_model,
                )
                if self._watches_memory:
                    self._memory.watch_idle()
            return self._memory

    def _document_frequency(self, namespace: Namespaces) -> Callable[[str], int]:
        """Return how many passages of the namespaces hold a token."""
        with self._readings.of(namespace) as reading:
            return reading.parts.keyword.document_frequency()

    def watch_memory(self) -> None:
        """Close idle sessions of memory in the background from now on; servers do."""
        self._watches_memory = True
        if self._memory is not None or (self.path / FOLDER).exists():
            self.memory.watch_idle()

    def _conversations(self, folder: Path) -> KnowledgeEngine:
        """Open the conversation library of a user, with this library's embedding models."""
        folder.parent.mkdir(exist_ok=True)
        from ..memory.build import conversation_settings

        settings = conversation_settings(self._settings)
        library = Library(
            folder, create=True, lock_timeout_seconds=settings.library.lock_timeout_seconds
        )
        engine = KnowledgeEngine(
            library, settings=settings, llm=None, llms={}, embedding=self._embedding
        )
        if library.vector_models() - self._embedding.identities:
            engine.reembed()
        return engine

    def rank(
        self, question: str, *, top_k: int, filters: Sequence[str], rescore: Rescore
    ) -> list[Passage]:
        """Return passages for a question by changed scores; for memory.

        Args:
            question: what is searched for.
            top_k: maximum passages.
            filters: as for `ask`.
            rescore: changes the fused scores of all passages.
        """
        within = document_filter(list(filters) or None)
        with self._readings.of(None) as reading:
            return reading.queries.retrieve(
                question, top_k=top_k, min_relevance=0.0, within=within, rescore=rescore
            )

    @property
    def graph(self) -> GraphExplorer:
        """Entities, what lies about them and between them, communities and their reports."""

        @contextmanager
        def readings(namespace: Namespaces) -> Iterator[tuple[Library, GraphViewCache]]:
            with self._readings.of(namespace) as reading:
                yield reading.library, reading.parts.graph_views

        from ..knowledge_graph.explorer import GraphExplorer

        return GraphExplorer(readings)

    @property
    def entities(self) -> EntityEditor:
        """Entity editor: inspect and override entity resolution."""
        from ..knowledge_graph.entities import EntityEditor

        return EntityEditor(self._library, derive=self._whole.parts.indexer.derived)

    def evaluate(
        self,
        questions: str | Path | Sequence[GoldQuestion],
        *,
        judge: Judge = "rules",
        mode: str = "auto",
        label: str = "as set",
        progress: Progress | None = None,
    ) -> AnswerReport:
        """Ask gold questions and measure the answers (see the guide on evaluation).

        Args:
            questions: gold questions, or the path of a file of them.
            judge: who judges claims: `rules`, the `model` that writes answers, or `both`.
            mode: as for `ask`.
            label: name of the run in reports.
            progress: called with a stage, questions done and questions in all.

        Raises:
            SourceError: no question, a file that is not usable, or gold of another library.
            SettingsError: a model is to judge and none is configured.
        """
        from ..evaluation.answers import evaluate_answers
        from ..evaluation.gold import read_gold

        if isinstance(questions, str | Path):
            questions = read_gold(Path(questions))
        return evaluate_answers(
            self, questions, judge=judge, mode=mode, label=label, progress=progress
        )

    # --- agents and chats -------------------------------------------------------------------

    def as_chat_engine(
        self,
        *,
        mode: str = "auto",
        filters: Filters = None,
        namespace: Namespaces = None,
        chat_mode: str = "best",
        chat_history: Sequence[ChatMessage] = (),
        memory: Memory | None = None,
        **others: object,
    ) -> BaseChatEngine:
        """Return a LlamaIndex chat engine with a history of its own.

        Args:
            mode: which way questions take: auto, local, global or both.
            filters: as for `ask`.
            namespace: as for `ask`.
            chat_mode: one of LlamaIndex's that condense a follow-up and answer from what is found
                (best, context, condense_question, condense_plus_context): all mean the same here.
            chat_history: what was said before, oldest first.
            memory: as for `ask`.
            others: LlamaIndex's further keywords; each is refused with what to use instead.

        Raises:
            QuestionError: another `chat_mode`.
            TypeError: a keyword that has no place here.
        """
        from ..tools.llamaindex import CHAT_MODES, KnowledgeChatEngine, refuse_keywords

        if memory is not None and not isinstance(memory, Memory):
            others["memory"] = memory
        refuse_keywords("as_chat_engine", others)
        if chat_mode not in CHAT_MODES:
            names = ", ".join(sorted(CHAT_MODES))
            raise QuestionError(
                f"chat_mode: {chat_mode!r} does not answer from the library; choose {names}, "
                "or give `tools()` to an agent"
            )
        return KnowledgeChatEngine(
            self,
            mode=mode,
            filters=filters,
            namespace=namespace,
            chat_history=chat_history,
            memory=memory,
        )

    def tools(
        self,
        *,
        read_only: bool = True,
        namespace: str | None = None,
        folders: Sequence[str | Path] = (),
        user: str = "",
    ) -> list[FunctionTool]:
        """Return tools for a LlamaIndex agent, as offered by `loregraph mcp`.

        Args:
            read_only: leave out those that add and remove documents.
            namespace: all that the tools may see and change; None is everything.
            folders: where files may be added from.
            user: whose memory `recall`, `remember` and `forget` are about; empty leaves them out.
        """
        from ..tools.llamaindex import llama_tools

        return llama_tools(
            self, read_only=read_only, namespace=namespace, folders=folders, user=user
        )
