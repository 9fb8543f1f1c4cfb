"""Derived rows as values; dirty rows are skipped."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from ..model import (
    OCCURS_WITH,
    Chunk,
    Claim,
    Community,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    Merge,
    PlacedClaim,
    Relation,
    Report,
)
from .facts import batches, chunk_of
from .schema import (
    chunks,
    claims,
    communities,
    entities,
    links,
    members,
    names,
    relations,
    reports,
    statements,
    written_reports,
)


def read_chunks(connection: Connection, ids: Iterable[str] | None = None) -> dict[str, Chunk]:
    """Chunks by id; all of them without `ids`."""
    if ids is None:
        return {row.id: chunk_of(row) for row in connection.execute(select(chunks))}
    found: dict[str, Chunk] = {}
    for batch in batches(ids):
        rows = connection.execute(select(chunks).where(chunks.c.id.in_(batch)))
        found.update((row.id, chunk_of(row)) for row in rows)
    return found


def read_entities(connection: Connection) -> list[Entity]:
    """Every entity, sorted by id."""
    # Plain tuples, unpacked: a large library has hundreds of thousands, and attributes cost.
    keys: defaultdict[str, list[str]] = defaultdict(list)
    known = select(names.c.key, names.c.entity_id).where(names.c.dirty.is_(False))
    for key, entity_id in connection.execute(known.order_by(names.c.key)):
        keys[entity_id].append(key)
    query = select(*_ENTITY_COLUMNS).where(entities.c.dirty.is_(False)).order_by(entities.c.id)
    return [_entity(tuple(keys.get(row[0], ())), *row) for row in connection.execute(query)]


_ENTITY_COLUMNS = tuple(
    entities.c[name]
    for name in ("id", "name", "type", "aliases", "mention_count", "document_count", "description")
)


def entity_of_row(row: Row[Any], *, keys: tuple[str, ...]) -> Entity:
    """Convert a row of `entities` with its keys."""
    return _entity(keys, *(row._mapping[column] for column in _ENTITY_COLUMNS))


def _entity(
    keys: tuple[str, ...],
    id_: str,
    name: str,
    kind: str,
    aliases: str,
    mention_count: int,
    document_count: int,
    description: str,
) -> Entity:
    return Entity(
        id=id_,
        name=name,
        type=kind,
        keys=keys,
        aliases=() if aliases == "[]" else tuple(json.loads(aliases)),
        mention_count=mention_count,
        document_count=document_count,
        description=description,
    )


def read_merges(connection: Connection) -> list[Merge]:
    """Read the entity and reason of each name, sorted by key."""
    query = select(names).where(names.c.dirty.is_(False)).order_by(names.c.key)
    return [
        Merge(key=row.key, entity_id=row.entity_id, reason=row.reason)
        for row in connection.execute(query)
    ]


def read_relations(connection: Connection) -> list[Relation]:
    """Every relation between clean entities with its evidences, sorted by id."""
    clean = set(
        connection.execute(select(entities.c.id).where(entities.c.dirty.is_(False))).scalars()
    )
    entity_of = {merge.key: merge.entity_id for merge in read_merges(connection)}
    places: dict[tuple[str, str, str], set[Evidence]] = defaultdict(set)
    for row in connection.execute(select(statements)):
        ends = entity_of.get(row.subject), entity_of.get(row.object)
        if ends[0] is None or ends[1] is None:
            continue
        source, target = sorted(ends) if row.predicate == OCCURS_WITH else ends  # type: ignore[type-var]
        evidence = Evidence(chunk_id=row.chunk_id, start=row.start, end=row.end)
        places[str(source), row.predicate, str(target)].add(evidence)
    return [
        Relation(
            id=row.id,
            source_id=row.source_id,
            predicate=row.predicate,
            target_id=row.target_id,
            weight=row.weight,
            evidences=tuple(sorted(places[row.source_id, row.predicate, row.target_id])),
            description=row.description,
        )
        for row in connection.execute(select(relations).order_by(relations.c.id))
        if row.source_id in clean and row.target_id in clean
    ]


def read_appearances(connection: Connection) -> dict[str, tuple[str, ...]]:
    """By entity id, the chunks in which one of its names stands; both sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    query = (
        select(names.c.entity_id, links.c.chunk_id)
        .join(links, links.c.key == names.c.key)
        .where(names.c.dirty.is_(False))
    )
    for row in connection.execute(query):
        found[row.entity_id].add(row.chunk_id)
    return {entity_id: tuple(sorted(found[entity_id])) for entity_id in sorted(found)}


