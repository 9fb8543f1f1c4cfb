"""A global answer: choose community reports, score what they say, keep what differs, cite.

Without a language model a finding is compared with the question by its words, by the names in
both, and by the vectors of the chunks it rests on, which are there already; with one, the model
maps and reduces. Either way every point keeps its evidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from numpy.typing import NDArray

from ..index.door import (
    Chunk,
    Community,
    Report,
    content_terms,
    graph_errors,
    map_points,
    read_chunks,
    read_communities,
    read_reports,
    reduce_points,
    select_reports,
    sentence_spans,
    token_similarity,
)
from ..index.library import Library
from ..models.tokeniser import Tokeniser
from ..models.usage import UsageMeter
from ..retrieve.local import LocalRetriever
from ..retrieve.tokens import tokens
from ..settings import AnswerSettings
from ..types import Answer, TraceStep
from .draft import Draft
from .local_answers import embedder
from .overview import overview
from .overview_model import overview_with_model

WORDS, VECTORS = 0.6, 0.4
"""How much words and vectors count when a finding is compared with a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    communities: Sequence[Community]
    reports: Sequence[Report]
    chunks: Mapping[str, Chunk]


class GlobalAnswers:
    """Answers questions about the whole from the community reports.

    Args:
        library: where reports are read.
        retriever: knows the question's vector and how near chunks are to it.
        idf: gives the weights of tokens in the library as it is now.
        settings: budgets.
        llm: maps and reduces; None scores and chooses without one.
        embed_model: compares claims with sources where a model wrote them.
        tokeniser: counts what fits.
    """

    def __init__(
        self,
        library: Library,
        *,
        retriever: LocalRetriever,
        idf: Callable[[], Callable[[str], float]],
        settings: AnswerSettings,
        llm: LLM | None,
        embed_model: BaseEmbedding | None,
        tokeniser: Tokeniser,
    ) -> None:
        self._library = library
        self._retriever = retriever
        self._idf = idf
        self._settings = settings
        self._llm = llm
        self._embed = embedder(embed_model)
        self._tokeniser = tokeniser

    def answer(self, question: str) -> Answer:
        """The overview with its citations, or an abstention where no report bears on it."""
        started = time.perf_counter()
        with self._library.read() as connection, graph_errors():
            communities, everything = read_communities(connection), read_reports(connection)
            selection = select_reports(
                communities,
                everything,
                budget_tokens=self._settings.global_budget_tokens,
                count=self._tokeniser.count,
            )
            wanted = {
                evidence.chunk_id
                for report in selection.reports
                for finding in report.findings
                for evidence in finding.evidences
            }
            chunks = read_chunks(connection, wanted)
        material = _Material(communities=communities, reports=selection.reports, chunks=chunks)
        selecting = TraceStep(
            stage="select",
            detail=selection.detail,
            seconds=time.perf_counter() - started,
            figures={
                "reports": len(selection.reports),
                "tokens": selection.tokens,
                "left_out": selection.left_out,
            },
        )
        started = time.perf_counter()
        draft = self._draft(question, material)
        return Answer(
            question=question,
            text=draft.text,
            mode="global",
            citations=draft.citations,
            trace=(
                selecting,
                TraceStep(
                    stage="map and reduce",
                    detail=draft.detail,
                    seconds=time.perf_counter() - started,
                    figures=draft.figures,
                ),
            ),
            usage=draft.usage,
            abstained=draft.abstained,
        )

    def _draft(self, question: str, material: _Material) -> Draft:
        if self._llm is not None:
            return self._written(self._llm, question, material)
        document_of = {key: chunk.document_id for key, chunk in material.chunks.items()}
        points = reduce_points(
            map_points(
                question,
                material.reports,
                match=self._matcher(material),
                tokens=tokens,
                document_of=document_of,
            ),
            limit=self._settings.global_points,
            budget_tokens=self._settings.budget_tokens,
            count=self._tokeniser.count,
            similarity=token_similarity(tokens),
            document_of=document_of,
        )
        titles = {report.community_id: report.title for report in material.reports}
        return overview(question, points, titles=titles, chunks=material.chunks)

    def _written(self, llm: LLM, question: str, material: _Material) -> Draft:
        meter = UsageMeter(self._tokeniser)
        return overview_with_model(
            question,
            material.reports,
            complete=lambda messages: meter.complete(llm, messages),
            chunks=material.chunks,
            budget_tokens=self._settings.global_budget_tokens,
            count=self._tokeniser.count,
            limit=self._settings.global_points * 4,
            tokens=tokens,
            sentence_spans=sentence_spans,
            embed=self._embed,
        )

    def _matcher(self, material: _Material) -> Callable[[str, Sequence[str]], NDArray[np.float64]]:
        """Likeness of findings to a question, 0–1: weighted words, and the vectors of chunks."""
        chunks_of = {
            finding.text: [evidence.chunk_id for evidence in finding.evidences]
            for report in material.reports
            for finding in report.findings
        }

        def match(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
            wanted = content_terms(question, tokens=tokens)
            weight = self._idf()
            weights = {term: weight(term) for term in wanted}
            total = sum(weights.values()) or 1.0
            held = [frozenset(tokens(text)) for text in texts]
            words = np.array([sum(weights[t] for t in wanted if t in h) / total for h in held])
            near = self._retriever.cosines(question, sorted(material.chunks))
            if not near:
                return words
            vectors = [
                max((near.get(c, 0.0) for c in chunks_of.get(t, ())), default=0.0) for t in texts
            ]
            return WORDS * words + VECTORS * np.clip(vectors, 0.0, 1.0)

        return match
