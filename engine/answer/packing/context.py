"""Context packing: retrieved passages fitted to the reader.

Without a language model nothing is compressed, joined or moved: whoever picks sentences does that
by himself. With one the budget is what its window holds, up to a limit. Knows how to ask for
sentences, nothing of how answers are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...index.door import sentence_spans
from ...index.filters import DocumentFilter
from ...models.gateway import LLMClient
from ...retrieve.leading import preview_top_passages
from ...retrieve.stopwatch import Tracer
from ...retrieve.tokens import tokens
from ...types import Passage
from ..checks.orders import count_injections
from ..language import language_of
from ..parts import AnswerDependencies
from ..prompts import load
from .compress import SentenceSelection, render_selection, select_key_sentences, sentences_by_model
from .pack import PackedContext, Shown, pack_context
from .window import window_budget_tokens

_FRAME_TOKENS = 48
"""The lines around sources, and what a chat template puts around two messages."""


def candidate_count(parts: AnswerDependencies) -> int | None:
    """Return the number of passages to retrieve; None for the default."""
    packing = parts.packing
    return packing.passages if packing.long_context and parts.models.answers is not None else None


def packed_context(
    parts: AnswerDependencies,
    question: str,
    passages: Sequence[Passage],
    steps: Tracer,
    *,
    within: DocumentFilter | None = None,
    earlier: str = "",
) -> PackedContext:
    """Pack passages (best first) for a question; each stage is a trace step.

    `within` are the documents that may be seen: what words are worth is counted in these alone.
    `earlier` is what was said before, where the answer follows on from it: it takes room.
    """
    gateway = parts.models.answers
    if gateway is None:
        packed = pack_context(
            passages, budget_tokens=parts.settings.budget_tokens, count=parts.tokeniser.count
        )
    else:
        packed = pack_context(
            passages,
            budget_tokens=context_budget_tokens(parts, gateway, question, earlier=earlier),
            count=parts.tokeniser.count,
            order=parts.packing.order,
            text=parts.text_at if parts.packing.merge else None,
            shown=_compressed(parts, gateway, question, passages, steps, within=within),
            dates=parts.dates({passage.document_id for passage in passages}),
        )
    steps.record(
        "pack",
        f"{len(packed.passages)} passages in {packed.tokens} tokens",
        preview_top_passages(packed.passages),
        f"{len(passages)} passages",
        tokens=packed.tokens,
        left_out=packed.left_out,
        duplicates=packed.duplicates,
        joined=sum(len(span.parts) - 1 for span in packed.spans),
        ordering=count_injections(packed.passages),
    )
    return packed


def context_budget_tokens(
    parts: AnswerDependencies, gateway: LLMClient, question: str, *, earlier: str = ""
) -> int:
    """Tokens of sources in one request to the model that answers."""
    count, language = parts.tokeniser.count, language_of(question)
    return window_budget_tokens(
        gateway.context_window,
        answer_tokens=gateway.max_output_tokens,
        instruction_tokens=count(load("answer", language)) + _FRAME_TOKENS,
        question_tokens=count(question),
        history_tokens=count(earlier) + _FRAME_TOKENS if earlier else 0,
        cap_tokens=None if parts.packing.long_context else parts.settings.budget_tokens,
    )


def _compressed(
    parts: AnswerDependencies,
    gateway: LLMClient,
    question: str,
    passages: Sequence[Passage],
    steps: Tracer,
    *,
    within: DocumentFilter | None,
) -> Shown | None:
    if parts.packing.compress == "none" or not passages:
        return None
    key: SentenceSelection | None = None
    why = ""
    if parts.packing.compress == "llm":
        readable = _fitting(parts, passages, limit=_in_one_call(gateway))
        key, why = sentences_by_model(
            question,
            readable,
            ask=lambda prompt: gateway.ask(prompt, stage="compress", keep=True).text,
            tokens=tokens,
            sentence_spans=sentence_spans,
        )
    if key is None:
        key = select_key_sentences(
            question,
            passages,
            tokens=tokens,
            weight=parts.idf(within),
            sentence_spans=sentence_spans,
            embed=parts.embed,
        )
    steps.record("compress", f"{key.detail}; {why}" if why else key.detail)
    return render_selection(key, passages)


def _in_one_call(gateway: LLMClient) -> int:
    """Return the tokens of one selection call: a third of the answer's window."""
    return max(256, (gateway.context_window - gateway.max_output_tokens) // 3)


def _fitting(
    parts: AnswerDependencies, passages: Sequence[Passage], *, limit: int
) -> list[Passage]:
    """Return leading passages within the limit, at least one."""
    kept: list[Passage] = []
    left = limit
    for passage in passages:
        left -= parts.tokeniser.count(passage.text)
        if left < 0 and kept:
            break
        kept.append(passage)
    return kept
