"""Names of a library as values, with evidence for and against merging.

Reads facts only; what follows from them is `resolve`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from .curation import Curation
from .curation_store import read_curations
from .facts import batches
from .judgement_store import read_judgements
from .model import ALSO_KNOWN_AS, Entity, Merge, Name
from .resolve import resolve
from .schema import chunks, mentions, statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Entities of a library, and each name key's entity with the reason."""

    names: list[Name]
    entities: list[Entity]
    merges: list[Merge]


def resolution(
    connection: Connection, *, curations: Iterable[Curation] | None = None
) -> Resolution:
    """Resolve the present facts, optionally with other `curations`."""
    known = read_names(connection)
    kept = read_curations(connection) if curations is None else list(curations)
    entities, merges = resolve(
        known,
        read_stated_aliases(connection),
        neighbours=read_neighbours(connection),
        judgements=read_judgements(connection),
        curations=kept,
    )
    return Resolution(names=known, entities=entities, merges=merges)


def read_names(connection: Connection, documents: Collection[str] | None = None) -> list[Name]:
    """Read every name with facts, sorted by key; document titles included.

    With `documents`, as if the library held no others.
    """
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    named_by: dict[str, set[str]] = defaultdict(set)
    titles: dict[str, set[str]] = defaultdict(set)
    counted = (
        select(
            mentions.c.key,
            mentions.c.surface,
            mentions.c.type,
            chunks.c.document_id,
            func.count().label("times"),
        )
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .group_by(mentions.c.key, mentions.c.surface, mentions.c.type, chunks.c.document_id)
    )
    for row in _of_documents(connection, counted, documents):
        surfaces[row.key][row.surface] += row.times
        types[row.key][row.type] += row.times
        named_by[row.key].add(row.document_id)
    titled = select(chunks.c.title_key, chunks.c.title, chunks.c.document_id).distinct()
    titled = titled.where(chunks.c.title_key != "").order_by(chunks.c.title, chunks.c.document_id)
    for row in _of_documents(connection, titled, documents):
        surfaces[row.title_key][row.title] += 0 if surfaces[row.title_key] else 1
        titles[row.title_key].add(row.document_id)
        named_by[row.title_key].add(row.document_id)
    spoken_of = _keys_of_statements(connection, documents)
    return [
        Name(
            key=key,
            surfaces=dict(sorted(surfaces[key].items())),
            types=dict(sorted(types[key].items())),
            documents=frozenset(named_by[key]),
            titles=frozenset(titles[key]),
        )
        for key in sorted(surfaces)
        # A noun phrase of one document of which nothing is said would only be noise.
        if key in spoken_of
        or len(named_by[key]) > 1
        or types[key].keys() - {"CONCEPT"}
        or titles[key]
    ]


def read_stated_aliases(
    connection: Connection, documents: Collection[str] | None = None
) -> list[tuple[str, str]]:
    """Read stated alias pairs `(name, alias)` (of these documents), sorted."""
    query = select(statements.c.subject, statements.c.object).distinct()
    query = query.where(statements.c.predicate == ALSO_KNOWN_AS)
    rows = _of_documents(connection, _placed(query, documents), documents)
    return sorted({(row.subject, row.object) for row in rows})


def read_neighbours(connection: Connection) -> dict[str, set[str]]:
    """Read which keys share a statement, both ways; aliases excluded."""
    found: dict[str, set[str]] = defaultdict(set)
    query = select(statements.c.subject, statements.c.object).distinct()
    for row in connection.execute(query.where(statements.c.predicate != ALSO_KNOWN_AS)):
        found[row.subject].add(row.object)
        found[row.object].add(row.subject)
    return dict(found)


def _keys_of_statements(connection: Connection, documents: Collection[str] | None) -> set[str]:
    found: set[str] = set()
    for column in (statements.c.subject, statements.c.object):
        query = _placed(select(column.label("key")).distinct(), documents)
        found.update(row.key for row in _of_documents(connection, query, documents))
    return found


def _placed(query: Select[Any], documents: Collection[str] | None) -> Select[Any]:
    """Join a query of statements with their documents if needed."""
    if documents is None:
        return query
    return query.join(chunks, chunks.c.id == statements.c.chunk_id)


def _of_documents(
    connection: Connection, query: Select[Any], documents: Collection[str] | None
) -> Iterator[Row[Any]]:
    """Run a query over `chunks` for these documents or all."""
    if documents is None:
        yield from connection.execute(query)
        return
    for batch in batches(documents):
        yield from connection.execute(query.where(chunks.c.document_id.in_(batch)))
