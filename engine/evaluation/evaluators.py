"""Judges as LlamaIndex evaluators, for its `BatchEvalRunner` and query engines.

    FaithfulnessJudge().evaluate(query=…, response=…, contexts=[…]).score
    CorrectnessJudge().evaluate(query=…, response=…, reference=…).score

Without a client rules judge. Scores are in [0, 1]; what a model does not judge counts as failed,
and the feedback says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from ..types import Passage
from .judges import ClaimJudge, ModelJudge, RulesJudge, claims_of
from .measures import correctness

if TYPE_CHECKING:
    from llama_index.core.prompts.mixin import PromptDictType

    from ..llm.client import LLMClient

PASSING = 0.5
MIN_SUPPORT = 0.4


class _Judge(BaseEvaluator):
    """Evaluator without prompts of LlamaIndex's."""

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """LlamaIndex's prompts are not used."""


class FaithfulnessJudge(_Judge):
    """Share of a response's claims that its contexts bear out.

    Args:
        client: a model that judges; None judges by rules.
    """

    def __init__(self, client: LLMClient | None = None) -> None:
        self._judge: ClaimJudge = (
            RulesJudge(weight=lambda _: 1.0, min_support=MIN_SUPPORT)
            if client is None
            else ModelJudge(client)
        )

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Judge the claims of `response`; one without claims is invalid, not perfect."""
        sources = [
            Passage(
                text=text, score=1.0, relevance=1.0, document_id=str(n), chunk_id=str(n), title="",
                start=0, end=len(text),
            )
            for n, text in enumerate(contexts or ())
        ]  # fmt: skip
        claims = [text for text, _ in claims_of(response or "", query or "")]
        verdicts = self._judge.verdicts(query or "", claims, sources)
        if not verdicts:
            return EvaluationResult(
                query=query, response=response, invalid_result=True, invalid_reason="no claims"
            )
        score = sum(one.supported for one in verdicts) / len(verdicts)
        failed = [one for one in verdicts if not one.supported]
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            score=score,
            passing=score == 1.0,
            feedback="\n".join(f"{one.unusable or 'not supported'}: {one.claim}" for one in failed),
        )


class CorrectnessJudge(_Judge):
    """Correctness of a response by its reference: words, figures and dates in any form."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Compare `response` with `reference`.

        Raises:
            ValueError: no reference.
        """
        if not reference:
            raise ValueError("correctness needs a reference; pass reference=")
        score = correctness(response or "", "", [reference], question=query or "")
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            score=score,
            passing=score >= PASSING,
        )
