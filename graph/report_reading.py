"""Report inputs from the database, for some or all communities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, select

from .facts import batches, chunk_of
from .model import Chunk, Community, Entity, Report
from .relating import stated_relations
from .reports import EntityMention, ReportInput
from .schema import chunks, mentions

MANY_KEYS = 5_000
"""For more names than these, reading all mentions is cheaper."""


def report_input(
    connection: Connection,
    clusters: Sequence[Community],
    *,
    entities: Mapping[str, Entity],
    entity_of: Mapping[str, str],
    said: Mapping[str, str],
    parts: Mapping[str, tuple[str, ...]],
    told: Mapping[str, Report],
) -> ReportInput:
    """All that the reports of these communities rest on, and little else.

    `entity_of` says which entity a name means, `said` what a model said of a relation, by its id.
    Of what large communities are told from (`parts`), reports that stay as they are come in `told`.
    """
    read = (cluster for cluster in clusters if cluster.id not in parts)
    inside = frozenset(one for cluster in read for one in cluster.entity_ids)
    relations = stated_relations(connection, entity_of, said=said, only=inside)
    named = _mentions(connection, entity_of, inside)
    spoken = {mention.chunk_id for mention in named}
    spoken.update(place.chunk_id for relation in relations for place in relation.evidences)
    return ReportInput(
        communities=tuple(clusters),
        entities=entities,
        relations=tuple(relations),
        chunks=_whole_documents(connection, spoken),
        mentions=tuple(named),
        parts=parts,
        told=told,
    )


def _mentions(
    connection: Connection, entity_of: Mapping[str, str], inside: Collection[str]
) -> list[EntityMention]:
    keys = [key for key, entity_id in entity_of.items() if entity_id in inside]
    query = select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, mentions.c.key)
    if len(keys) > MANY_KEYS:
        queries = [query]
    else:
        queries = [query.where(mentions.c.key.in_(batch)) for batch in batches(keys)]
    wanted = frozenset(keys)
    placed = {
        (chunk_id, start, end, entity_of[key])
        for one in queries
        for chunk_id, start, end, key in connection.execute(one).all()
        if key in wanted
    }
    return [
        EntityMention(chunk_id=chunk_id, start=start, end=end, entity_id=entity_id)
        for chunk_id, start, end, entity_id in sorted(placed)
    ]


def _whole_documents(connection: Connection, chunk_ids: Collection[str]) -> dict[str, Chunk]:
    """Return the chunks and their documents' other chunks, which may overlap."""
    homes = dict(map(tuple, connection.execute(select(chunks.c.id, chunks.c.document_id)).all()))
    documents = {homes[chunk_id] for chunk_id in chunk_ids}
    return {
        row.id: chunk_of(row)
        for batch in batches(documents)
        for row in connection.execute(select(chunks).where(chunks.c.document_id.in_(batch))).all()
    }
