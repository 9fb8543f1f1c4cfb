"""Export of the visible graph, for readers of some documents.

Nothing of other documents is in it: names, kinds and counts are those that the seen documents give,
relations weigh what they say of them, and reports are their own sentences (see `seen`). It reads;
who sees, it does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import Connection, select

from .descriptions import combined
from .explore_communities import SeenCommunities
from .facts import batches, chunk_of
from .model import Chunk, Community, Entity, GraphExport, PlacedClaim, Relation, Report
from .quotes import QuotedStatement, description_of, said_of_relations
from .read import placed_claims
from .schema import chunks, claims, descriptions, links
from .seen import VisibleGraph


def seen_export(
    connection: Connection, seen: VisibleGraph, communities: SeenCommunities
) -> GraphExport:
    """Export the visible graph, every collection sorted by id."""
    documents = seen.documents or frozenset()
    held = _chunks(connection, documents)
    return GraphExport(
        entities=_entities(connection, seen, documents),
        relations=_relations(connection, seen),
        communities=_communities(seen, communities),
        reports=_reports(communities),
        claims=_claims(connection, seen, held),
        chunks=held,
        appearances=_appearances(connection, seen, held),
    )


def _chunks(connection: Connection, documents: Collection[str]) -> dict[str, Chunk]:
    found: dict[str, Chunk] = {}
    for batch in batches(documents):
        rows = connection.execute(select(chunks).where(chunks.c.document_id.in_(batch)))
        found.update((row.id, chunk_of(row)) for row in rows)
    return dict(sorted(found.items()))


def _entities(
    connection: Connection, seen: VisibleGraph, documents: frozenset[str]
) -> tuple[Entity, ...]:
    if connection.execute(select(descriptions.c.key).limit(1)).first() is None:
        return tuple(replace(entity, description="") for entity in seen.entities)
    return tuple(
        replace(
            entity,
            description=description_of(
                connection, entity.keys, id=entity.id, name=entity.name, documents=documents
            ),
        )
        for entity in seen.entities
    )


def _relations(connection: Connection, seen: VisibleGraph) -> tuple[Relation, ...]:
    ids = [entity.id for entity in seen.entities]
    ends = [seen.ends(row) for row in range(len(seen.stated))]
    entity_of = {key: ids[number] for key, number in seen.node_of.items()}
    said = said_of_relations(
        connection,
        frozenset(ends),
        entity_of=entity_of,
        keys=entity_of.keys(),
        documents=seen.documents,
    )
    found = []
    for row, (source, predicate, target) in enumerate(ends):
        known = said.get((source, predicate, target), QuotedStatement(places=[], descriptions=[]))
        found.append(
            Relation(
                id=seen.relation_id(row),
                source_id=source,
                predicate=predicate,
                target_id=target,
                weight=round(float(seen.adjacency.weights[row]), 6),
                evidences=tuple(known.places),
                description=combined(known.descriptions),
            )
        )
    return tuple(sorted(found, key=lambda one: one.id))


def _communities(seen: VisibleGraph, communities: SeenCommunities) -> tuple[Community, ...]:
    return tuple(
        Community(
            id=one.id,
            level=one.level,
            parent_id=one.parent,
            entity_ids=tuple(
                sorted(seen.entities[number].id for number in communities.members[one.id])
            ),
        )
        for one in sorted(communities.listed.values(), key=lambda one: (one.level, one.id))
    )


def _reports(communities: SeenCommunities) -> tuple[Report, ...]:
    """Those of what is listed; a rating that rests on hidden things is none."""
    return tuple(
        replace(
            communities.reports[one.id],
            rating=0.0 if one.id in communities.unrated else communities.reports[one.id].rating,
            rating_reason="",
        )
        for one in sorted(communities.listed.values(), key=lambda one: (one.level, one.id))
    )


def _claims(
    connection: Connection, seen: VisibleGraph, held: Collection[str]
) -> tuple[PlacedClaim, ...]:
    entity_of = {key: seen.entities[number].id for key, number in seen.node_of.items()}
    found: list[PlacedClaim] = []
    for batch in batches(held):
        rows = connection.execute(select(claims).where(claims.c.chunk_id.in_(batch)))
        found += placed_claims(rows, entity_of)
    return tuple(sorted(found))


def _appearances(
    connection: Connection, seen: VisibleGraph, held: Collection[str]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    for batch in batches(held):
        query = select(links.c.key, links.c.chunk_id).where(links.c.chunk_id.in_(batch))
        for row in connection.execute(query):
            if row.key in seen.node_of:
                found[seen.entities[seen.node_of[row.key]].id].add(row.chunk_id)
    return {entity_id: tuple(sorted(found[entity_id])) for entity_id in sorted(found)}