def read_communities(connection: Connection) -> list[Community]:
    """Every community, sorted by level and id."""
    inside: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(members).order_by(members.c.entity_id)):
        inside[row.community_id].append(row.entity_id)
    query = select(communities).where(communities.c.dirty.is_(False))
    return [
        Community(
            id=row.id, level=row.level, parent_id=row.parent_id, entity_ids=tuple(inside[row.id])
        )
        for row in connection.execute(query.order_by(communities.c.level, communities.c.id))
    ]


def read_reports(connection: Connection) -> list[Report]:
    """Every report, sorted by level and community; a model's where it has written one."""
    written = {row.fingerprint: row for row in connection.execute(select(written_reports))}
    query = (
        select(reports)
        .join(communities, communities.c.id == reports.c.community_id)
        .where(and_(reports.c.dirty.is_(False), communities.c.dirty.is_(False)))
    )
    return [
        _written(report, written.get(report.fingerprint)) for report in _reports(connection, query)
    ]


def derived_reports(connection: Connection) -> list[Report]:
    """Every report as it was derived, stale ones too; what models wrote is left out."""
    return _reports(connection, select(reports))


def _reports(connection: Connection, query: Select[Any]) -> list[Report]:
    query = query.order_by(reports.c.level, reports.c.community_id)
    return [
        Report(
            community_id=row.community_id,
            level=row.level,
            title=row.title,
            summary=row.summary,
            rating=row.rating,
            findings=_findings(row.findings),
            fingerprint=row.fingerprint,
        )
        for row in connection.execute(query)
    ]


def _written(report: Report, row: Row[Any] | None) -> Report:
    if row is None:
        return report
    return replace(
        report,
        title=row.title,
        summary=row.summary,
        rating=row.rating,
        rating_reason=row.rating_reason,
        findings=_findings(row.findings),
        written_by=row.model,
    )


def read_claims(connection: Connection) -> list[PlacedClaim]:
    """Every claim about a known entity, by chunk and place."""
    entity_of = {merge.key: merge.entity_id for merge in read_merges(connection)}
    return sorted(placed_claims(connection.execute(select(claims)), entity_of))


def placed_claims(rows: Iterable[Row[Any]], entity_of: Mapping[str, str]) -> Iterator[PlacedClaim]:
    """Convert rows of claims whose subject is a known entity."""
    names_of_fields = [one.name for one in fields(Claim)]
    for row in rows:
        if row.subject in entity_of:
            yield PlacedClaim(
                chunk_id=row.chunk_id,
                claim=Claim(**{name: getattr(row, name) for name in names_of_fields}),
                subject_id=entity_of[row.subject],
                object_id=entity_of.get(row.object, ""),
            )


def read_export(connection: Connection) -> GraphExport:
    """Read the whole graph as values, every collection sorted."""
    return GraphExport(
        entities=tuple(read_entities(connection)),
        relations=tuple(read_relations(connection)),
        communities=tuple(read_communities(connection)),
        reports=tuple(read_reports(connection)),
        claims=tuple(read_claims(connection)),
        chunks=read_chunks(connection),
        appearances=read_appearances(connection),
    )


def write_findings(findings: Sequence[Finding]) -> str:
    """Serialise findings as stored in `reports.findings`."""
    return json.dumps(
        [
            {"text": f.text, "evidences": [[e.chunk_id, e.start, e.end] for e in f.evidences]}
            for f in findings
        ],
        ensure_ascii=False,
    )


def _findings(text: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            text=item["text"],
            evidences=tuple(
                Evidence(chunk_id=chunk_id, start=start, end=end)
                for chunk_id, start, end in item["evidences"]
            ),
        )
        for item in json.loads(text)
    )
