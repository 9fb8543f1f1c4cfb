"""Query pipeline: cache, rewrite, route, answer.

Falls back to BM25 without embeddings.

Knows which way a question can take; how each way works is `answer`'s and `retrieve`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from .answering.global_search.context import Effort
from .answering.synthesis import replay_events
from .cache import AnswerCache, CacheRequest, SingleFlight
from .components import Components
from .embeddings.wrappers import EmbeddingUnavailable
from .errors import QuestionError
from .events import (
    AnswerEvent,
    CitationsEvent,
    Event,
    Listener,
    StepEvent,
    UsageEvent,
    compose_listeners,
    null_listener,
)
from .ingest.document import sanitise_text
from .llm.budget import Budget, track_usage
from .observability import Telemetry, query, watched
from .routing.router import RoutedQuery, answer_of, both_ways
from .storage.schema import DocumentFilter
from .types import Answer, Passage, TraceStep, Turn

MAX_QUESTION_CHARACTERS = 4_000
_log = logging.getLogger("loregraph")


class QueryPipeline:
    """Asks the parts of one library.

    Args:
        parts: those of the library as it is set up.
        budget: what language models may cost; each question is a run.
        without_vectors: makes the parts that answer by words and links alone.
        kept: answers given before; None keeps none.
        telemetry: what questions are told to; None tells nobody.
    """

    def __init__(
        self,
        parts: Components,
        *,
        budget: Budget,
        without_vectors: Callable[[], Components],
        kept: AnswerCache | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._telemetry = telemetry
        self._parts = parts
        self._budget = budget
        self._make_without_vectors = without_vectors
        self._without_vectors: Components | None = None
        self._kept = kept
        self._flights = SingleFlight()

    def ask(
        self,
        question: str,
        *,
        mode: str,
        effort: Effort | None = None,
        within: DocumentFilter | None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
    ) -> Answer:
        """Answer a question; fall back to retrieval without vectors if embedding fails.

        `effort` is that of an overview (None: as the parts are set up), `turns` what was said
        before, oldest first. `on_event` hears all events of the answer, the
        whole of it last.
        """
        with (
            query(question) as answered,
            watched(self._telemetry, "ask", question, on_event) as heard,
        ):
            asked = CacheRequest(
                question=question, turns=turns, mode=mode, effort=effort, within=within
            )
            answer = self._kept_or_made(asked, on_event=heard)
            checked_text = CitationsEvent(
                text=answer.text,
                citations=answer.citations,
                abstained=answer.abstained,
                claims=answer.claims,
            )
            for event in (checked_text, UsageEvent(usage=answer.usage), AnswerEvent(answer=answer)):
                heard(event)
            answered(answer)
        return answer

    def _kept_or_made(self, asked: CacheRequest, *, on_event: Listener) -> Answer:
        if self._kept is None:
            return self._made(asked, on_event=on_event)
        place = self._kept.key_of(asked)
        with self._flights.first(place.key):  # the same question at once is answered once
            answer = self._kept.find(place)
            if answer is None:
                answer = self._made(asked, on_event=on_event)
                self._kept.keep(place, answer)
                return answer
        replay_events(answer, on_event)
        return answer

    def _made(self, asked: CacheRequest, *, on_event: Listener) -> Answer:
        told: list[TraceStep] = []

        def noting(event: Event) -> None:
            if isinstance(event, StepEvent):
                told.append(event.step)
            on_event(event)

        self._budget.start_run()
        heard = compose_listeners(on_event, noting, always=True)
        with track_usage() as spent:
            following = self._parts.follow_ups.read(
                asked.question, asked.turns, within=asked.within, on_event=heard
            )
            alone = replace(asked, question=following.question, turns=following.turns)
            try:
                answer = _answered(self._parts, alone, on_event=heard)
            except EmbeddingUnavailable as error:
                parts = self._instead(error)
                said = f"without vectors: {error}"
                step = TraceStep(stage="embed", detail=said, seconds=0.0, figures={"failed": 1.0})
                heard(StepEvent(step=step))
                answer = _answered(parts, alone, on_event=heard)
        # The trace is what was told, in the order in which it happened.
        return replace(
            answer,
            question=asked.question,
            understood=alone.question if alone.question != asked.question else "",
            trace=tuple(told),
            usage=spent.total,
        )

    def library_changed(self) -> None:
        """Clear cached answers after the library changed."""
        if self._kept is not None:
            self._kept.clear()

    def close(self) -> None:
        """Nothing is asked any more."""
        if self._kept is not None:
            self._kept.close()
        if self._telemetry is not None:
            self._telemetry.close()

    def retrieve(
        self,
        question: str,
        *,
        top_k: int | None,
        min_relevance: float,
        within: DocumentFilter | None,
    ) -> list[Passage]:
        """Retrieve passages; falls back to BM25 and the walk if embedding fails."""

        def search(parts: Components, on_event: Listener) -> list[Passage]:
            found = parts.retriever.search(
                question, top_k=top_k, min_relevance=min_relevance, within=within, on_event=on_event
            )
            return found.passages

        self._budget.start_run()
        with watched(self._telemetry, "retrieve", question, null_listener) as heard:
            try:
                return search(self._parts, heard)
            except EmbeddingUnavailable as error:
                return search(self._instead(error), heard)

    def _instead(self, error: EmbeddingUnavailable) -> Components:
        _log.warning("answered without vectors: %s", error)
        if self._without_vectors is None:
            self._without_vectors = self._make_without_vectors()
        return self._without_vectors


def _answered(parts: Components, asked: CacheRequest, *, on_event: Listener) -> Answer:
    question, within, turns = asked.question, asked.within, asked.turns
    if asked.effort is not None:
        parts = parts.with_effort(asked.effort)
    match asked.mode:
        case "auto":
            routed = RoutedQuery(query_str=question, within=within, turns=turns, on_event=on_event)
            return answer_of(parts.router.query(routed), routed)
        case "local":
            return parts.local.answer(question, within=within, turns=turns, on_event=on_event)
        case "global":
            return parts.overview.answer(question, within=within, turns=turns, on_event=on_event)
        case "both":
            routed = RoutedQuery(query_str=question, within=within, turns=turns, on_event=on_event)
            return both_ways(parts.local.answer, parts.brief.answer, routed)
        case mode:
            raise QuestionError(f"unknown mode {mode!r}: auto, local, global or both")


def validate_effort(effort: str | None) -> Effort | None:
    """Validate the effort level; raises `QuestionError`."""
    match effort:
        case None | "low" | "medium" | "high":
            return effort
    raise QuestionError(f"unknown effort {effort!r}: low, medium or high")


def validate_question(question: str) -> str:
    """Strip and validate a question.

    Raises:
        QuestionError: it is empty, holds no letter and no digit, or is too long.
    """
    stripped = sanitise_text(
        question
    ).strip()  # a terminal of another encoding sends half characters
    if not any(map(str.isalnum, stripped)):
        raise QuestionError("the question is empty: ask something in words")
    if len(stripped) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"the question has {len(stripped):,} characters, at most "
            f"{MAX_QUESTION_CHARACTERS:,} are read: shorten it"
        )
    return stripped
