"""Input of community reports, read from the database.

Of members that stand in very many places only what stands beside the others is read, so a report
costs what is said of the community and not of the library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, case, select

from ..linking import stated_relations
from ..model import Chunk, Community, Report
from ..storage.database import chunks_of_documents, entities_by_id, keys_of_entities
from ..storage.facts import rows_in
from ..storage.schema import chunks as chunk_table
from ..storage.schema import entities, mentions
from ..storage.schema import members as community_members
from .reports import LEADING, EntityMention, ReportInput, chosen_members
from .titles import Phrase

MANY_KEYS = 5_000
"""For more names than these, reading all mentions is cheaper."""


def report_input(
    connection: Connection,
    clusters: Sequence[Community],
    *,
    said: Mapping[str, str],
    parts: Mapping[str, tuple[str, ...]],
    told: Mapping[str, Report],
) -> ReportInput:
    """All that the reports of these communities rest on, and little else.

    `said` is what a model said of a relation, by its id. Of what large communities are told from
    (`parts`), reports that stay as they are come in `told`.
    """
    telling, beside = _chosen(connection, [one for one in clusters if one.id not in parts])
    relations = {one.id: one for one in stated_relations(connection, said=said, only=telling)}
    named = _mentions(connection, telling)
    spoken = {mention.chunk_id for mention in named}
    spoken.update(e.chunk_id for relation in relations.values() for e in relation.evidences)
    chunks = _whole_documents(connection, spoken)
    near = _overlapping(chunks.values(), spoken)
    if beside:
        named += _mentions(connection, beside, within=near)
        for one in stated_relations(connection, said=said, only=beside, within=near):
            relations.setdefault(one.id, one)
    leading = _leading(connection, [one.id for one in clusters if one.id in parts])
    every = {one for some in leading.values() for one in some}
    known = entities_by_id(connection, telling | beside | every)
    return ReportInput(
        communities=tuple(clusters),
        entities={entity.id: entity for entity in known},
        relations=tuple(relations.values()),
        chunks=chunks,
        mentions=tuple(named),
        phrases=_phrases(connection, near),
        parts=parts,
        leading=leading,
        told=told,
    )


def _chosen(connection: Connection, communities: Iterable[Community]) -> tuple[set[str], set[str]]:
    """Return the members that tell these communities, and those heard beside them."""
    read = [community.entity_ids for community in communities]
    query = select(entities.c.id, entities.c.mention_count)
    every = {one for some in read for one in some}
    counts = dict(map(tuple, rows_in(connection, query, entities.c.id, every)))
    telling, beside = set[str](), set[str]()
    for some in read:
        these, others = chosen_members({one: counts[one] for one in some})
        telling |= these
        beside |= others
    if len(every) > MANY_KEYS:  # nearly all is read
        return telling | beside, set()
    return telling, beside - telling


def _overlapping(chunks: Iterable[Chunk], spoken: Collection[str]) -> set[str]:
    """Return the spoken chunks and those that share a span of their document with one."""
    found = {*spoken}
    documents: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda one: one.start):
        documents[chunk.document_id].append(chunk)
    for some in documents.values():
        last = 0
        for chunk in some:
            if chunk.start < last:
                found.add(chunk.id)
            if chunk.id in spoken:
                last = max(last, chunk.end)
        first = max(chunk.end for chunk in some)
        for chunk in sorted(some, key=lambda one: -one.end):
            if chunk.end > first:
                found.add(chunk.id)
            if chunk.id in spoken:
                first = min(first, chunk.start)
    return found


def _leading(connection: Connection, community_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the most mentioned members of communities, as `most_mentioned` ranks them."""
    table, home = entities.c, community_members.c
    halved = case((table.type == "CONCEPT", 0.5), else_=1.0)
    ranked = select(table.id, table.name, (table.mention_count * halved).label("weight"))
    if not community_ids:
        return {}
    first = connection.execute(
        ranked.add_columns(table.mention_count)
        .order_by(table.mention_count.desc())
        .limit(FIRST_ASKED)
    ).all()
    least = first[-1].mention_count if len(first) == FIRST_ASKED else 0
    row_of = {row.id: row for row in first}
    inside: dict[str, list[Row[Any]]] = defaultdict(list)
    query = select(home.community_id, home.entity_id).where(home.community_id.in_(community_ids))
    for community_id, entity_id in rows_in(connection, query, home.entity_id, row_of):
        inside[community_id].append(row_of[entity_id])
    found: dict[str, tuple[str, ...]] = {}
    for community_id in community_ids:
        rows: Sequence[Row[Any]] = sorted(
            inside[community_id], key=lambda row: (-row.weight, row.name, row.id)
        )[:LEADING]
        if len(rows) < LEADING or rows[-1].weight <= least:  # others may weigh more
            query = ranked.join(community_members, home.entity_id == table.id)
            rows = _first_ranked(connection, query.where(home.community_id == community_id))
        found[community_id] = tuple(row.id for row in rows)
    return found


FIRST_ASKED = 1_000
"""The members are looked for among so many most mentioned entities first."""


def _first_ranked(connection: Connection, query: Select[Any]) -> Sequence[Row[Any]]:
    found = query.selected_columns
    ranked = query.order_by(found.weight.desc(), found.name, found.id)
    return connection.execute(ranked.limit(LEADING)).all()


def _mentions(
    connection: Connection, inside: Collection[str], *, within: Collection[str] | None = None
) -> list[EntityMention]:
    """Read the mentions of entities; with `within`, those in such chunks."""
    entity_of = keys_of_entities(connection, inside)
    query = select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, mentions.c.key)
    if within is not None:
        rows: Iterable[Row[Any]] = rows_in(connection, query, mentions.c.chunk_id, within)
    elif len(entity_of) > MANY_KEYS:
        rows = connection.execute(query)
    else:
        rows = rows_in(connection, query, mentions.c.key, entity_of)
    placed = {
        (chunk_id, start, end, entity_of[key])
        for chunk_id, start, end, key in rows
        if key in entity_of
    }
    return [
        EntityMention(chunk_id=chunk_id, start=start, end=end, entity_id=entity_id)
        for chunk_id, start, end, entity_id in sorted(placed)
    ]


def _phrases(connection: Connection, chunk_ids: Collection[str]) -> dict[str, tuple[Phrase, ...]]:
    """Return the noun phrases of each chunk, by key and surface, in the order of the text."""
    query = select(mentions.c.chunk_id, mentions.c.start, mentions.c.key, mentions.c.surface)
    query = query.where(mentions.c.type == "CONCEPT")
    placed: dict[str, list[tuple[int, Phrase]]] = defaultdict(list)
    for chunk_id, start, key, surface in rows_in(connection, query, mentions.c.chunk_id, chunk_ids):
        placed[chunk_id].append((start, (key, " ".join(surface.split()))))
    return {
        chunk_id: tuple(dict.fromkeys(phrase for _, phrase in sorted(some)))
        for chunk_id, some in placed.items()
    }


def _whole_documents(connection: Connection, chunk_ids: Collection[str]) -> dict[str, Chunk]:
    """Return the chunks and their documents' other chunks, which may overlap."""
    query = select(chunk_table.c.document_id)
    homes = rows_in(connection, query, chunk_table.c.id, chunk_ids)
    return chunks_of_documents(connection, {row.document_id for row in homes})
