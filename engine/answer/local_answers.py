"""A local answer: retrieve, pack, write or extract, cite. With a trace of every stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from numpy.typing import NDArray

from ..index.door import sentence_spans
from ..models.tokeniser import Tokeniser
from ..models.usage import UsageMeter
from ..retrieve.local import LocalRetriever
from ..retrieve.tokens import tokens
from ..settings import AnswerSettings
from ..types import Answer, TraceStep
from .draft import Draft
from .extractive import extractive_answer
from .pack import Packed, pack
from .synthesise import synthesise

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


class LocalAnswers:
    """Answers questions from the passages that local retrieval finds.

    Args:
        retriever: finds passages.
        idf: gives the weights of tokens in the library as it is now.
        settings: budgets and thresholds.
        llm: writes the answer; None extracts it.
        embed_model: compares sentences with the question; None compares words alone.
        tokeniser: counts what fits.
    """

    def __init__(
        self,
        retriever: LocalRetriever,
        *,
        idf: Callable[[], Callable[[str], float]],
        settings: AnswerSettings,
        llm: LLM | None,
        embed_model: BaseEmbedding | None,
        tokeniser: Tokeniser,
    ) -> None:
        self._retriever = retriever
        self._idf = idf
        self._settings = settings
        self._llm = llm
        self._embed = embedder(embed_model)
        self._tokeniser = tokeniser

    def answer(self, question: str) -> Answer:
        """The answer with its citations, or an abstention that says so."""
        found = self._retriever.search(question)
        started = time.perf_counter()
        packed = pack(
            found.passages, budget_tokens=self._settings.budget_tokens, count=self._tokeniser.count
        )
        packing = TraceStep(
            stage="pack",
            detail=f"{len(packed.passages)} passages in {packed.tokens} tokens",
            seconds=time.perf_counter() - started,
            figures={"left_out": packed.left_out, "duplicates": packed.duplicates},
        )
        started = time.perf_counter()
        draft = self._draft(question, packed)
        writing = TraceStep(
            stage="write" if self._llm is not None else "extract",
            detail=draft.detail,
            seconds=time.perf_counter() - started,
            figures=draft.figures,
        )
        return Answer(
            question=question,
            text=draft.text,
            mode="local",
            citations=draft.citations,
            passages=packed.passages,
            trace=(*found.trace, packing, writing),
            usage=draft.usage,
            abstained=draft.abstained,
        )

    def _draft(self, question: str, packed: Packed) -> Draft:
        if self._llm is None:
            return extractive_answer(
                question,
                packed.passages,
                tokens=tokens,
                weight=self._idf(),
                embed=self._embed,
                readable=self._tokeniser.readable,
                sentence_spans=sentence_spans,
                max_sentences=self._settings.max_sentences,
                min_relevance=self._settings.min_relevance,
            )
        llm = self._llm
        meter = UsageMeter(self._tokeniser)
        return synthesise(
            question,
            packed,
            complete=lambda messages: meter.complete(llm, messages),
            tokens=tokens,
            sentence_spans=sentence_spans,
            embed=self._embed,
        )


def embedder(embed_model: BaseEmbedding | None) -> Embed | None:
    """An embedding model as a function from texts to unit vectors, one row a text."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed
