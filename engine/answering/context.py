"""Context packing: retrieved passages fitted to the reader.

Without a language model nothing is compressed, joined or moved: whoever picks sentences does that
by himself. With one the budget is what its window holds, up to a limit. Knows how to ask for
sentences, nothing of how answers are written.

Dependencies shared by local and global answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray

from ..config import AnswerSettings, PackSettings
from ..embeddings.tokenizer import Tokeniser
from ..llm.client import LLMClient
from ..prompts import answering_prompt, count_injections, language_of
from ..providers.llm_clients import Models
from ..retrieval.passages import Embed, Tracer, preview_top_passages
from ..retrieval.retriever import LocalRetriever
from ..storage.schema import DocumentFilter
from ..types import Citation, Passage
from ..verification.pipeline import CitationVerifier
from .compression import (
    SentenceSelection,
    render_selection,
    select_key_sentences,
    sentences_by_model,
)
from .corrective import CorrectiveRetriever
from .packing import PackedContext, Shown, TextAt, on_pages, pack_context, window_budget_tokens
from .self_rag import SelfRag


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDependencies:
    """Models come by argument; `None` means to do without.

    Attributes:
        retriever: finds passages, and knows how near chunks are to a question.
        idf: gives the weights of tokens among the documents that may be seen, as they are now.
        settings: budgets and thresholds.
        models: who writes answers, and maps reports; where there is none they are extracted.
        checks: checks what a model wrote.
        correction: judges and corrects what was found; None takes it as it is.
        reflection: answers in rounds; None answers once.
        embed: texts to unit vectors, one row each; None compares words alone.
        tokeniser: counts what fits.
        page_starts: document ids to where the pages of each begin, of those that have pages.
        packing: how what is found is made to fit a model's window.
        text_at: a document's id, a start and an end to the characters between.
        dates: document ids to the dates of those that have one.
    """

    retriever: LocalRetriever
    idf: Callable[[DocumentFilter | None], Callable[[str], float]]
    settings: AnswerSettings
    models: Models
    checks: CitationVerifier
    correction: CorrectiveRetriever | None
    reflection: SelfRag | None
    embed: Embed | None
    tokeniser: Tokeniser
    page_starts: Callable[[Iterable[str]], Mapping[str, tuple[int, ...]]]
    packing: PackSettings
    text_at: TextAt
    dates: Callable[[Iterable[str]], Mapping[str, str]]

    def cited(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """Return the citations with page numbers."""
        return on_pages(citations, self.page_starts({each.document_id for each in citations}))


def embedder(embed_model: BaseEmbedding | None) -> Embed | None:
    """Return a function from texts to unit vectors, one row each."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed


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
        instruction_tokens=count(answering_prompt("answer", language)) + _FRAME_TOKENS,
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
        )
    if key is None:
        key = select_key_sentences(question, passages, weight=parts.idf(within), embed=parts.embed)
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
