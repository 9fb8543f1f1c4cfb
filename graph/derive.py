"""From all facts to what rests on them: entities, links, relations, communities, reports.

One transaction, in which the rows written are a function of the facts alone: a library that
reached the same facts by another way holds the same rows. Only what differs is written.
Interrupted anywhere, the old rows stay, dirty ones unread, and the next call does it again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    delete,
    select,
)

from .communities import communities as cluster
from .database import Database
from .digests import described, ends_of, things_said
from .facts import (
    chunk_of,
    derived_generation,
    generation,
    write_state,
)
from .judgement_store import forget_judgements
from .linking import Progress, mark_unlinked, write_links
from .model import (
    OCCURS_WITH,
    Community,
    Entity,
    Evidence,
    Merge,
    Name,
    Relation,
    Report,
    content_id,
)
from .name_facts import resolution
from .read import derived_reports, write_findings
from .reports import EntityMention, ReportInput, write_reports
from .rows import replace_rows
from .schema import (
    chunks,
    communities,
    entities,
    members,
    mentions,
    names,
    relations,
    reports,
    statements,
    written_reports,
)

TYPED_WEIGHT = 2.0
"""A stated relation binds its two ends more than standing in one sentence, which weighs 1."""

INFERRED_SHARE = 0.5
"""What is left of that where no single sentence names both ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveOptions:
    """What the derived rows depend on besides the facts."""

    max_community_size: int = 20
    resolution: float = 1.0
    seed: int = 20240601


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """How much there is, and how much of it had to be written."""

    entities: int = 0
    relations: int = 0
    communities: int = 0
    reports: int = 0
    reports_written: int = 0
    rows_written: int = 0


def is_fresh(database: Database) -> bool:
    """Whether the derived rows rest on the facts as they are now."""
    with database.read() as connection:
        return derived_generation(connection) == generation(connection)


def derive(
    database: Database, *, options: DeriveOptions, progress: Progress | None = None
) -> Derived:
    """Bring every derived row up to the facts, in one transaction; nothing to do is free.

    Args:
        database: where facts are read and derived rows written.
        options: clustering parameters.
        progress: called with a stage's name, steps done and steps in all.
    """
    if is_fresh(database):  # without waiting for whoever writes
        return Derived()
    report = progress or (lambda _stage, _done, _total: None)
    with database.write() as connection:
        current = generation(connection)
        if derived_generation(connection) == current:
            return Derived()
        report("resolve", 0, 1)
        named = resolution(connection)
        forget_judgements(connection, {name.key for name in named.names})
        entity_of = {merge.key: merge.entity_id for merge in named.merges}
        said = described(connection, things_said(connection, named.entities, entity_of))
        found = [replace(entity, description=said.get(entity.id, "")) for entity in named.entities]
        written = _write_entities(connection, found)
        written += _write_names(connection, named.names, named.merges)
        report("link", 0, 1)
        write_links(connection, report)
        edges = _relations(connection, entity_of, said=said)
        written += _write_relations(connection, edges)
        report("cluster", 0, 1)
        clusters = cluster(
            sorted(entity.id for entity in found),
            _weighted_edges(edges),
            max_size=options.max_community_size,
            resolution=options.resolution,
            seed=options.seed,
        )
        written += _write_communities(connection, clusters)
        report("report", 0, len(clusters))
        previous = {value.fingerprint: value for value in derived_reports(connection)}
        values = write_reports(
            _report_input(connection, found, edges, clusters, entity_of), previous=previous
        )
        written += _write_reports(connection, values)
        report("report", len(clusters), len(clusters))
        write_state(connection, "derived", str(current))
    return Derived(
        entities=len(found),
        relations=len(edges),
        communities=len(clusters),
        reports=len(values),
        reports_written=sum(value.fingerprint not in previous for value in values),
        rows_written=written,
    )


def _write_entities(connection: Connection, found: Sequence[Entity]) -> int:
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
    return replace_rows(connection, entities, rows)


