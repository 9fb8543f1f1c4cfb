"""Context of a global answer: one question with the reports and chunks that it may see.

`ReportCache` stays from question to question until the library changes. A report rests on many
documents; for a reader who may not see all of them it says only what the visible ones say, under a
title that names nothing else. `PLANS` bounds what an effort may read and ask: with a language model
prompt tokens of a `medium` question stay below 13,000 (drift: 60,000). `call_batch` asks several
prompts at once: one failure of several is counted and named, all of them are an error.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

from sqlalchemy import Connection, select

from ...config import AnswerSettings
from ...embeddings.tokenizer import TokenCount
from ...errors import ModelError, ModelInputTooLong, ModelUnavailable
from ...llm.client import LLMClient
from ...providers.llm_clients import Models
from ...retrieval.retriever import HybridRetriever
from ...storage.files import load_snapshot
from ...storage.graph_api import (
    Chunk,
    Community,
    CommunityTree,
    Evidence,
    Point,
    Prompt,
    Report,
    VisibleGraph,
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
from ...storage.graph_views import GraphViewCache
from ...storage.library import Library, day_of
from ...storage.schema import DocumentFilter
from ...storage.tokenization import TokenWeight, tokens
from ...types import Usage
from ...verification.pipeline import CitationVerifier
from ..extractive.block_candidates import Reader
from .topics import shared_endings, shared_titles, without_ending


def filter_reports_by_access(
    reports: Sequence[Report],
    *,
    documents: Collection[str],
    document_of: Mapping[str, str],
    title_of: Mapping[str, str],
) -> list[Report]:
    """Return the reports in order, with findings whose evidence is all visible.

    A title stays where nothing is left out and the findings hold every name in it: it could be that
    of a thing that only hidden documents speak of.

    Args:
        reports: as stored.
        documents: the ids of the documents that may be seen.
        document_of: chunk id → document id.
        title_of: document id → its title.
    """
    result: list[Report] = []
    for report in reports:
        kept = [
            finding
            for finding in report.findings
            if all(document_of.get(e.chunk_id) in documents for e in finding.evidences)
        ]
        if len(kept) == len(report.findings) and _names_only_what_is_said(report):
            result.append(report)
        elif kept:
            first = document_of[kept[0].evidences[0].chunk_id]
            result.append(
                replace(
                    report,
                    title=title_of.get(first, ""),
                    summary=" ".join(finding.text for finding in kept),
                    findings=tuple(kept),
                )
            )
    return result


def _names_only_what_is_said(report: Report) -> bool:
    said = " ".join(finding.text for finding in report.findings).casefold()
    return all(name.casefold() in said for name in _BETWEEN_NAMES.split(report.title))


_BETWEEN_NAMES = re.compile(r", | and |、|与")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSheet:
    """Numbered lines that an answer is written from, and the evidences of each number."""

    context: str
    evidences: Mapping[int, Sequence[Evidence]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePoints:
    """Points that bear on a question, or a `sheet` of all lines; and the chunks they rest on.

    `usage` is what gathering cost.
    """

    points: Sequence[Point] = ()
    sheet: SourceSheet | None = None
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def best_of(points: Sequence[Point], *, count: int = 3) -> str:
    """Return the best points with scores, for the trace."""
    best = sorted(points, key=lambda point: (-point.score, point.text))[:count]
    return "; ".join(f"{' '.join(point.text.split())[:90]} {point.score:.3g}" for point in best)


Selection = Literal["fixed", "dynamic", "lazy", "drift"]
Effort = Literal["low", "medium"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortPreset:
    """Limits of an effort; tokens are those of sources, without instructions.

    Attributes:
        map_tokens: shown to the model in the map round, all calls together.
        call_tokens: shown in one call, where the model's window holds as much.
        reduce_tokens: of the points that the answer is written from.
        rate_tokens: of `map_tokens`, shown for ratings, all levels together; with none the match of
            words and vectors rates (dynamic).
        levels: how deep communities are rated, from the root (dynamic).
        per_level: so many reports of a level are rated at most (dynamic).
        pool: how many passages the search gives, of which those that fit are read (lazy).
        primer_reports: reports that give the first points (drift).
        primer_tokens: shown of them to a model (drift).
        follow_ups: further searches a round (drift).
        depth: rounds of them (drift).
        follow_tokens: shown of one search's passages to a model (drift).
        topics: maximum number of topics of an overview without a model.
    """

    map_tokens: int
    call_tokens: int
    reduce_tokens: int
    rate_tokens: int
    levels: int
    per_level: int
    pool: int
    primer_reports: int
    primer_tokens: int
    follow_ups: int
    depth: int
    follow_tokens: int
    topics: int


PLANS: dict[Effort, EffortPreset] = {
    "low": EffortPreset(
        map_tokens=3_500,
        call_tokens=3_500,
        reduce_tokens=1_200,
        rate_tokens=0,
        levels=2,
        per_level=12,
        pool=40,
        primer_reports=4,
        primer_tokens=2_000,
        follow_ups=2,
        depth=1,
        follow_tokens=2_000,
        topics=5,
    ),
    "medium": EffortPreset(
        map_tokens=8_000,
        call_tokens=4_000,
        reduce_tokens=2_000,
        rate_tokens=2_400,
        levels=3,
        per_level=20,
        pool=100,
        primer_reports=12,
        primer_tokens=4_000,
        follow_ups=4,
        depth=2,
        follow_tokens=3_000,
        topics=8,
    ),
}


class Reply(Protocol):
    """LLM reply and its cost."""

    @property
    def text(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def usage(self) -> Usage: ...  # noqa: D102


class BatchLLM(Protocol):
    """A stage (`map`, `answers`) and prompts to what became of each, in their order."""

    def __call__(
        self,
        stage: str,
        prompts: Sequence[Prompt],
        *,
        on_event: Callable[[str], None] | None = None,
    ) -> Sequence[Reply | ModelError]:
        """Return the replies; `on_event` receives a single prompt's tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """Replies of one batch; None where a call failed.

    `failures` holds the reasons, each once, in the order of the calls; `failed` counts calls.
    `too_long` are the places of those that did not fit into the model's window.
    """

    texts: tuple[str | None, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    failures: tuple[str, ...] = ()
    too_long: tuple[int, ...] = ()


def call_batch(
    ask_many: BatchLLM,
    stage: str,
    prompts: Sequence[Prompt],
    *,
    divisible: bool = False,
    on_event: Callable[[str], None] | None = None,
) -> BatchResult:
    """Ask all prompts at once; `on_event` hears the reply where there is but one.

    With `divisible`, the caller asks again in parts what was too long: that alone is no error.

    Raises:
        ModelError: the first call's error, where every call failed.
    """
    replies = ask_many(stage, prompts, on_event=on_event) if prompts else ()
    errors = [reply for reply in replies if isinstance(reply, ModelError)]
    too_long = [n for n, reply in enumerate(replies) if isinstance(reply, ModelInputTooLong)]
    if errors and len(errors) == len(replies) and not (divisible and too_long):
        raise errors[0]
    usage = Usage()
    texts: list[str | None] = []
    for reply in replies:
        if isinstance(reply, ModelError):
            texts.append(None)
        else:
            usage = usage + reply.usage
            texts.append(reply.text)
    return BatchResult(
        texts=tuple(texts),
        usage=usage,
        failed=len(errors),
        failures=tuple(dict.fromkeys(str(error) for error in errors)),
        too_long=tuple(too_long),
    )


ReportsFor = Callable[[Sequence[str]], Mapping[str, Report]]
"""Community ids to reports, written by a model first where missing."""


@dataclass(frozen=True)
class CommunityAssignment:
    """Assignment of chunks to communities, with entity counts and documents."""

    tree: CommunityTree
    homes: Mapping[str, str]
    weights: Mapping[str, float]
    document_of: Mapping[str, str]
    names: Mapping[str, str]
    labels: Mapping[str, tuple[str, ...]]


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
                content = self._library.content_stamp(connection)
                view = load_snapshot(connection, self._library.path / "derived", content=content)
                labels = dict(zip(view.chunk_ids, view.labels, strict=True))
                places = CommunityAssignment(
                    tree=shelf.tree,
                    homes=shelf.tree.homes(labels),
                    weights={key: float(len(found)) for key, found in labels.items()},
                    document_of=dict(zip(view.chunk_ids, view.documents, strict=True)),
                    names=dict(view.display),
                    labels=labels,
                )
                self._places = (shelf.stamp, places)
            return self._places[1]


_HEADING = re.compile(r"^#{1,3} +(\S.*)$", re.MULTILINE)
_AT_ONCE = 500
"""Documents that are asked for in one query."""


def _first_headings(
    connection: Connection, documents: Sequence[str], titles: Set[str]
) -> dict[str, str]:
    """Return the first heading of each document that is none of these titles; "" without one."""
    columns = chunk_table.c
    begins = select(columns.document_id, columns.text).where(columns.position == 0)
    headed = select(columns.document_id, columns.headings)
    first = dict.fromkeys(documents, "")
    for query, headings_of in ((begins, _HEADING.findall), (headed, json.loads)):
        left = [name for name, heading in first.items() if not heading]
        ordered = query.order_by(columns.document_id, columns.position)
        for at in range(0, len(left), _AT_ONCE):
            some = ordered.where(columns.document_id.in_(left[at : at + _AT_ONCE]))
            for document, value in connection.execute(some):
                if not first[document]:
                    own = (one.strip() for one in headings_of(value))
                    first[document] = next((one for one in own if one not in titles), "")
    return first


_ABOUT_WHOLE, _NAMES_NOTHING = 0.7, 0.8
"""Probabilities from which a question is about the whole, and has no subject. Of 82 questions for
overviews, summaries and topics those on a topic have .54 at most."""


@dataclass(frozen=True)
class GlobalContext:
    """One question with all that answers it.

    `reports` are those that the asker may see: where not every document is admitted, sentences of
    admitted ones, never a model's words. `ask_many` is None without a language model, `reader`
    without a cross-encoder. `whole`: how likely the question is about the documents as a whole,
    0–1. `earlier` is what was said before the question.
    """

    question: str
    within: DocumentFilter | None
    plan: EffortPreset
    settings: AnswerSettings
    retriever: HybridRetriever
    models: Models
    checks: CitationVerifier
    count: TokenCount
    library: Library
    shelf: ReportCache
    shelves: ReportCacheHolder
    reports: Sequence[Report]
    views: GraphViewCache
    ask_many: BatchLLM | None
    reports_for: ReportsFor | None
    reader: Reader | None = None
    whole: float = 0.0
    earlier: str = ""

    @property
    def about_whole(self) -> bool:
        """Check for a question about the documents as a whole, maybe on a subject."""
        return self.whole >= _ABOUT_WHOLE

    @property
    def names_nothing(self) -> bool:
        """Check for a question so plainly about the whole that no word of it is a subject."""
        return self.whole >= _NAMES_NOTHING

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
        return None if self.within is None else self.retriever.documents(self.within)

    @cached_property
    def by_document(self) -> Mapping[str, Sequence[str]]:
        """The chunks of each document that may be seen, by its id."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for key, document in self.places.document_of.items():
            if self.admitted is None or document in self.admitted:
                found[document].append(key)
        return dict(found)

    @cached_property
    def weight(self) -> TokenWeight:
        """Return the idf of words among the documents that may be seen."""
        return self.retriever.idf(self.within)

    @property
    def model(self) -> BatchLLM:
        """Return the model that selections ask; there are none without one."""
        if self.ask_many is None:
            raise ModelUnavailable("no language model to select with: set `llm` in the settings")
        return self.ask_many

    def seen(self) -> VisibleGraph:
        """Return the graph as the documents that may be seen give it."""
        with self.library.read() as connection, graph_errors():
            return self.views.current(connection, self.within)

    def report_size(self, text: str) -> int:
        """Tokens of a report's text, counted once for all questions."""
        sizes = self.shelf.sizes
        if text not in sizes:
            sizes[text] = self.count(text)
        return sizes[text]

    def headings(self, chunks: Iterable[Chunk]) -> dict[str, str]:
        """Return the document's title and date of each chunk, by its id."""
        with self.library.read() as connection:
            known = self.library.document_metadata(connection)
        return {
            chunk.id: " · ".join(
                filter(None, (chunk.title, day_of(known.get(chunk.document_id, {}))))
            )
            for chunk in chunks
        }

    def chunks(self, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
        """Return chunks by id, titled without the name of the book or site they belong to.

        Where many documents have one title that is the name, and each is called by its heading.
        """
        with self.library.read() as connection, graph_errors():
            found = read_chunks(connection, sorted(set(chunk_ids)))
            shared = {one.document_id for one in found.values() if one.title in self._shared}
            if new := sorted(shared - self._headed.keys()):
                self._headed.update(_first_headings(connection, new, self._shared))
        return {
            key: replace(
                chunk,
                title=self._headed.get(chunk.document_id)
                or without_ending(chunk.title, self._endings),
            )
            for key, chunk in found.items()
        }

    @cached_property
    def _headed(self) -> dict[str, str]:
        return {}

    @cached_property
    def _endings(self) -> tuple[str, ...]:
        return shared_endings(self.retriever.titles(self.within))

    @cached_property
    def _shared(self) -> frozenset[str]:
        return shared_titles(self.retriever.titles(self.within))

    def ordered(self, chunk_ids: Iterable[str]) -> list[Chunk]:
        """Chunks of one document in the order of its text."""
        return sorted(self.chunks(chunk_ids).values(), key=lambda one: (one.position, one.start))

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
        return self.near_to(self.question, chunk_ids)

    def near_to(self, text: str, chunk_ids: Iterable[str]) -> dict[str, float]:
        """Cosines of chunks with a text; empty where no encoder can read it."""
        return self.retriever.cosines(text, sorted(set(chunk_ids)))

    def written(self, reports: Sequence[Report]) -> list[Report]:
        """Return model-written reports where available and fully visible."""
        if self.reports_for is None or self.within is not None or not reports:
            return list(reports)
        found = self.reports_for([report.community_id for report in reports])
        return [found.get(report.community_id, report) for report in reports]

    def call_tokens(self, *, output_tokens: int) -> int:
        """Return the source tokens of one map call."""
        most = min(self.plan.call_tokens, self.settings.global_budget_tokens)
        return _fitting(most, self.models.map, output_tokens=output_tokens)

    def whole_tokens(self, *, output_tokens: int) -> int:
        """Return the source tokens of a call that writes the answer from them."""
        return _fitting(
            self.plan.map_tokens + _HEADING_TOKENS,
            self.models.answers,
            output_tokens=output_tokens + self.count(self.earlier),
        )

    def follow_tokens(self, *, output_tokens: int) -> int:
        """Return the passage tokens of a follow-up question."""
        return _fitting(self.plan.follow_tokens, self.models.map, output_tokens=output_tokens)

    def reduce_tokens(self, *, output_tokens: int) -> int:
        """Return the point tokens of the reduce call."""
        return _fitting(
            self.plan.reduce_tokens,
            self.models.answers,
            output_tokens=output_tokens + self.count(self.earlier),
        )


def _fitting(tokens: int, gateway: LLMClient | None, *, output_tokens: int) -> int:
    """Clamp a token budget to the model's window minus instructions and answer."""
    if gateway is None:
        return tokens
    room = gateway.context_window - output_tokens - INSTRUCTION_TOKENS
    return min(tokens, max(room, _LEAST_TOKENS))


_HEADING_TOKENS = 2_000
"""Tokens of numbers and headings beside `map_tokens` of sources."""

_LEAST_TOKENS = 200
"""A window too small for this is overrun: the server says so."""

INSTRUCTION_TOKENS = 800
"""Tokens reserved for instructions and question; at most half the window."""


def visible_reports(
    connection: Connection, library: Library, shelf: ReportCache, within: DocumentFilter | None
) -> Sequence[Report]:
    """Return the community reports that a global answer may use under the caller's filters."""
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
