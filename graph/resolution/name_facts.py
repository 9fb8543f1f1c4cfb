"""Names of a library, aggregated from its facts: spellings, types, documents, aliases, neighbours.

Everything can be read of all names, of those that some documents name, or of some keys; a name's
value is the same in each case where its documents are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    func,
    or_,
    select,
    text,
)

from ..model import ALSO_KNOWN_AS, OF_TYPE, SPEAKS_OF_A_NAME, Name
from ..storage.database import values_with_row
from ..storage.facts import in_batches, place_columns, rows_in
from ..storage.schema import chunks, mentions, statements
from ..text.cjk import has_han
from ..text.common_words import is_common
from .entity_types import FEWEST, TITLE_WEIGHT, is_namelike, settle_types, title_type

Alias = tuple[str, str]
"""A key, and a second key that a text states of it."""


@dataclass(frozen=True, slots=True)
class NameFacts:
    """Facts by key, before types are settled.

    `types` counts the tags of mentions, `cues` the weights of what speaks for a type; `spoken_of`
    are keys of statements, `described` those of which a model says something.
    """

    surfaces: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    types: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    cues: dict[str, dict[str, float]] = field(default_factory=dict)
    documents: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    titles: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    spoken_of: set[str] = field(default_factory=set)
    described: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Scope:
    """Part of a library: some documents, or some keys; the whole without either."""

    documents: Collection[str] | None = None
    keys: Collection[str] | None = None

    def rows(
        self, connection: Connection, query: Select[Any], *key: ColumnElement[str]
    ) -> Iterator[Row[Any]]:
        """Run a query for this scope; with keys, for rows of which a `key` column is one."""
        if self.documents is not None:
            yield from rows_in(connection, query, chunks.c.document_id, self.documents)
        elif self.keys is None:
            yield from connection.execute(query)
        else:
            for batch in in_batches(self.keys):
                among = or_(*(column.in_(batch) for column in key))
                yield from connection.execute(query.where(among))

    def of_statements(self, query: Select[Any]) -> Select[Any]:
        """Join a query of statements with their chunks where documents are asked for."""
        if self.documents is None:
            return query
        return query.join(chunks, chunks.c.id == statements.c.chunk_id)


def read_names(connection: Connection, documents: Collection[str] | None = None) -> list[Name]:
    """Read every name with facts, sorted by key; document titles included.

    With `documents`, as if the library held no others.
    """
    facts = read_name_facts(connection, Scope(documents=documents))
    return names_of(facts, settle_types(facts.types, facts.cues, facts.surfaces))


def read_name_facts(connection: Connection, scope: Scope) -> NameFacts:
    """Read the facts of all names of a scope."""
    facts = NameFacts(cues=read_type_cues(connection, scope))
    source, offset = place_columns()
    counted = (
        select(
            mentions.c.key,
            mentions.c.surface,
            mentions.c.type,
            chunks.c.document_id,
            func.count(func.distinct(offset + mentions.c.start)).label("times"),
        )
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .group_by(mentions.c.key, mentions.c.surface, mentions.c.type, chunks.c.document_id, source)
    )
    for key, surface, kind, document_id, times in scope.rows(connection, counted, mentions.c.key):
        facts.surfaces[key][surface] += times
        facts.types[key][kind] += times
        facts.documents[key].add(document_id)
    _read_titles(connection, scope, facts)
    facts.spoken_of.update(_keys_of_statements(connection, scope))
    facts.described.update(_keys_of_statements(connection, scope, is_described=True))
    return facts


def _read_titles(connection: Connection, scope: Scope, facts: NameFacts) -> None:
    titled = select(chunks.c.title_key, chunks.c.title, chunks.c.document_id).distinct()
    titled = titled.where(chunks.c.title_key != "").order_by(chunks.c.title, chunks.c.document_id)
    for key, title, document_id in scope.rows(connection, titled, chunks.c.title_key):
        facts.surfaces[key][title] += 0 if facts.surfaces[key] else 1
        facts.titles[key].add(document_id)
        if kind := title_type(title):
            cues = facts.cues.setdefault(key, {})
            cues[kind] = max(cues.get(kind, 0.0), TITLE_WEIGHT)
        facts.documents[key].add(document_id)


def names_of(
    facts: NameFacts, types: Mapping[str, Counter[str]], keys: Iterable[str] | None = None
) -> list[Name]:
    """Return the names among the keys (all without `keys`), with settled types; sorted by key."""
    return [
        Name(
            key=key,
            surfaces=dict(sorted(facts.surfaces[key].items())),
            types=dict(sorted(types[key].items())),
            documents=frozenset(facts.documents[key]),
            titles=frozenset(facts.titles[key]),
        )
        for key in sorted(facts.surfaces if keys is None else facts.surfaces.keys() & {*keys})
        if _is_name(key, types[key], facts)
    ]


def _is_name(key: str, types: Counter[str], facts: NameFacts) -> bool:
    """Check that a key is worth an entity.

    A noun phrase of one document of which nothing is said would only be noise, and so would a
    common word that no model describes.
    """
    if facts.titles[key] and (types or is_namelike(facts.surfaces[key])):
        return True
    if types.keys() - {"CONCEPT"} or (types["CONCEPT"] and key in facts.described):
        return True
    return types["CONCEPT"] >= _fewest_mentions(key) and (
        key in facts.spoken_of or len(facts.documents[key]) > 1
    )


def _fewest_mentions(key: str) -> float:
    """Return how often a noun phrase has to be said to be a concept of a library.

    A single noun, and a phrase of common words, more often than a term of several; a common word
    alone never.
    """
    words = [*key] if has_han(key) else key.split()
    is_plain = len(words) < 2 + has_han(key) or all(map(is_common, words))
    return inf if is_common(key) else FEWEST * (1 + is_plain)


def read_type_cues(connection: Connection, scope: Scope) -> dict[str, dict[str, float]]:
    """Read what speaks for each type of a name; a text about the name counts twice."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    table = statements.c
    is_own = case((chunks.c.title_key == table.subject, 2.0), else_=1.0)
    source, offset = place_columns()
    place = (table.subject, table.object, chunks.c.document_id, source, offset + table.start)
    query = (
        select(*place[:3], func.max(table.strength * is_own).label("weight"))
        .join(chunks, chunks.c.id == table.chunk_id)
        .where(table.predicate == OF_TYPE)
        .group_by(*place)
        .order_by(*place)
    )
    for subject, kind, _, weight in scope.rows(connection, query, table.subject):
        found[subject][kind] = round(found[subject][kind] + weight, 6)
    return dict(found)


