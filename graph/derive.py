"""From all facts to what rests on them: entities, links, relations, communities, reports.

One transaction, in which the rows written are a function of the facts alone: a library that
reached the same facts by another way holds the same rows. Only what differs is written, and
relations and reports are made anew only where something they rest on may have changed (`changes`).
Interrupted anywhere, the old rows stay, dirty ones unread, and the next call does it again. Facts
from which nothing can be derived are left out (`suspects`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, delete, func, insert, select

from .changes import (
    communities_of,
    entities_in,
    entities_of_rows,
    rechunked_documents,
    redescribed_relations,
)
from .clustering import Way, clustered
from .collector import gc_paused
from .composed_reports import parts_of
from .database import Database
from .digests import collect_descriptions, described
from .facts import batches, derived_generation, generation, write_state
from .judgement_store import forget_judgements
from .linking import Progress, mark_unlinked, write_links
from .model import Community, Entity, Merge, Name, Report
from .name_facts import resolution
from .read import derived_reports, write_findings
from .relating import read_edges, stated_relations, write_relations
from .report_reading import report_input
from .reports import FORMAT, ReportInput, write_reports
from .rows import Difference, write_difference, write_difference_at
from .schema import (
    communities,
    entities,
    members,
    names,
    reports,
    written_reports,
)
from .suspects import derived_without_suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveOptions:
    """Options of the derived rows besides the facts.

    With `communities` "anchored" they also depend on the order in which documents came: communities
    stay as they were (see `anchored`) until more than `drift`, a share of all entities, has moved.
    """

    max_community_size: int = 20
    resolution: float = 1.0
    seed: int = 20240601
    communities: Way = "exact"
    drift: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """Counts of derived rows, and how many were written."""

    entities: int = 0
    relations: int = 0
    communities: int = 0
    reports: int = 0
    reports_written: int = 0
    rows_written: int = 0


def is_fresh(database: Database) -> bool:
    """Check whether derived rows are current."""
    with database.read() as connection:
        return derived_generation(connection) == generation(connection)


def derive(
    database: Database, *, options: DeriveOptions, progress: Progress | None = None
) -> Derived:
    """Derive every row from the facts in one transaction; free if current.

    Args:
        database: where facts are read and derived rows written.
        options: clustering parameters.
        progress: called with a stage's name, steps done and steps in all.
    """
    if is_fresh(database):  # without waiting for whoever writes
        return Derived()
    report = progress or (lambda _stage, _done, _total: None)
    with database.write() as connection, gc_paused():
        if derived_generation(connection) == generation(connection):
            return Derived()
        return derived_without_suspects(connection, lambda: _derive(connection, options, report))


def _derive(connection: Connection, options: DeriveOptions, report: Progress) -> Derived:
    current = generation(connection)
    laid_anew = rechunked_documents(connection, version=FORMAT)
    report("resolve", 0, 1)
    named = resolution(connection)
    forget_judgements(connection, {name.key for name in named.names})
    entity_of = {merge.key: merge.entity_id for merge in named.merges}
    said = described(connection, collect_descriptions(connection, named.entities, entity_of))
    found = [replace(entity, description=said.get(entity.id, "")) for entity in named.entities]
    entity_rows = _write_entities(connection, found)
    name_rows = _write_names(connection, named.names, named.merges)
    touched: set[str] | None = None  # everything
    if laid_anew is not None:
        touched = entities_of_rows(entity_rows, name_rows)
        touched |= entities_in(connection, laid_anew, entity_of=entity_of)
        touched |= redescribed_relations(connection, said)
    report("link", 0, 1)
    write_links(connection, report)
    related = stated_relations(connection, entity_of, said=said, only=touched)
    relation_rows = write_relations(connection, related, only=touched)
    report("cluster", 0, 1)
    relation_count, edges = read_edges(connection)
    clusters = clustered(
        connection,
        [entity.id for entity in found],
        edges,
        way=options.communities,
        drift=options.drift,
        max_size=options.max_community_size,
        resolution=options.resolution,
        seed=options.seed,
    )
    before = derived_reports(connection)
    fresh, community_count = _write_communities(connection, clusters)
    again = clusters if touched is None else communities_of(clusters, touched, fresh=fresh)
    report("report", 0, len(again))
    anew = {one.id for one in again}
    resting_on = report_input(
        connection,
        again,
        entities={entity.id: entity for entity in found},
        entity_of=entity_of,
        said=said,
        parts=parts_of(clusters),
        told={one.community_id: one for one in before if one.community_id not in anew},
    )
    report_rows, written = _report_anew(connection, resting_on, before=before)
    report("report", len(again), len(again))
    write_state(connection, "derived", str(current))
    return Derived(
        entities=len(found),
        relations=relation_count,
        communities=len(clusters),
        reports=connection.execute(select(func.count()).select_from(reports)).scalar_one(),
        reports_written=written,
        rows_written=community_count
        + sum(rows.count for rows in (entity_rows, name_rows, relation_rows, report_rows)),
    )


def _write_entities(connection: Connection, found: Sequence[Entity]) -> Difference:
    rows = [
        {
            "id": entity.id,
            "name": entity.name,
            "type": entity.type,
            "aliases": json.dumps(entity.aliases, ensure_ascii=False),
            "mention_count": entity.mention_count,
            "document_count": entity.document_count,
            "description": entity.description,
            "dirty": False,
        }
        for entity in found
    ]
    return write_difference(connection, entities, rows)


def _write_names(
    connection: Connection, known: Sequence[Name], merges: Sequence[Merge]
) -> Difference:
    kinds = {name.key: _kind(name) for name in known}
    rows = [
        {
            "key": merge.key,
            "entity_id": merge.entity_id,
            "reason": merge.reason,
            "kind": kinds[merge.key],
            "dirty": False,
        }
        for merge in merges
    ]
    mark_unlinked(connection, {(str(row["key"]), str(row["kind"])) for row in rows})
    return write_difference(connection, names, rows)


def _kind(name: Name) -> str:
    if name.titles:
        return "title"
    return "name" if name.types.keys() - {"CONCEPT"} else "concept"


def _write_communities(connection: Connection, found: Sequence[Community]) -> tuple[set[str], int]:
    """Write communities; return new ids and the number of changed rows.

    A community's id comes from its members: those of one that was there before are there, too.
    """
    held = set(connection.execute(select(communities.c.id)).scalars())
    written = 0
    for batch in batches(held - {value.id for value in found}):
        for table in (members, reports):
            gone = delete(table).where(table.c.community_id.in_(batch))
            written += connection.execute(gone).rowcount
    rows = [
        {"id": value.id, "level": value.level, "parent_id": value.parent_id, "dirty": False}
        for value in found
    ]
    written += write_difference(connection, communities, rows).count
    member_rows = [
        {"community_id": value.id, "entity_id": entity_id}
        for value in found
        if value.id not in held
        for entity_id in value.entity_ids
    ]
    if member_rows:
        connection.execute(insert(members), member_rows)
    return {value.id for value in found} - held, written + len(member_rows)


def _report_anew(
    connection: Connection, resting_on: ReportInput, *, before: Sequence[Report]
) -> tuple[Difference, int]:
    """Rewrite possibly changed reports; return rows and the number written."""
    previous = {one.fingerprint: one for one in before}
    values = write_reports(resting_on, previous=previous)
    rows = _write_reports(connection, values, again=[one.id for one in resting_on.communities])
    return rows, sum(value.fingerprint not in previous for value in values)


def _write_reports(
    connection: Connection, values: Sequence[Report], *, again: Collection[str]
) -> Difference:
    """Store the reports of the communities `again`; written reports of others are deleted."""
    rows = [
        {
            "community_id": value.community_id,
            "fingerprint": value.fingerprint,
            "level": value.level,
            "title": value.title,
            "summary": value.summary,
            "rating": value.rating,
            "findings": write_findings(value.findings),
            "dirty": False,
        }
        for value in values
    ]
    written = write_difference_at(
        connection, reports, rows=rows, at=(reports.c.community_id,), values=again
    )
    held = select(reports.c.fingerprint)
    connection.execute(delete(written_reports).where(written_reports.c.fingerprint.not_in(held)))
    return written
