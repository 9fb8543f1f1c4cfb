"""Questions to one library: answered or searched, also while its embedding model is away.

Knows which way a question can take; how each way works is `answer`'s and `retrieve`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from .answer.overviews.plan import Effort
from .answer.routing.router import NarrowedQuestion, answer_of, both_ways
from .answer.spoken import retell
from .assemble import Parts
from .errors import QuestionError
from .events import (
    AnswerEvent,
    CitationsEvent,
    Event,
    Listener,
    StepEvent,
    UsageEvent,
    heard_as,
    nobody,
)
from .index.filters import DocumentFilter
from .ingest.content import storable
from .kept.answers import Asked, KeptAnswers
from .kept.flights import Flights
from .models.budget import Budget
from .models.fallback import EmbeddingUnavailable
from .models.spending import spending
from .observe.llama_index import query
from .observe.telemetry import Telemetry, watched
from .types import Answer, Passage, TraceStep, Turn

MAX_QUESTION_CHARACTERS = 4_000
_log = logging.getLogger("loregraph")


class Questions:
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
        parts: Parts,
        *,
        budget: Budget,
        without_vectors: Callable[[], Parts],
        kept: KeptAnswers | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._telemetry = telemetry
        self._parts = parts
        self._budget = budget
        self._make_without_vectors = without_vectors
        self._without_vectors: Parts | None = None
        self._kept = kept
        self._flights = Flights()

    def ask(
        self,
        question: str,
        *,
        mode: str,
        effort: Effort | None = None,
        within: DocumentFilter | None,
        turns: tuple[Turn, ...] = (),
        tell: Listener = nobody,
    ) -> Answer:
        """The answer; where the embedding model is away, one without vectors that says so.

        `effort` is that of an overview (None: as the parts are set up), `turns` what was said
        before, oldest first. `tell` hears all events of the answer, the
        whole of it last.
        """
        with query(question) as answered, watched(self._telemetry, "ask", question, tell) as heard:
            asked = Asked(question=question, turns=turns, mode=mode, effort=effort, within=within)
            answer = self._kept_or_made(asked, tell=heard)
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

    def _kept_or_made(self, asked: Asked, *, tell: Listener) -> Answer:
        if self._kept is None:
            return self._made(asked, tell=tell)
        place = self._kept.place_of(asked)
        with self._flights.first(place.key):  # the same question at once is answered once
            answer = self._kept.find(place)
            if answer is None:
                answer = self._made(asked, tell=tell)
                self._kept.keep(place, answer)
                return answer
        retell(answer, tell)
        return answer

    def _made(self, asked: Asked, *, tell: Listener) -> Answer:
        told: list[TraceStep] = []

        def noting(event: Event) -> None:
            if isinstance(event, StepEvent):
                told.append(event.step)
            tell(event)

        self._budget.start_run()
        heard = heard_as(tell, noting, always=True)
        with spending() as spent:
            following = self._parts.follow_ups.read(
                asked.question, asked.turns, within=asked.within, tell=heard
            )
            alone = replace(asked, question=following.question, turns=following.turns)
            try:
                answer = _answered(self._parts, alone, tell=heard)
            except EmbeddingUnavailable as error:
                parts = self._instead(error)
                said = f"without vectors: {error}"
                step = TraceStep(stage="embed", detail=said, seconds=0.0, figures={"failed": 1.0})
                heard(StepEvent(step=step))
                answer = _answered(parts, alone, tell=heard)
        # The trace is what was told, in the order in which it happened.
        return replace(
            answer,
            question=asked.question,
            understood=alone.question if alone.question != asked.question else "",
            trace=tuple(told),
            usage=spent.total,
        )

    def library_changed(self) -> None:
        """What was kept of answers is not needed any more."""
        if self._kept is not None:
            self._kept.let_go()

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
        """The passages; where the embedding model is away, found by words and links."""

        def search(parts: Parts, tell: Listener) -> list[Passage]:
            found = parts.retriever.search(
                question, top_k=top_k, min_relevance=min_relevance, within=within, tell=tell
            )
            return found.passages

        self._budget.start_run()
        with watched(self._telemetry, "retrieve", question, nobody) as heard:
            try:
                return search(self._parts, heard)
            except EmbeddingUnavailable as error:
                return search(self._instead(error), heard)

    def _instead(self, error: EmbeddingUnavailable) -> Parts:
        _log.warning("answered without vectors: %s", error)
        if self._without_vectors is None:
            self._without_vectors = self._make_without_vectors()
        return self._without_vectors


def _answered(parts: Parts, asked: Asked, *, tell: Listener) -> Answer:
    question, within, turns = asked.question, asked.within, asked.turns
    if asked.effort is not None:
        parts = parts.with_effort(asked.effort)
    match asked.mode:
        case "auto":
            routed = NarrowedQuestion(query_str=question, within=within, turns=turns, tell=tell)
            return answer_of(parts.router.query(routed), routed)
        case "local":
            return parts.local.answer(question, within=within, turns=turns, tell=tell)
        case "global":
            return parts.overview.answer(question, within=within, turns=turns, tell=tell)
        case "both":
            routed = NarrowedQuestion(query_str=question, within=within, turns=turns, tell=tell)
            return both_ways(parts.local.answer, parts.brief.answer, routed)
        case mode:
            raise QuestionError(f"unknown mode {mode!r}: auto, local, global or both")


def checked_effort(effort: str | None) -> Effort | None:
    """The effort; `QuestionError` where there is none of that name."""
    match effort:
        case None | "low" | "medium" | "high":
            return effort
    raise QuestionError(f"unknown effort {effort!r}: low, medium or high")


def checked(question: str) -> str:
    """The question without space around it.

    Raises:
        QuestionError: it is empty, holds no letter and no digit, or is too long.
    """
    stripped = storable(question).strip()  # a terminal of another encoding sends half characters
    if not any(map(str.isalnum, stripped)):
        raise QuestionError("the question is empty: ask something in words")
    if len(stripped) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"the question has {len(stripped):,} characters, at most "
            f"{MAX_QUESTION_CHARACTERS:,} are read: shorten it"
        )
    return stripped
