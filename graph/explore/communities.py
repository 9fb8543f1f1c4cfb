"""The communities of a graph as they may be seen, with their reports.

Where not every document may be seen, a report says only what the seen documents say, never in a
model's words, under names that they have; a community of which fewer than two entities are seen is
not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection, select

from ..errors import NameUnknown
from ..model import Community, Report
from ..storage.database import derived_reports, read_communities, read_reports
from ..storage.facts import rows_in
from ..storage.schema import chunks
from .results import (
    CommunityDetail,
    CommunityList,
    CommunityName,
    EntityView,
    SeenCommunity,
    SeenFinding,
)
from .visible_graph import PageOf, VisibleGraph, source_quotes

LEAST_ENTITIES = 2
"""One entity alone is no community to look at."""
TITLE_NAMES = 3


@dataclass(frozen=True)
class SeenCommunities:
    """Visible communities by id, coarsest level first, then by weight.

    Reports by community.

    `unrated` are those of which something is hidden, or nothing reported.
    """

    listed: Mapping[str, SeenCommunity]
    members: Mapping[str, tuple[int, ...]]
    reports: Mapping[str, Report]
    unrated: frozenset[str]
    of_entity: Mapping[int, tuple[str, ...]]

    def page(self, *, level: int | None, limit: int, offset: int, after: str = "") -> CommunityList:
        """Return a page of communities, of one level or all: after an id, else a position."""
        found = [one for one in self.listed.values() if level is None or one.level == level]
        last = self.listed.get(after)
        begin = found.index(last) + 1 if last is not None and last in found else offset
        return CommunityList(
            items=tuple(found[begin : begin + limit]),
            total=len(found),
            begin=begin,
            levels=len({one.level for one in self.listed.values()}),
        )

    def names_of(self, ids: Collection[str]) -> tuple[CommunityName, ...]:
        """Communities as others point to them, the coarsest first."""
        return tuple(
            CommunityName(id=one.id, level=one.level, title=one.title)
            for one in sorted((self.listed[key] for key in ids), key=lambda c: (c.level, c.id))
        )

    def named(self, wanted: str) -> SeenCommunity:
        """Resolve an id, a number in the whole list (from 1) or a title.

        Raises:
            NameUnknown: there is none that is seen.
        """
        if wanted in self.listed:
            return self.listed[wanted]
        every = list(self.listed.values())
        text = " ".join(wanted.split()).casefold()
        digits = text.removeprefix("#")
        if digits.isascii() and digits.isdigit() and len(digits) < 10:
            number = int(digits)
            if 1 <= number <= len(every):
                return every[number - 1]
            raise NameUnknown(f"no community {number}: give a number from 1 to {len(every)}")
        for one in every:
            if text and " ".join(one.title.split()).casefold() == text:
                return one
        raise NameUnknown(
            f"no community has the id, number or title {wanted!r}: see the list of communities"
        )


def read_seen_communities(connection: Connection, seen: VisibleGraph) -> SeenCommunities:
    """Read the communities of the visible graph."""
    parts = _parts(read_communities(connection), seen)
    reports, unrated = _reports(connection, seen, parts)
    below: defaultdict[str, list[str]] = defaultdict(list)
    for key, part in parts.items():
        if part.community.parent_id in parts:
            below[str(part.community.parent_id)].append(key)
    strengths = seen.adjacency.strengths
    listed = [
        SeenCommunity(
            id=key,
            level=part.community.level,
            title=reports[key].title,
            size=len(part.numbers),
            weight=round(float(strengths[list(part.numbers)].sum()), 6),
            parent=part.community.parent_id if part.community.parent_id in parts else None,
            children=tuple(below[key]),
        )
        for key, part in parts.items()
    ]
    ordered = sorted(listed, key=lambda one: (one.level, -one.weight, one.id))
    of_entity: defaultdict[int, list[str]] = defaultdict(list)
    for one in ordered:
        for number in parts[one.id].numbers:
            of_entity[number].append(one.id)
    return SeenCommunities(
        listed={one.id: one for one in ordered},
        members={key: part.numbers for key, part in parts.items()},
        reports=reports,
        unrated=unrated,
        of_entity={number: tuple(some) for number, some in of_entity.items()},
    )


def community_detail(
    connection: Connection,
    found: SeenCommunities,
    wanted: str,
    *,
    page_of: PageOf,
    entity_at: Callable[[int], EntityView],
    limit: int,
) -> CommunityDetail:
    """Return a community with its report and first `limit` entities.

    `wanted` as of `named`.

    Raises:
        NameUnknown: there is no such community that is seen.
    """
    listed = found.named(wanted)
    report = found.reports[listed.id]
    places = [place for finding in report.findings for place in finding.evidences]
    told = source_quotes(connection, places, page_of=page_of)
    parent = found.names_of([listed.parent] if listed.parent else [])
    return CommunityDetail(
        id=listed.id,
        level=listed.level,
        title=listed.title,
        summary=report.summary,
        rating=None if listed.id in found.unrated else report.rating,
        rating_reason=report.rating_reason,
        written_by=report.written_by,
        findings=tuple(
            SeenFinding(
                text=finding.text,
                evidence=tuple(told[place] for place in finding.evidences if place in told),
            )
            for finding in report.findings
        ),
        entities=tuple(map(entity_at, found.members[listed.id][:limit])),
        size=listed.size,
        weight=listed.weight,
        parent=parent[0] if parent else None,
        children=found.names_of(listed.children),
    )


class _Part(NamedTuple):
    """A community and those of its entities that are seen, strongest first."""

    community: Community
    numbers: tuple[int, ...]
    is_whole: bool


def _parts(communities: Sequence[Community], seen: VisibleGraph) -> dict[str, _Part]:
    strengths = seen.adjacency.strengths.tolist()
    found: dict[str, _Part] = {}
    for community in communities:
        numbers = {n for one in community.entity_ids for n in seen.seen_as.get(one, ())}
        if len(numbers) < LEAST_ENTITIES:
            continue
        ordered = sorted(numbers, key=lambda n: (-strengths[n], seen.rank_of[n]))
        is_whole = len(numbers) == len(community.entity_ids) and all(
            seen.whole[number] for number in numbers
        )
        found[community.id] = _Part(community, tuple(ordered), is_whole)
    return found


def _reports(
    connection: Connection, seen: VisibleGraph, parts: Mapping[str, _Part]
) -> tuple[dict[str, Report], frozenset[str]]:
    """Return a report for each community, and communities with partial reports."""
    known = {report.community_id: report for report in read_reports(connection)}
    unrated = parts.keys() - known.keys()
    if seen.documents is not None:
        known, cut = _admitted(connection, seen, known, parts)
        unrated |= cut
    found = {}
    for key, part in parts.items():
        report = known.get(key) or _no_report(part.community)
        names = [seen.entities[number].name for number in part.numbers[:TITLE_NAMES]]
        found[key] = report if report.title else replace(report, title=", ".join(names))
    return found, frozenset(unrated)


def _no_report(community: Community) -> Report:
    return Report(
        community_id=community.id,
        level=community.level,
        title="",
        summary="",
        rating=0.0,
        findings=(),
        fingerprint="",
    )


def _admitted(
    connection: Connection,
    seen: VisibleGraph,
    reports: Mapping[str, Report],
    parts: Mapping[str, _Part],
) -> tuple[dict[str, Report], set[str]]:
    """Restrict reports to visible documents; untitled if partial."""
    plain = {report.fingerprint: report for report in derived_reports(connection)}
    held = _seen_chunks(connection, seen.documents or ())
    found: dict[str, Report] = {}
    cut: set[str] = set()
    for key in sorted(parts.keys() & reports.keys()):
        report = plain[reports[key].fingerprint]
        kept = tuple(
            one for one in report.findings if all(e.chunk_id in held for e in one.evidences)
        )
        if len(kept) < len(report.findings) or not parts[key].is_whole:
            cut.add(key)
            summary = " ".join(one.text for one in kept)
            report = replace(report, title="", summary=summary, findings=kept)
        found[key] = report
    return found, cut


def _seen_chunks(connection: Connection, documents: Collection[str]) -> frozenset[str]:
    rows = rows_in(connection, select(chunks.c.id), chunks.c.document_id, documents)
    return frozenset(row.id for row in rows)
