"""Storage of model-written reports and their inputs.

A written report stands for the extractive one of its fingerprint, and goes with it: whatever
changes what a report rests on takes the written one away too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, select

from .facts import batches, read_state, write_state
from .model import Community, Relation, Report
from .read import (
    derived_reports,
    read_communities,
    read_entities,
    read_relations,
    read_reports,
    write_findings,
)
from .report_prompt import ReportBasis, WrittenReport
from .schema import members, reports, written_reports

WRITTEN = "written reports"
"""Key of the state table: how often a model's reports were stored."""


class ReportQueue:
    """Inputs of reports, read once.

    Only communities of at least `min_entities` are worth a model's report.
    """

    def __init__(self, connection: Connection, *, min_entities: int) -> None:
        self._communities = {one.id: one for one in read_communities(connection)}
        self._derived = {one.community_id: one for one in derived_reports(connection)}
        self._now = {one.community_id: one for one in read_reports(connection)}
        self._entities = {one.id: one for one in read_entities(connection)}
        self._relations = _by_source(read_relations(connection))
        self._parts = _parts(self._communities.values())
        self._min_entities = min_entities

    def unwritten(self, community_ids: Collection[str] | None = None) -> list[list[str]]:
        """Return communities without a model's report, of all or these, finest first.

        Each list holds the communities of one level, sorted: those of a finer one are to be written
        before, since the report of a large community is made of its parts'.
        """
        levels: dict[int, list[str]] = defaultdict(list)
        for key in sorted(self._now):
            community = self._communities[key]
            large = len(community.entity_ids) >= self._min_entities
            wanted = community_ids is None or key in community_ids
            if large and wanted and not self._now[key].written_by:
                levels[community.level].append(key)
        return [levels[level] for level in sorted(levels, reverse=True)]

    def basis(self, community_id: str) -> ReportBasis:
        """Return the input of one report."""
        community = self._communities[community_id]
        inside = frozenset(community.entity_ids)
        return ReportBasis(
            community=community,
            derived=self._derived[community_id],
            entities=tuple(self._entities[key] for key in community.entity_ids),
            relations=tuple(
                relation
                for key in community.entity_ids
                for relation in self._relations.get(key, ())
                if relation.target_id in inside
            ),
            children=tuple(
                self._now[part] for part in self._parts[community_id] if part in self._now
            ),
        )

    def note(self, community_id: str, written: Report) -> None:
        """Record a new report, since larger communities build on it."""
        self._now[community_id] = written

    def fingerprint(self, community_id: str) -> str:
        """Under which a community's written report is kept."""
        return self._derived[community_id].fingerprint


def unwritten_among(
    connection: Connection, community_ids: Collection[str], *, min_entities: int
) -> list[str]:
    """Return those of these communities that deserve and lack a model's report, sorted."""
    found: list[str] = []
    for batch in batches(community_ids):
        sizes = (
            select(members.c.community_id)
            .where(members.c.community_id.in_(batch))
            .group_by(members.c.community_id)
            .having(func.count() >= min_entities)
        )
        query = select(reports.c.community_id).where(
            reports.c.community_id.in_(sizes),
            reports.c.dirty.is_(False),
            reports.c.fingerprint.not_in(select(written_reports.c.fingerprint)),
        )
        found += connection.execute(query).scalars()
    return sorted(found)


def put_written(
    connection: Connection, found: Mapping[str, WrittenReport], *, model: str
) -> list[str]:
    """Store reports by fingerprint; return the fingerprints still in use.

    A report whose documents changed meanwhile is dropped: nothing may outlive what it rests on.
    """
    wanted = sorted(found)
    query = select(reports.c.fingerprint).where(reports.c.fingerprint.in_(wanted))
    held = sorted(set(connection.execute(query).scalars()))
    connection.execute(delete(written_reports).where(written_reports.c.fingerprint.in_(held)))
    rows = [
        {
            "fingerprint": fingerprint,
            "model": model,
            "title": found[fingerprint].title,
            "summary": found[fingerprint].summary,
            "rating": found[fingerprint].rating,
            "rating_reason": found[fingerprint].rating_reason,
            "findings": write_findings(found[fingerprint].findings),
        }
        for fingerprint in held
    ]
    if rows:
        connection.execute(insert(written_reports), rows)
        write_state(connection, WRITTEN, str(int(read_state(connection, WRITTEN) or 0) + 1))
    return held


def reports_stamp(connection: Connection) -> str:
    """Return a stamp that changes with stored reports."""
    return read_state(connection, WRITTEN) or "0"


def _by_source(found: Sequence[Relation]) -> dict[str, list[Relation]]:
    by_source: dict[str, list[Relation]] = defaultdict(list)
    for relation in found:
        by_source[relation.source_id].append(relation)
    return by_source


def _parts(communities: Collection[Community]) -> dict[str, list[str]]:
    """Return the children of each community, sorted; empty for a single one."""
    parts: dict[str, list[str]] = defaultdict(list)
    for community in sorted(communities, key=lambda one: one.id):
        if community.parent_id is not None:
            parts[community.parent_id].append(community.id)
    return defaultdict(list, {key: some for key, some in parts.items() if len(some) > 1})
