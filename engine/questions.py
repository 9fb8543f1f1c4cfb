"""Questions to one library: answered or searched, also while its embedding model is away.

Knows which way a question can take; how each way works is `answer`'s and `retrieve`'s.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from .answer.router import NarrowedQuestion, answer_of
from .assemble import Parts
from .errors import QuestionError
from .index.filters import DocumentFilter
from .models.budget import Budget
from .models.fallback import EmbeddingUnavailable
from .models.spending import spending
from .types import Answer, Passage, TraceStep

MAX_QUESTION_CHARACTERS = 4_000
_log = logging.getLogger("loregraph")


class Questions:
    """Asks the parts of one library.

    Args:
        parts: those of the library as it is set up.
        budget: what language models may cost; each question is a run.
        without_vectors: makes the parts that answer by words and links alone.
    """

    def __init__(
        self, parts: Parts, *, budget: Budget, without_vectors: Callable[[], Parts]
    ) -> None:
        self._parts = parts
        self._budget = budget
        self._make_without_vectors = without_vectors
        self._without_vectors: Parts | None = None

    def ask(self, question: str, *, mode: str, within: DocumentFilter | None) -> Answer:
        """The answer; where the embedding model is away, one without vectors that says so."""
        self._budget.start_run()
        with spending() as spent:
            try:
                answer = _answered(self._parts, question, mode=mode, within=within)
            except EmbeddingUnavailable as error:
                answer = _answered(self._instead(error), question, mode=mode, within=within)
                step = TraceStep(stage="embed", detail=f"without vectors: {error}", seconds=0.0)
                answer = replace(answer, trace=(step, *answer.trace))
        return replace(answer, usage=spent.total)

    def retrieve(
        self,
        question: str,
        *,
        top_k: int | None,
        min_relevance: float,
        within: DocumentFilter | None,
    ) -> list[Passage]:
        """The passages; where the embedding model is away, found by words and links."""

        def search(parts: Parts) -> list[Passage]:
            found = parts.retriever.search(
                question, top_k=top_k, min_relevance=min_relevance, within=within
            )
            return found.passages

        self._budget.start_run()
        try:
            return search(self._parts)
        except EmbeddingUnavailable as error:
            return search(self._instead(error))

    def _instead(self, error: EmbeddingUnavailable) -> Parts:
        _log.warning("answered without vectors: %s", error)
        if self._without_vectors is None:
            self._without_vectors = self._make_without_vectors()
        return self._without_vectors


def _answered(parts: Parts, question: str, *, mode: str, within: DocumentFilter | None) -> Answer:
    started = time.perf_counter()
    match mode:
        case "auto":
            response = parts.router.query(NarrowedQuestion(query_str=question, within=within))
            return answer_of(response, seconds=time.perf_counter() - started)
        case "local":
            return parts.local.answer(question, within=within)
        case "global":
            return parts.overview.answer(question, within=within)
        case _:
            raise QuestionError(f"unknown mode {mode!r}: auto, local or global")


def checked(question: str) -> str:
    """The question without space around it.

    Raises:
        QuestionError: it is empty, or too long.
    """
    stripped = question.strip()
    if not stripped:
        raise QuestionError("the question is empty: ask something in words")
    if len(stripped) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"the question has {len(stripped):,} characters, at most "
            f"{MAX_QUESTION_CHARACTERS:,} are read: shorten it"
        )
    return stripped
