"""A local answer: retrieve, pack, write or extract, cite. With a trace of every stage."""

from __future__ import annotations

import time

from ..index.door import sentence_spans
from ..index.filters import DocumentFilter
from ..models.gateway import Reply
from ..retrieve.tokens import tokens
from ..types import Answer, TraceStep, Usage
from .draft import Draft
from .extractive import extractive_answer
from .pack import Packed, pack
from .parts import AnswerParts
from .synthesise import synthesise


class LocalAnswers:
    """Answers questions from the passages that local retrieval finds."""

    def __init__(self, parts: AnswerParts) -> None:
        self._parts = parts

    def answer(self, question: str, *, within: DocumentFilter | None = None) -> Answer:
        """The answer with its citations, or an abstention that says so."""
        found = self._parts.retriever.search(question, within=within)
        started = time.perf_counter()
        packed = pack(
            found.passages,
            budget_tokens=self._parts.settings.budget_tokens,
            count=self._parts.tokeniser.count,
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
            stage="write" if self._parts.models.answers is not None else "extract",
            detail=draft.detail,
            seconds=time.perf_counter() - started,
            figures=draft.figures,
        )
        return Answer(
            question=question,
            text=draft.text,
            mode="local",
            citations=self._parts.cited(draft.citations),
            passages=packed.passages,
            trace=(*found.trace, packing, writing),
            usage=draft.usage,
            abstained=draft.abstained,
        )

    def _draft(self, question: str, packed: Packed) -> Draft:
        gateway = self._parts.models.answers
        if gateway is None:
            return extractive_answer(
                question,
                packed.passages,
                tokens=tokens,
                weight=self._parts.idf(),
                sentence_spans=sentence_spans,
                max_sentences=self._parts.settings.max_sentences,
                min_evidence=self._parts.settings.min_evidence,
            )
        return synthesise(
            question,
            packed,
            complete=lambda messages: _said(gateway.chat(messages, stage="answers", keep=True)),
            tokens=tokens,
            sentence_spans=sentence_spans,
            embed=self._parts.embed,
        )


def _said(reply: Reply) -> tuple[str, Usage]:
    return reply.text, reply.usage
