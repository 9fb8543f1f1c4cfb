"""Context of a global answer: reports and chunks visible to one question.

`Shelf` is what stays from question to question until the library changes, `Scene` one question in
front of it. Reads the library, decides nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ...index.door import (
    Chunk,
    Community,
    CommunityTree,
    Report,
    chunk_match,
    chunk_table,
    content_terms,
    derived_reports,
    derived_stamp,
    graph_errors,
    read_chunks,
    read_communities,
    read_reports,
    reports_stamp,
)
from ...index.filters import DocumentFilter
from ...index.held_view import load_snapshot
from ...index.library import Library
from ...models.gateway import LLMClient
from ...retrieve.tokens import tokens
from ..parts import AnswerDependencies
from .admitted import filter_reports_by_access
from .asking import BatchLLM
from .plan import EffortPreset

ReportsFor = Callable[[Sequence[str]], Mapping[str, Report]]
"""Community ids to reports, written by a model first where missing."""

Match = Callable[[str, Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class CommunityAssignment:
    """Assignment of chunks to communities, with entity counts and documents."""

    tree: CommunityTree
    homes: Mapping[str, str]
    weights: Mapping[str, float]
    document_of: Mapping[str, str]
    names: Mapping[str, str]


@dataclass(frozen=True)
class ReportCache:
    """Communities and reports of a library as it is now."""

    stamp: str
    communities: Sequence[Community]
    reports: Sequence[Report]
    extractive: Sequence[Report]
    words: dict[str, frozenset[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @cached_property
    def tree(self) -> CommunityTree:
        """The hierarchy, built when first used."""
        return CommunityTree.build(self.communities)

    def words_of(self, report: Report) -> frozenset[str]:
        """Return the tokens of a report's title and findings, cached."""
        known = self.words.get(report.fingerprint + report.title)
        if known is None:
            texts = (report.title, *(finding.text for finding in report.findings))
            known = frozenset(tokens(" ".join(texts)))
            self.words[report.fingerprint + report.title] = known
        return known


