"""A global answer: choose community reports, score what they say, keep what differs, cite.

Without a language model a finding is compared with the question by its words and by the chunks it
rests on, whose vectors are there already; with one, the model maps and reduces. Either way every
point keeps its evidence.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from llama_index.core.llms import LLM
from sqlalchemy import Connection, select

from ..index.door import (
    Chunk,
    Community,
    Evidence,
    Point,
    Report,
    Selection,
    chunk_match,
    chunk_table,
    content_terms,
    derived_stamp,
    graph_errors,
    map_points,
    owners,
    read_chunks,
    read_communities,
    read_reports,
    reduce_points,
    select_reports,
    sentence_spans,
    token_similarity,
)
from ..index.filters import DocumentFilter
from ..index.library import Library
from ..models.usage import UsageMeter
from ..retrieve.tokens import tokens
from ..types import Answer, Passage, TraceStep
from .admitted import admitted_reports
from .draft import Draft
from .extractive import extractive_answer
from .overview import overview
from .overview_model import overview_with_model
from .parts import AnswerParts

PASSAGES_OF_ONE_DOCUMENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    reports: Sequence[Report]
    chunks: Mapping[str, Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shelf:
    stamp: str
    communities: Sequence[Community]
    reports: Sequence[Report]
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    points: Sequence[Point]
    chunks: Mapping[str, Chunk]


class GlobalAnswers:
    """Answers questions about the whole from the community reports of a library."""

    def __init__(self, library: Library, parts: AnswerParts) -> None:
        self._library = library
        self._parts = parts
        self._guard = threading.Lock()
        self._shelf: _Shelf | None = None

    def answer(self, question: str, *, within: DocumentFilter | None = None) -> Answer:
        """The overview with its citations, or an abstention where no report bears on it."""
        started = time.perf_counter()
        material, selection = self._material(within)
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
        if self._parts.llm is None:
            draft = self._chosen(question, material, within)
        else:
            draft = self._written(self._parts.llm, question, material)
        return Answer(
            question=question,
            text=draft.text,
            mode="global",
            citations=self._parts.cited(draft.citations),
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

    def _material(self, within: DocumentFilter | None) -> tuple[_Material, Selection]:
        """The reports to read, and the chunks that they rest on."""
        settings = self._parts.settings
        free = self._parts.llm is None
        with self._library.read() as connection, graph_errors():
            shelf = self._current_shelf(connection)
            reports = shelf.reports
            if within is not None:
                reports = self._admitted(connection, reports, within)
            selection = select_reports(
                shelf.communities,
                reports,
                budget_tokens=settings.global_scan_tokens
                if free
                else settings.global_budget_tokens,
                count=shelf.count,
            )
            wanted = {
                evidence.chunk_id
                for report in selection.reports
                for finding in report.findings
                for evidence in finding.evidences
            }
            chunks = read_chunks(connection, wanted)
        return _Material(reports=selection.reports, chunks=chunks), selection

    def _current_shelf(self, connection: Connection) -> _Shelf:
        """All reports as they are now, read and counted once for as long as they stay."""
        stamp = derived_stamp(connection)
        with self._guard:
            if self._shelf is None or self._shelf.stamp != stamp:
                self._shelf = _Shelf(
                    stamp=stamp,
                    communities=read_communities(connection),
                    reports=read_reports(connection),
                    count=cache(self._parts.tokeniser.count),
                )
            return self._shelf

    def _admitted(
        self, connection: Connection, reports: Sequence[Report], within: DocumentFilter
    ) -> list[Report]:
        rows = connection.execute(select(chunk_table.c.id, chunk_table.c.document_id)).all()
        known = self._library.document_metadata(connection)
        return admitted_reports(
            reports,
            documents={name for name, metadata in known.items() if within.admits(metadata)},
            document_of={row.id: row.document_id for row in rows},
            title_of={name: str(metadata["title"]) for name, metadata in known.items()},
        )

    def _chosen(self, question: str, material: _Material, within: DocumentFilter | None) -> Draft:
        """Without a model: what local search says first, then what the reports add beside it."""
        settings = self._parts.settings
        found = self._said_locally(question, material, within)
        chunks = {**material.chunks, **found.chunks}
        document_of = {key: chunk.document_id for key, chunk in chunks.items()}
        match = chunk_match(
            question,
            places={
                finding.text: [evidence.chunk_id for evidence in finding.evidences]
                for report in material.reports
                for finding in report.findings
            },
            chunks=material.chunks,
            near=self._parts.retriever.cosines(question, sorted(material.chunks)),
            tokens=tokens,
            weight=self._parts.idf(),
        )
        points = map_points(
            question, material.reports, match=match, tokens=tokens, document_of=document_of
        )
        points = reduce_points(
            points,
            limit=settings.global_points,
            budget_tokens=settings.budget_tokens,
            count=self._parts.tokeniser.count,
            similarity=token_similarity(tokens),
            document_of=document_of,
            concepts=tokens,
            given=found.points,
        )
        titles = {report.community_id: report.title for report in material.reports}
        return overview(question, points, titles=titles, chunks=chunks)

    def _said_locally(
        self, question: str, material: _Material, within: DocumentFilter | None
    ) -> _Found:
        """The sentences that answer a question with a subject, from several documents.

        Reports are written without a question in sight; where one asks for something, passages
        found for it say more. A generic question ("the main themes") has nothing to be found by.
        """
        settings = self._parts.settings
        if not settings.global_passages or not content_terms(question, tokens=tokens):
            return _Found(points=(), chunks={})
        search = self._parts.retriever.search(
            question, top_k=4 * settings.global_passages, within=within
        )
        passages = _spread(search.passages)[: settings.global_passages]
        draft = extractive_answer(
            question,
            passages,
            tokens=tokens,
            weight=self._parts.idf(),
            sentence_spans=sentence_spans,
            max_sentences=settings.global_points,
            min_evidence=settings.min_evidence / 2,  # a beginning, not yet an answer
        )
        with self._library.read() as connection, graph_errors():
            chunks = read_chunks(connection, [passage.chunk_id for passage in passages])
        owner = owners(material.reports, {**material.chunks, **chunks})
        points = [
            Point(
                text=" ".join(citation.quote.split()),
                score=100.0,
                evidences=(
                    Evidence(
                        chunk_id=citation.chunk_id,
                        start=citation.start - chunks[citation.chunk_id].start,
                        end=citation.end - chunks[citation.chunk_id].start,
                    ),
                ),
                community_id=owner(citation.chunk_id),
            )
            for citation in draft.citations
            if citation.chunk_id in chunks
        ]
        return _Found(points=points, chunks=chunks)

    def _written(self, llm: LLM, question: str, material: _Material) -> Draft:
        """With a model: it maps reports to points and writes the answer from the best."""
        settings = self._parts.settings
        meter = UsageMeter(self._parts.tokeniser)
        return overview_with_model(
            question,
            material.reports,
            complete=lambda messages: meter.complete(llm, messages),
            chunks=material.chunks,
            budget_tokens=settings.global_budget_tokens,
            count=self._parts.tokeniser.count,
            limit=settings.global_points * 2,
            tokens=tokens,
            sentence_spans=sentence_spans,
            embed=self._parts.embed,
        )


def _spread(passages: Sequence[Passage]) -> list[Passage]:
    """The passages in their order, at most three of one document."""
    taken: Counter[str] = Counter()
    kept = []
    for passage in passages:
        taken[passage.document_id] += 1
        if taken[passage.document_id] <= PASSAGES_OF_ONE_DOCUMENT:
            kept.append(passage)
    return kept
