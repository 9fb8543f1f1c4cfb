"""What an answer is written from: the passages that were found, made to fit who reads them.

Without a language model nothing is compressed, joined or moved: whoever picks sentences does that
by himself. With one the budget is what its window holds, up to a limit. Knows how to ask for
sentences, nothing of how answers are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...index.door import sentence_spans
from ...index.filters import DocumentFilter
from ...models.gateway import Gateway
from ...retrieve.leading import leading_passages
from ...retrieve.stopwatch import Stopwatch
from ...retrieve.tokens import tokens
from ...types import Passage
from ..checks.orders import ordering
from ..language import language_of
from ..parts import AnswerParts
from ..prompts import load
from .compress import Key, key_sentences, sentences_by_model, shown
from .pack import Packed, Shown, pack
from .window import room

_FRAME_TOKENS = 48
"""The lines around sources, and what a chat template puts around two messages."""


def wanted_passages(parts: AnswerParts) -> int | None:
    """How many passages to look for; None is as many as usual."""
    packing = parts.packing
    return packing.passages if packing.long_context and parts.models.answers is not None else None


def packed_context(
    parts: AnswerParts,
    question: str,
    passages: Sequence[Passage],
    steps: Stopwatch,
    *,
    within: DocumentFilter | None = None,
    earlier: str = "",
) -> Packed:
    """The passages (best first) that are read for a question; each stage is a step.

    `within` are the documents that may be seen: what words are worth is counted in these alone.
    `earlier` is what was said before, where the answer follows on from it: it takes room.
    """
    gateway = parts.models.answers
    if gateway is None:
        packed = pack(
            passages, budget_tokens=parts.settings.budget_tokens, count=parts.tokeniser.count
        )
    else:
        packed = pack(
            passages,
            budget_tokens=context_room(parts, gateway, question, earlier=earlier),
            count=parts.tokeniser.count,
            order=parts.packing.order,
            text=parts.text_at if parts.packing.merge else None,
            shown=_compressed(parts, gateway, question, passages, steps, within=within),
            dates=parts.dates({passage.document_id for passage in passages}),
        )
    steps.lap(
        "pack",
        f"{len(packed.passages)} passages in {packed.tokens} tokens",
        leading_passages(packed.passages),
        f"{len(passages)} passages",
        tokens=packed.tokens,
        left_out=packed.left_out,
        duplicates=packed.duplicates,
        joined=sum(len(span.parts) - 1 for span in packed.spans),
        ordering=ordering(packed.passages),
    )
    return packed


def context_room(parts: AnswerParts, gateway: Gateway, question: str, *, earlier: str = "") -> int:
    """Tokens of sources in one request to the model that answers."""
    count, language = parts.tokeniser.count, language_of(question)
    return room(
        gateway.context_window,
        answer_tokens=gateway.max_output_tokens,
        instruction_tokens=count(load("answer", language)) + _FRAME_TOKENS,
        question_tokens=count(question),
        history_tokens=count(earlier) + _FRAME_TOKENS if earlier else 0,
        cap_tokens=None if parts.packing.long_context else parts.settings.budget_tokens,
    )


def _compressed(
    parts: AnswerParts,
    gateway: Gateway,
    question: str,
    passages: Sequence[Passage],
    steps: Stopwatch,
    *,
    within: DocumentFilter | None,
) -> Shown | None:
    if parts.packing.compress == "none" or not passages:
        return None
    key: Key | None = None
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
        key = key_sentences(
            question,
            passages,
            tokens=tokens,
            weight=parts.idf(within),
            sentence_spans=sentence_spans,
            embed=parts.embed,
        )
    steps.lap("compress", f"{key.detail}; {why}" if why else key.detail)
    return shown(key, passages)


def _in_one_call(gateway: Gateway) -> int:
    """A third of what an answer's window holds: each sentence comes with a number of its own."""
    return max(256, (gateway.context_window - gateway.max_output_tokens) // 3)


def _fitting(parts: AnswerParts, passages: Sequence[Passage], *, limit: int) -> list[Passage]:
    """The first passages that fit, at least one."""
    kept: list[Passage] = []
    left = limit
    for passage in passages:
        left -= parts.tokeniser.count(passage.text)
        if left < 0 and kept:
            break
        kept.append(passage)
    return kept