def read_stated_aliases(
    connection: Connection,
    documents: Collection[str] | None = None,
    *,
    keys: Collection[str] | None = None,
) -> list[Alias]:
    """Read the pairs `(name, alias)` that documents state, for entity resolution, sorted."""
    scope, table = Scope(documents=documents, keys=keys), statements.c
    query = select(table.subject, table.object).distinct()
    query = scope.of_statements(query.where(table.predicate == ALSO_KNOWN_AS))
    sides = [()] if keys is None else [(table.subject,), (table.object,)]
    return sorted(
        {(name, second) for side in sides for name, second in scope.rows(connection, query, *side)}
    )


def read_neighbours(
    connection: Connection, keys: Collection[str] | None = None
) -> dict[str, set[str]]:
    """Read which keys share a statement, both ways; aliases excluded.

    With `keys`, the neighbours of each of them.
    """
    scope, table = Scope(keys=keys), statements.c
    found: dict[str, set[str]] = defaultdict(set)
    query = select(table.subject, table.object).distinct()
    query = query.where(table.predicate.not_in(SPEAKS_OF_A_NAME))
    for one, other in scope.rows(connection, query, table.subject):
        found[one].add(other)
        if keys is None:
            found[other].add(one)
    if keys is not None:
        for one, other in scope.rows(connection, query, table.object):
            found[other].add(one)
    return dict(found)


def _keys_of_statements(
    connection: Connection, scope: Scope, *, is_described: bool = False
) -> set[str]:
    """Return the keys that statements, or those that a model describes, say more of than types."""
    found: set[str] = set()
    predicate = statements.c.predicate
    says_more = predicate != OF_TYPE
    ways: tuple[ColumnElement[bool], ...] = (
        predicate < OF_TYPE,
        predicate > OF_TYPE,
    )  # by the index
    if is_described:
        described = text("statements.description != ''")  # as its indexes say it
        says_more = and_(says_more, described)
        ways = (says_more,)
    for column in (statements.c.subject, statements.c.object):
        if scope.documents is None and scope.keys is not None:
            found |= values_with_row(connection, column, scope.keys, *ways)
            continue
        query = scope.of_statements(select(column).where(says_more).distinct())
        found.update(key for (key,) in scope.rows(connection, query, column))
    return found
