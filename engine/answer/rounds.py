"""Self-RAG rounds: skip retrieval, or retry with a rewritten query.

Knows how rounds follow each other and which one is best; what a round does comes by argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..index.filters import DocumentFilter
from ..retrieve.stopwatch import Tracer
from ..retrieve.transform import ExpandedQuery, Expander, Expansion
from ..types import TraceStep
from .checks.judge import JudgeLLM
from .correct import feedback_expansion
from .draft import Draft
from .packing.pack import PackedContext
from .reflect import (
    ENOUGH,
    answer_score,
    answer_without_retrieval,
    decide_prompt,
    read_decision,
    read_query,
    rewrite_prompt,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRound:
    """One round: what it answered from, and what it answered."""

    packed: PackedContext
    draft: Draft
    trace: tuple[TraceStep, ...] = ()


Try = Callable[[Expander | None], AnswerRound]
"""One round with an expander of its own; None searches as the settings say."""


class SelfRag:
    """Decides, judges and tries again, for one library.

    Args:
        max_rounds: how many further rounds there may be.
        idf: gives the weights of tokens among the documents that may be seen.
        consult: asks a model; None goes by rules.
    """

    def __init__(
        self,
        *,
        max_rounds: int,
        idf: Callable[[DocumentFilter | None], Callable[[str], float]],
        consult: JudgeLLM | None = None,
    ) -> None:
        self._max_rounds = max_rounds
        self._idf = idf
        self._consult = consult

    def spared(self, question: str, steps: Tracer) -> Draft | None:
        """Return a direct answer; None if retrieval is needed."""
        draft = answer_without_retrieval(question)
        problem = ""
        if draft is None and self._consult is not None:
            try:
                draft = read_decision(self._consult("decide", decide_prompt(question)))
            except ModelError as error:
                problem = f" (by rules alone: {error})"
        said = draft.detail if draft is not None else f"to be looked up{problem}"
        steps.record("decide", said, "", question, failed=float(bool(problem)))
        return draft

    def best(
        self,
        question: str,
        attempt: Try,
        steps: Tracer,
        *,
        within: DocumentFilter | None,
    ) -> tuple[AnswerRound, str]:
        """Return the best round, and why no further one could be made.

        The first one's errors come through; after it there is an answer to fall back to.
        """
        best = last = attempt(None)
        steps.skip()
        known = [question]
        for number in range(1, self._max_rounds + 1):
            if answer_score(best.draft) >= ENOUGH:
                break
            again = self._better(question, last, known, steps, within)
            if again is None:
                break
            try:
                last = attempt(again)
            except ModelError as error:
                note = f"round {number + 1} not made: {error}"
                steps.record("reflect", note, failed=1)
                return best, note
            steps.skip()
            better = answer_score(last.draft) > answer_score(best.draft)
            steps.record(
                "reflect",
                f"round {number + 1} is {'better' if better else 'no better'}",
                before=answer_score(best.draft),
                after=answer_score(last.draft),
            )
            best = last if better else best
        return best, ""

    def _better(
        self,
        question: str,
        last: AnswerRound,
        known: list[str],
        steps: Tracer,
        within: DocumentFilter | None,
    ) -> Expander | None:
        """Another way to search; None where there is none that was not tried."""
        if self._consult is not None:
            query, problem = self._rewritten(question, last, known)
            if query:
                known.append(query)
                steps.record("rewrite", "another query", query, question)
                return _beside(query)
            steps.record("rewrite", f"no other query: {problem}", "", question, failed=1)
        if _FEEDBACK in known:
            return None
        known.append(_FEEDBACK)
        return feedback_expansion(self._idf(within))

    def _rewritten(self, question: str, last: AnswerRound, known: Sequence[str]) -> tuple[str, str]:
        if self._consult is None:
            return "", "no model"
        try:
            reply = self._consult("rewrite", rewrite_prompt(question, last.packed.passages, known))
        except ModelError as error:
            return "", str(error)
        return read_query(reply, known), "nothing new in the reply"


_FEEDBACK = "\x00feedback"


def _beside(query: str) -> Expander:
    """Combine a rewritten query with the question at a low weight."""

    def searches(question: str, _: object) -> ExpandedQuery:
        itself = Expansion(keyword=question, dense=question, weight=0.3, kind="question")
        other = Expansion(keyword=query, dense=query, weight=1.0, kind="decompose")
        return ExpandedQuery(expansions=(itself, other), asked=1)

    return searches
