"""Query pipeline of one library: from a question to an answer with checked citations.

`QueryPipeline.answer` runs these steps, in this order:

    look up   the answer given before to the same question        cache
    rewrite   a follow-up into a question that stands alone       conversation
    route     to local, global or both                            routing.router
    retrieve  passages (local) or reports (global)                retrieval.retriever,
                                                                  answering.global_search
    pack      what was retrieved into the model's window          answering.packing
    answer    extract sentences, or write with a language model   answering.extractive,
                                                                  answering.synthesis
    verify    each claim against its citations                    verification.pipeline
    store     the answer in the cache                             cache

Retrieve, pack, answer and verify are the steps of `answering.answerer` (local) and of
`answering.global_search.search` (global). Where the question cannot be embedded, routing
and these steps run once more without vectors, over BM25 and the graph walk alone. `overview` is the
global answerer, `brief` the same with low effort, for the global half of a question for both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

from .agent.runner import Recall
from .answering.extractive.question_type import spelled_out
from .answering.global_search.context import Effort
from .answering.nearest import NEAREST, apart, nearest_passages
from .answering.synthesis import replay_events
from .cache import AnswerCache, CacheKey, CacheRequest, SingleFlight
from .components import Components
from .embeddings.wrappers import EmbeddingUnavailable
from .errors import QuestionError
from .events import Listener, StepEvent, closing_events, null_listener, record_steps
from .ingest.document import sanitise_text
from .llm.budget import Budget, track_usage
from .llm.client import private_replies
from .observability import Telemetry, query_span, with_telemetry
from .retrieval.retriever import Rescore
from .routing.router import RoutedQuery, both_ways, with_route
from .storage.schema import DocumentFilter
from .types import Answer, Citation, NearestPassage, Passage, Route, TraceStep, Turn

MAX_QUESTION_CHARACTERS = 4_000
TWO_STEPS = "one part of the question has to be answered before the other"
_log = logging.getLogger("loregraph")


class QueryPipeline:
    """Answers questions to one library.

    Args:
        components: those of the library as it is set up.
        budget: what language models may cost; each question is a run.
        without_vectors: builds the components that answer by words and links alone.
        cache: answers given before; None caches none.
        telemetry: what records questions; None records none.
    """

    def __init__(
        self,
        components: Components,
        *,
        budget: Budget,
        without_vectors: Callable[[], Components],
        cache: AnswerCache | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._telemetry = telemetry
        self._components = components
        self._budget = budget
        self._build_without_vectors = without_vectors
        self._without_vectors: Components | None = None
        self._cache = cache
        self._flights = SingleFlight()
        self._recall: Recall | None = None

    def answer(
        self,
        question: str,
        *,
        mode: str,
        effort: Effort | None = None,
        within: DocumentFilter | None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
        recall: Recall | None = None,
    ) -> Answer:
        """Answer a question; fall back to retrieval without vectors if embedding fails.

        `effort` is that of an overview (None: as the components are set up), `turns` what was said
        before, oldest first. `on_event` hears all events of the answer, the whole of it last.
        `recall` searches the user's memory: nothing of such an answer is cached.
        """
        if recall is not None:
            pipeline = copy(self)
            pipeline._cache, pipeline._recall = None, recall
            with private_replies():
                return pipeline.answer(
                    question,
                    mode=mode,
                    effort=effort,
                    within=within,
                    turns=turns,
                    on_event=on_event,
                )
        request = CacheRequest(
            question=question, turns=turns, mode=mode, effort=effort, within=within
        )
        with (
            query_span(question) as answered,
            with_telemetry(self._telemetry, "ask", question, on_event) as listener,
        ):
            with self._cache_key(request) as key:
                cached = self._look_up(key)
                if cached is None:
                    answer = self._answer_anew(request, listener)
                    self._store(key, answer)
            if cached is not None:
                answer = cached
                replay_events(answer, listener)
            for step in answer.trace:
                _log.info("%s: %s (%.0f ms)", step.stage, step.detail, 1000 * step.seconds)
            for event in closing_events(answer):
                listener(event)
            answered(answer)
        return answer

    def retrieve(
        self,
        question: str,
        *,
        top_k: int | None,
        min_relevance: float,
        within: DocumentFilter | None,
        rescore: Rescore | None = None,
    ) -> list[Passage]:
        """Retrieve passages; fall back to BM25 and the walk if embedding fails."""

        def search(components: Components, on_event: Listener) -> list[Passage]:
            found = components.retriever.search(
                question,
                top_k=top_k,
                min_relevance=min_relevance,
                within=within,
                rescore=rescore,
                on_event=on_event,
            )
            return found.passages

        self._budget.start_run()
        with with_telemetry(self._telemetry, "retrieve", question, null_listener) as listener:
            try:
                return search(self._components, listener)
            except EmbeddingUnavailable as error:
                return search(self._fall_back(error), listener)

    def adjusted(self, adjust: Callable[[Components], Components]) -> QueryPipeline:
        """Return the same pipeline with adjusted components, and without a cache of answers."""
        other = copy(self)
        other._cache = None
        other._components = adjust(self._components)
        other._without_vectors = None
        other._build_without_vectors = lambda: adjust(self._build_without_vectors())
        return other

    def close(self) -> None:
        """Close the cache; no question comes any more."""
        if self._cache is not None:
            self._cache.close()

    # --- steps ------------------------------------------------------------------------------

    @contextmanager
    def _cache_key(self, request: CacheRequest) -> Iterator[CacheKey | None]:
        """Yield the key of a request; the same question at once is answered once."""
        if self._cache is None:
            yield None
            return
        key = self._cache.key_of(request)
        with self._flights.first(key.key):
            yield key

    def _look_up(self, key: CacheKey | None) -> Answer | None:
        """Return the cached answer, if there is one."""
        return self._cache.find(key) if self._cache is not None and key is not None else None

    def _answer_anew(self, request: CacheRequest, on_event: Listener) -> Answer:
        """Rewrite the question, route it and answer it; add the trace and what it cost."""
        self._budget.start_run()
        steps: list[TraceStep] = []
        listener = record_steps(on_event, steps)
        with track_usage() as usage:
            rewritten = self._rewrite(request, listener)
            asked = replace(rewritten, question=spelled_out(rewritten.question))
            try:
                answer = _answer_or_nearest(self._components, asked, listener, self._recall)
            except EmbeddingUnavailable as error:
                components = self._fall_back(error)
                listener(StepEvent(step=_fallback_step(error)))
                answer = _answer_or_nearest(components, asked, listener, self._recall)
        is_rewritten = rewritten.question != request.question
        return replace(
            answer,
            question=request.question,
            rewritten_question=rewritten.question if is_rewritten else "",
            trace=tuple(steps),
            usage=usage.total,
        )

    def _rewrite(self, request: CacheRequest, on_event: Listener) -> CacheRequest:
        """Return the request with a question that stands alone, and the turns that matter to it."""
        following = self._components.follow_ups.read(
            request.question, request.turns, within=request.within, on_event=on_event
        )
        return replace(request, question=following.question, turns=following.turns)

    def _store(self, key: CacheKey | None, answer: Answer) -> None:
        """Store an answer in the cache."""
        if self._cache is not None and key is not None:
            self._cache.keep(key, answer)

    def _fall_back(self, error: EmbeddingUnavailable) -> Components:
        """Return the components without vectors, built on first use."""
        _log.warning("answered without vectors: %s", error)
        if self._without_vectors is None:
            self._without_vectors = self._build_without_vectors()
        return self._without_vectors


def _answer_or_nearest(
    components: Components, request: CacheRequest, on_event: Listener, recall: Recall | None
) -> Answer:
    """Answer a question; where that abstains, add the passages nearest to it."""
    answer = _route_and_answer(components, request, on_event, recall)
    if not answer.abstained:
        return answer
    retriever, within = components.retriever, request.within
    passages = answer.passages or retriever.search(request.question, within=within).passages
    nearest = nearest_passages(request.question, passages, weight=retriever.idf(within))
    shown: list[Citation | NearestPassage] = [*answer.citations, *answer.nearest]
    return replace(answer, nearest=(*answer.nearest, *apart(nearest, shown))[:NEAREST])


def _route_and_answer(
    components: Components, request: CacheRequest, on_event: Listener, recall: Recall | None
) -> Answer:
    """Route a question to the local or the global answerer, or to both, and answer it."""
    question, within, turns = request.question, request.within, request.turns
    if request.effort is not None:
        components = components.with_effort(request.effort)
    local, overview = components.local, components.overview
    match request.mode:
        case "auto":
            routed = RoutedQuery(question=question, within=within, turns=turns, on_event=on_event)
            if components.agent.suits(question):
                routed.go(Route(mode="agent", reason=TWO_STEPS, confidence=0.9))
                stepwise = components.agent.answer(
                    question, within=within, turns=turns, on_event=on_event, memory=recall
                )
                return with_route(stepwise, routed)
            return components.router.answer(routed)
        case "local":
            return local.answer(question, within=within, turns=turns, on_event=on_event)
        case "global":
            return overview.answer(question, within=within, turns=turns, on_event=on_event)
        case "both":
            routed = RoutedQuery(question=question, within=within, turns=turns, on_event=on_event)
            return both_ways(local.answer, components.brief.answer, routed)
        case "agent":
            return components.agent.answer(
                question, within=within, turns=turns, on_event=on_event, memory=recall
            )
        case mode:
            raise QuestionError(
                f"unknown mode: {mode!r}; choose auto, local, global, both or agent"
            )


def _fallback_step(error: EmbeddingUnavailable) -> TraceStep:
    detail = f"without vectors: {error}"
    return TraceStep(stage="embed", detail=detail, seconds=0.0, figures={"failed": 1.0})


def validate_effort(effort: str | None) -> Effort | None:
    """Validate the effort level; raises `QuestionError`."""
    match effort:
        case None | "low" | "medium":
            return effort
    raise QuestionError(f"unknown effort: {effort!r}; choose low or medium")


def validate_question(question: str) -> str:
    """Strip and validate a question.

    Raises:
        QuestionError: it is no text, empty, without letter and digit, or too long.
    """
    if not isinstance(question, str):
        raise QuestionError(f"question is not text: {type(question).__name__}; give a string")
    stripped = sanitise_text(
        question
    ).strip()  # a terminal of another encoding sends half characters
    if not any(map(str.isalnum, stripped)):
        raise QuestionError("question is empty; ask something in words")
    if len(stripped) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"question too long: {len(stripped):,} characters; use at most "
            f"{MAX_QUESTION_CHARACTERS:,}"
        )
    return stripped
