"""Change tracking: what a derivation has to recompute.

Names and entities that changed are known from their rows. What else a report depends on is how a
document is cut into chunks: a sentence in two overlapping chunks counts for the first of them.
That is remembered as one digest a document, none of which says anything of its text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, select

from .facts import batches, read_state, write_state
from .model import Community, content_id
from .rows import Difference
from .schema import chunks, mentions, relations, statements

LAYOUTS = "layouts"
"""Key of the state table: the digests, under the version of what is made of them."""


def rechunked_documents(connection: Connection, *, version: str) -> set[str] | None:
    """Return documents whose chunks changed since the last call, and record the new state.

    None: nothing is known of the last time, or it was another `version`.
    """
    before = (read_state(connection, LAYOUTS) or "").split("\n")
    now = {digest: key for key, digest in _layouts(connection).items()}
    write_state(connection, LAYOUTS, "\n".join([version, *sorted(now)]))
    if before[0] != version:
        return None
    known = set(before)
    return {document_id for digest, document_id in now.items() if digest not in known}


def _layouts(connection: Connection) -> dict[str, str]:
    """For every document a digest of its id, and of its chunks and where they lie."""
    table = chunks.c
    query = select(table.document_id, table.position, table.start, table.id, table.text_sha)
    parts: dict[str, list[str]] = defaultdict(list)
    for document_id, position, start, chunk_id, sha in sorted(
        map(tuple, connection.execute(query).all())
    ):
        parts[document_id] += (str(position), str(start), chunk_id, sha)
    return {key: content_id("", key, *some) for key, some in parts.items()}


def entities_in(
    connection: Connection, documents: Iterable[str], *, entity_of: Mapping[str, str]
) -> set[str]:
    """Return the entities mentioned in these documents."""
    keys: set[str] = set()
    for batch in batches(documents):
        inside = select(chunks.c.id).where(chunks.c.document_id.in_(batch))
        for column in (mentions.c.key, statements.c.subject, statements.c.object):
            query = select(column).where(column.table.c.chunk_id.in_(inside)).distinct()
            keys.update(connection.execute(query).scalars())
    return {entity_of[key] for key in keys if key in entity_of}


def redescribed_relations(connection: Connection, said: Mapping[str, str]) -> set[str]:
    """Return the ends of relations whose descriptions changed, by id."""
    table = relations.c
    query = select(table.id, table.description)
    told = connection.execute(query.where(table.description != "")).all()
    held = dict(map(tuple, told))
    other = [key for key in held.keys() | said.keys() if held.get(key, "") != said.get(key, "")]
    return {
        end
        for batch in batches(other)
        for row in connection.execute(
            select(table.source_id, table.target_id).where(table.id.in_(batch))
        )
        for end in row
    }


def entities_of_rows(entity_rows: Difference, name_rows: Difference) -> set[str]:
    """Return entities added, removed or changed; stale ones count as changed.

    The tables' first column is the entity's id, or the name and then the entity's id.
    """
    found = {key[0] for key in (*entity_rows.before, *entity_rows.after)}
    found.update(row[1] for rows in (name_rows.before, name_rows.after) for row in rows.values())
    return found


def communities_of(
    clusters: Iterable[Community], touched: Collection[str], *, fresh: Collection[str]
) -> list[Community]:
    """Return communities that are new or have a touched member."""
    return [
        cluster
        for cluster in clusters
        if cluster.id in fresh or any(one in touched for one in cluster.entity_ids)
    ]