def _write_names(connection: Connection, known: Sequence[Name], merges: Sequence[Merge]) -> int:
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
    return replace_rows(connection, names, rows)


def _kind(name: Name) -> str:
    if name.titles:
        return "title"
    return "name" if name.types.keys() - {"CONCEPT"} else "concept"


def _relations(
    connection: Connection, entity_of: Mapping[str, str], *, said: Mapping[str, str]
) -> list[Relation]:
    """Statements gathered by the entities they mean, with every evidence; sorted by id."""
    evidences: dict[tuple[str, str, str], dict[Evidence, float]] = defaultdict(dict)
    for row in connection.execute(select(statements)):
        ends = ends_of(row, entity_of)
        if ends is None:
            continue
        place = Evidence(chunk_id=row.chunk_id, start=row.start, end=row.end)
        known = evidences[ends]
        known[place] = max(known.get(place, 0.0), _weight(row))
    found = [
        Relation(
            id=(key := content_id("r", *ends)),
            source_id=ends[0],
            predicate=ends[1],
            target_id=ends[2],
            weight=round(sum(places[place] for place in sorted(places)), 6),
            evidences=tuple(sorted(places)),
            description=said.get(key, ""),
        )
        for ends, places in evidences.items()
    ]
    return sorted(found, key=lambda relation: relation.id)


def _weight(statement: Row[Any]) -> float:
    """What one evidence of a relation weighs."""
    if statement.predicate == OCCURS_WITH:
        return 1.0
    sure = INFERRED_SHARE if statement.inferred else 1.0
    return TYPED_WEIGHT * float(statement.strength) * sure


def _weighted_edges(found: Iterable[Relation]) -> list[tuple[str, str, float]]:
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for relation in found:
        ends = sorted((relation.source_id, relation.target_id))
        weights[ends[0], ends[1]] += relation.weight
    return [(source, target, weight) for (source, target), weight in sorted(weights.items())]


def _write_relations(connection: Connection, found: Sequence[Relation]) -> int:
    rows = [
        {
            "id": relation.id,
            "source_id": relation.source_id,
            "predicate": relation.predicate,
            "target_id": relation.target_id,
            "weight": relation.weight,
            "description": relation.description,
        }
        for relation in found
    ]
    return replace_rows(connection, relations, rows)


def _write_communities(connection: Connection, found: Sequence[Community]) -> int:
    rows = [
        {"id": value.id, "level": value.level, "parent_id": value.parent_id, "dirty": False}
        for value in found
    ]
    written = replace_rows(connection, communities, rows)
    member_rows = [
        {"community_id": value.id, "entity_id": entity_id}
        for value in found
        for entity_id in value.entity_ids
    ]
    return written + replace_rows(connection, members, member_rows)


def _report_input(
    connection: Connection,
    found: Sequence[Entity],
    edges: Sequence[Relation],
    clusters: Sequence[Community],
    entity_of: Mapping[str, str],
) -> ReportInput:
    rows = connection.execute(
        select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, mentions.c.key)
    )
    placed = sorted(
        {
            (row.chunk_id, row.start, row.end, entity_of[row.key])
            for row in rows
            if row.key in entity_of
        }
    )
    return ReportInput(
        communities=tuple(clusters),
        entities={entity.id: entity for entity in found},
        relations=tuple(edges),
        chunks={row.id: chunk_of(row) for row in connection.execute(select(chunks))},
        mentions=tuple(
            EntityMention(chunk_id=chunk_id, start=start, end=end, entity_id=entity_id)
            for chunk_id, start, end, entity_id in placed
        ),
    )


def _write_reports(connection: Connection, values: Sequence[Report]) -> int:
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
    written = replace_rows(connection, reports, rows)
    held = select(reports.c.fingerprint)
    connection.execute(delete(written_reports).where(written_reports.c.fingerprint.not_in(held)))
    return written
