"""One round of a local answer, and the policies that judge rounds and what was found.

The policies are those of `engine.agent`: corrective retrieval and Self-RAG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..retrieval.passages import Tracer
from ..retrieval.query_expansion import Expander
from ..storage.schema import DocumentFilter
from ..types import Passage, TraceStep
from .packing import Draft, PackedContext


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRound:
    """One round: what it answered from, and what it answered."""

    packed: PackedContext
    draft: Draft
    trace: tuple[TraceStep, ...] = ()


Try = Callable[[Expander | None], AnswerRound]
"""One round with an expander of its own; None searches as the settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedPassages:
    """The passages to answer from; or a `refusal`, where there are none."""

    passages: list[Passage] = field(default_factory=list)
    refusal: Draft | None = None


class Correction(Protocol):
    """Judges and corrects what was found before an answer is made of it."""

    def corrected(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        within: DocumentFilter | None,
        steps: Tracer,
    ) -> CorrectedPassages:
        """Return the passages to answer from; every stage is a trace step."""
        ...


class Reflection(Protocol):
    """Spares a search, or answers in rounds and gives the best one."""

    def spared(self, question: str, steps: Tracer) -> Draft | None:
        """Return a direct answer; None if retrieval is needed."""
        ...

    def best(
        self, question: str, attempt: Try, steps: Tracer, *, within: DocumentFilter | None
    ) -> tuple[AnswerRound, str]:
        """Return the best round, and why no further one could be made."""
        ...