class ReportCacheHolder:
    """Report cache of a library, reloaded after changes; thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._guard = threading.Lock()
        self._shelf: ReportCache | None = None
        self._places: tuple[str, CommunityAssignment] | None = None

    def current(self, connection: Connection) -> ReportCache:
        """All communities and reports as they are in the picture of this connection."""
        stamp = f"{derived_stamp(connection)} {reports_stamp(connection)}"
        with self._guard:
            if self._shelf is None or self._shelf.stamp != stamp:
                reports = read_reports(connection)
                plain = {report.fingerprint: report for report in derived_reports(connection)}
                self._shelf = ReportCache(
                    stamp=stamp,
                    communities=read_communities(connection),
                    reports=reports,
                    extractive=[plain.get(one.fingerprint, one) for one in reports],
                )
            return self._shelf

    def places(self, connection: Connection) -> CommunityAssignment:
        """Return the home community of each chunk."""
        shelf = self.current(connection)
        with self._guard:
            if self._places is None or self._places[0] != shelf.stamp:
                view = load_snapshot(connection, self._library.path / "derived")
                labels = dict(zip(view.chunk_ids, view.labels, strict=True))
                places = CommunityAssignment(
                    tree=shelf.tree,
                    homes=shelf.tree.homes(labels),
                    weights={key: float(len(found)) for key, found in labels.items()},
                    document_of=dict(zip(view.chunk_ids, view.documents, strict=True)),
                    names=dict(view.display),
                )
                self._places = (shelf.stamp, places)
            return self._places[1]


@dataclass(frozen=True)
class GlobalContext:
    """One question with all that answers it.

    `reports` are those that the asker may see: where not every document is admitted, sentences of
    admitted ones, never a model's words. `ask_many` is None without a language model. `earlier` is
    what was said before the question.
    """

    question: str
    within: DocumentFilter | None
    plan: EffortPreset
    parts: AnswerDependencies
    library: Library
    shelf: ReportCache
    shelves: ReportCacheHolder
    reports: Sequence[Report]
    ask_many: BatchLLM | None
    reports_for: ReportsFor | None
    earlier: str = ""

    @cached_property
    def generic(self) -> bool:
        """Check whether the question names no subject, so asks about the whole collection."""
        return not content_terms(self.question, tokens=tokens)

    @cached_property
    def places(self) -> CommunityAssignment:
        """Return the community assignment of chunks."""
        with self.library.read() as connection, graph_errors():
            return self.shelves.places(connection)

    @cached_property
    def report_of(self) -> Mapping[str, Report]:
        """The reports by community."""
        return {report.community_id: report for report in self.reports}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Return the titles of communities."""
        return {report.community_id: report.title for report in self.reports}

    @cached_property
    def admitted(self) -> frozenset[str] | None:
        """The documents that may be seen; None for all."""
        return None if self.within is None else self.parts.retriever.documents(self.within)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.parts.tokeniser.count(text)

    def report_size(self, text: str) -> int:
        """Tokens of a report's text, counted once for all questions."""
        sizes = self.shelf.sizes
        if text not in sizes:
            sizes[text] = self.count(text)
        return sizes[text]

    def chunks(self, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
        """Chunks by id."""
        with self.library.read() as connection, graph_errors():
            return read_chunks(connection, sorted(set(chunk_ids)))

    def chunks_of(self, reports: Sequence[Report]) -> dict[str, Chunk]:
        """Return the chunks behind reports."""
        return self.chunks(
            place.chunk_id
            for report in reports
            for finding in report.findings
            for place in finding.evidences
        )

    def near(self, chunk_ids: Iterable[str]) -> dict[str, float]:
        """Cosines of chunks with the question; empty where no encoder can read it."""
        return self.parts.retriever.cosines(self.question, sorted(set(chunk_ids)))

    def match(self, reports: Sequence[Report], chunks: Mapping[str, Chunk]) -> Match:
        """Score findings of reports against the question by their chunks."""
        return chunk_match(
            self.question,
            places={
                finding.text: [place.chunk_id for place in finding.evidences]
                for report in reports
                for finding in report.findings
            },
            chunks=chunks,
            near=self.near(chunks),
            tokens=tokens,
            weight=self.parts.idf(self.within),
        )

    def written(self, reports: Sequence[Report]) -> list[Report]:
        """Return model-written reports where available and fully visible."""
        if self.reports_for is None or self.within is not None or not reports:
            return list(reports)
        found = self.reports_for([report.community_id for report in reports])
        return [found.get(report.community_id, report) for report in reports]

    def call_tokens(self, *, output_tokens: int) -> int:
        """Return the source tokens of one map call."""
        most = min(self.plan.call_tokens, self.parts.settings.global_budget_tokens)
        return _fitting(most, self.parts.models.map, output_tokens=output_tokens)

    def follow_tokens(self, *, output_tokens: int) -> int:
        """Return the passage tokens of a follow-up question."""
        return _fitting(self.plan.follow_tokens, self.parts.models.map, output_tokens=output_tokens)

    def reduce_tokens(self, *, output_tokens: int) -> int:
        """Return the point tokens of the reduce call."""
        return _fitting(
            self.plan.reduce_tokens,
            self.parts.models.answers,
            output_tokens=output_tokens + self.count(self.earlier),
        )


def _fitting(tokens: int, gateway: LLMClient | None, *, output_tokens: int) -> int:
    """Clamp a token budget to the model's window minus instructions and answer."""
    if gateway is None:
        return tokens
    room = gateway.context_window - output_tokens - INSTRUCTION_TOKENS
    return min(tokens, max(room, _LEAST_TOKENS))


_LEAST_TOKENS = 200
"""A window too small for this is overrun: the server says so."""

INSTRUCTION_TOKENS = 800
"""Tokens reserved for instructions and question; at most half the window."""


def visible_reports(
    connection: Connection, library: Library, shelf: ReportCache, within: DocumentFilter | None
) -> Sequence[Report]:
    """Return the reports as visible to the asker."""
    if within is None:
        return shelf.reports
    rows = connection.execute(select(chunk_table.c.id, chunk_table.c.document_id)).all()
    known = library.document_metadata(connection)
    return filter_reports_by_access(
        shelf.extractive,
        documents={name for name, metadata in known.items() if within.admits(metadata)},
        document_of={row.id: row.document_id for row in rows},
        title_of={name: str(metadata["title"]) for name, metadata in known.items()},
    )
