"""Query methods: answers and passages, blocking, async or streamed.

All ways lead through one; how a question is answered is `questions`' business.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING

from .answer.talk.turns import parse_history
from .events import Event, Listener, null_listener
from .index.filters import document_filter
from .questions import QueryPipeline, validate_effort, validate_question
from .streaming import astreamed, awaited, streamed
from .types import Answer, History, Passage

if TYPE_CHECKING:
    from .index.filters import Filters, Namespaces


class Asking:
    """Query methods of an engine.

    Args:
        questions: who answers.
        ready: brings the library up to date before each question.
    """

    def __init__(self, questions: QueryPipeline, *, ready: Callable[[], object]) -> None:
        self._questions = questions
        self._ready = ready

    def ask(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
    ) -> Answer:
        """Answer a question, every claim cited; `mode` is auto, local, global or both.

        Args:
            question: in words.
            mode: which way it takes.
            effort: how much an overview may cost, low, medium or high; None as the settings say
                (`overview.effort`). What is answered from passages alone takes no notice of it.
            filters: which documents may be seen: LlamaIndex's `MetadataFilters`, a mapping whose
                conditions must all hold, or conditions such as `["date>=2024-01-01", "tags=red"]`.
            namespace: only documents of this one, or of these; None means all.
            history: what was asked and answered before, oldest first: earlier answers as they came,
                or a `Turn` each. "And when was he born?" is then understood, which
                `answer.understood` and the trace show; nothing of it is a source.

        Raises:
            QuestionError: an empty question, one that is too long, an unknown mode, or a filter
                that is no condition.
            ModelError: the language model could not do its part.
        """
        return self._asker(question, mode, effort, filters, namespace, history)(null_listener)

    async def aask(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
    ) -> Answer:
        """Answer like `ask` without blocking the event loop; cancelling stops the work."""
        asked = self._asker(question, mode, effort, filters, namespace, history)
        return await awaited(lambda: asked(null_listener))

    def stream(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
    ) -> Generator[Event]:
        """Answer like `ask`, yielding events (see `events`); the last one holds the answer.

        The work is done in a thread of its own, which is given up where the generator is closed.
        What `ask` raises comes out of it too, after the events before.
        """
        return streamed(self._asker(question, mode, effort, filters, namespace, history))

    def astream(
        self,
        question: str,
        *,
        mode: str = "auto",
        effort: str | None = None,
        filters: Filters = None,
        namespace: Namespaces = None,
        history: History = (),
    ) -> AsyncGenerator[Event]:
        """Stream like `stream` without blocking the event loop; cancelling stops the work."""
        return astreamed(self._asker(question, mode, effort, filters, namespace, history))

    def _asker(
        self,
        question: str,
        mode: str,
        effort: str | None,
        filters: Filters,
        namespace: Namespaces,
        history: History,
    ) -> Callable[[Listener], Answer]:
        """Answers, and tells how; what is wrong with the question shows when it is called."""

        def asked(on_event: Listener) -> Answer:
            said, turns = validate_question(question), parse_history(history)
            within, work = document_filter(filters, namespace=namespace), validate_effort(effort)
            self._ready()
            return self._questions.ask(
                said, mode=mode, effort=work, within=within, turns=turns, on_event=on_event
            )

        return asked

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
        self._ready()
        return self._questions.retrieve(
            question, top_k=top_k, min_relevance=min_relevance, within=within
        )

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
        return await awaited(
            lambda: self.retrieve(
                question,
                top_k=top_k,
                min_relevance=min_relevance,
                filters=filters,
                namespace=namespace,
            )
        )
