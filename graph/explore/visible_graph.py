"""Visible graph: all of it, or only what some documents say.

For a reader of some documents nothing comes from the others: entities that only they name are
absent, names, types, counts and weights are those that the visible documents give, entity
resolution is re-run over visible names only, and quotes are read from these documents alone.
Read only; derives and writes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, select

from ..communities.descriptions import Described, join_descriptions
from ..linking import Ends, evidence_weight, relation_ends
from ..model import OCCURS_WITH, Chunk, Entity, Evidence, Name, content_id
from ..naming import main_language
from ..resolution.name_facts import read_names, read_stated_aliases
from ..resolution.resolver import (
    RENAME,
    read_curations,
    resolve_names,
)
from ..storage.database import entity_of_row, read_chunks, read_entities
from ..storage.facts import in_batches, place_columns, rows_in
from ..storage.schema import (
    chunks,
    descriptions,
    digests,
    entities,
    mentions,
    names,
    relations,
    statements,
)
from ..text.names import without_title_dots
from ..text.sentences import sentence_spans
from .paths import Adjacency, Numbers
from .results import SourceQuote


@dataclass(frozen=True)
class VisibleGraph:
    """Entities by number, sorted by id, and relations by source and target.

    `stated[row]` is the number of a relation's predicate in `predicates`.

    `node_of` is the number of the entity that a name key means; `derived_of` the entity of the
    whole library that each stands for, the same but for what was decided anew. `whole` says of each
    whether all that is known of it is seen. `documents` are those seen, None for all.
    """

    entities: tuple[Entity, ...]
    whole: tuple[bool, ...]
    derived_of: tuple[tuple[str, ...], ...]
    node_of: Mapping[str, int]
    predicates: tuple[str, ...]
    stated: Numbers
    adjacency: Adjacency
    documents: frozenset[str] | None

    @property
    def size(self) -> int:
        """Return the numbers of entities and relations."""
        return len(self.entities) + len(self.stated)

    @cached_property
    def main_language(self) -> str:
        """The language of most mentions of names."""
        return main_language(self.entities)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each entity, by id."""
        return {entity.id: number for number, entity in enumerate(self.entities)}

    @cached_property
    def seen_as(self) -> dict[str, tuple[int, ...]]:
        """Map entity ids of the library to their visible counterparts."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, ids in enumerate(self.derived_of):
            for derived in ids:
                found[derived].append(number)
        return {key: tuple(some) for key, some in found.items()}

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The entities, the most mentioned first; then by what joins them, and by name."""
        strengths = self.adjacency.strengths.tolist()

        def order(number: int) -> tuple[int, float, str, str]:
            entity = self.entities[number]
            return -entity.mention_count, -strengths[number], entity.name, entity.id

        return tuple(sorted(range(len(self.entities)), key=order))

    @cached_property
    def rank_of(self) -> dict[int, int]:
        """The place of each entity in `ranked`."""
        return {number: place for place, number in enumerate(self.ranked)}

    @cached_property
    def folded_names(self) -> tuple[frozenset[str], ...]:
        """The names of each entity, those given by a user among them, without case."""
        return tuple(
            frozenset(name.casefold() for name in (each.name, *each.aliases))
            for each in self.entities
        )

    @cached_property
    def called(self) -> dict[str, tuple[int, ...]]:
        """The entities that have a name, without case and dots of titles, as they are ranked."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number in self.ranked:
            for name in {*map(without_title_dots, self.folded_names[number])}:
                found[name].append(number)
        return {name: tuple(numbers) for name, numbers in found.items()}

    def named_first(self, rows: Sequence[int]) -> list[int]:
        """Return relations in their order, those that a text states before co-occurrences."""
        return sorted(rows, key=lambda row: self.predicates[int(self.stated[row])] == OCCURS_WITH)

    def ends(self, row: int) -> Ends:
        """Return a relation's source id, predicate and target id."""
        source = self.entities[int(self.adjacency.sources[row])]
        target = self.entities[int(self.adjacency.targets[row])]
        return source.id, self.predicates[int(self.stated[row])], target.id

    def relation_id(self, row: int) -> str:
        """Return a relation's id; the derived one if both ends are."""
        return content_id("r", *self.ends(row))


class _Seen(NamedTuple):
    """Visible entity, whether complete, and the entities it stands for."""

    entity: Entity
    is_whole: bool
    derived: tuple[str, ...]


def read_seen(connection: Connection, documents: Collection[str] | None = None) -> VisibleGraph:
    """Read the graph as seen in these documents; without `documents` the whole."""
    if documents is None:
        return _whole(connection)
    seen = frozenset(documents)
    found = _seen_entities(connection, read_names(connection, seen))
    weights: defaultdict[Ends, float] = defaultdict(float)
    entity_of = {key: one.entity.id for one in found for key in one.entity.keys}
    for ends, weight in _said(connection, seen, entity_of):
        weights[ends] += weight
    related = ((*ends, weight) for ends, weight in sorted(weights.items()))
    return _assembled(found, related, documents=seen)


def _whole(connection: Connection) -> VisibleGraph:
    found = [_Seen(entity, True, (entity.id,)) for entity in read_entities(connection)]
    columns = (relations.c.source_id, relations.c.predicate, relations.c.target_id)
    rows = connection.execute(select(*columns, relations.c.weight))
    return _assembled(found, map(tuple, rows), documents=None)


def _assembled(
    found: Sequence[_Seen],
    related: Iterable[tuple[str, str, str, float]],
    *,
    documents: frozenset[str] | None,
) -> VisibleGraph:
    ordered = sorted(found, key=lambda one: one.entity.id)
    known = tuple(one.entity for one in ordered)
    number_of = {entity.id: number for number, entity in enumerate(known)}
    code_of: dict[str, int] = {}
    columns: tuple[list[int], list[int], list[int], list[float]] = ([], [], [], [])
    for source, predicate, target, weight in related:
        if source in number_of and target in number_of:
            columns[0].append(number_of[source])
            columns[1].append(number_of[target])
            columns[2].append(code_of.setdefault(predicate, len(code_of)))
            columns[3].append(weight)
    predicates = sorted(code_of)
    rank = np.array([bisect_left(predicates, one) for one in code_of], dtype=np.int64)
    sources, targets, codes = (np.array(column, dtype=np.int64) for column in columns[:3])
    said = rank[codes] if len(codes) else codes
    order = np.lexsort((said, targets, sources))
    weights = np.array(columns[3], dtype=np.float64).round(6)[order]
    return VisibleGraph(
        entities=known,
        whole=tuple(one.is_whole for one in ordered),
        derived_of=tuple(one.derived for one in ordered),
        node_of={key: number for number, entity in enumerate(known) for key in entity.keys},
        predicates=tuple(predicates),
        stated=said[order],
        adjacency=Adjacency.build(sources[order], targets[order], weights, nodes=len(known)),
        documents=documents,
    )


def _seen_entities(connection: Connection, seen: Sequence[Name]) -> list[_Seen]:
    """Resolve visible names; return completeness and the derived entity."""
    meant: defaultdict[str, list[Name]] = defaultdict(list)
    by_key = {name.key: name for name in seen}
    query = select(names.c.key, names.c.entity_id).where(names.c.dirty.is_(False))
    for key, entity_id in rows_in(connection, query, names.c.key, by_key):
        meant[entity_id].append(by_key[key])
    found: list[_Seen] = []
    parts: list[Name] = []
    derived_of: dict[str, str] = {}
    for entity in _derived(connection, meant):
        some = meant[entity.id]
        if _is_whole(entity, some):
            found.append(_Seen(entity, True, (entity.id,)))
        else:
            parts += some
            derived_of.update((name.key, entity.id) for name in some)
    for entity in _decided_anew(connection, parts):
        ids = tuple(sorted({derived_of[key] for key in entity.keys}))
        found.append(_Seen(entity, False, ids))
    return found


def _is_whole(entity: Entity, seen: Sequence[Name]) -> bool:
    """Check whether these names cover an entity completely."""
    counted = sum(sum(name.surfaces.values()) for name in seen)
    documents = frozenset[str]().union(*(name.documents for name in seen))
    return (
        len(seen) == len(entity.keys)
        and counted == entity.mention_count
        and len(documents) == entity.document_count
    )


def _decided_anew(connection: Connection, seen: Sequence[Name]) -> list[Entity]:
    """Resolve names anew from visible facts where some are hidden.

    A user's decisions hold, but for new names, which may come from what is hidden.
    """
    if not seen:
        return []
    kept = [each for each in read_curations(connection) if each.action != RENAME]
    documents = frozenset[str]().union(*(name.documents for name in seen))
    return resolve_names(seen, read_stated_aliases(connection, documents), curations=kept)[0]


def _derived(connection: Connection, ids: Collection[str]) -> Iterator[Entity]:
    """Return derived entities of these ids with keys, sorted by id."""
    for batch in in_batches(ids):
        keys: defaultdict[str, list[str]] = defaultdict(list)
        inside = select(names.c.key, names.c.entity_id).where(names.c.entity_id.in_(batch))
        for key, entity_id in connection.execute(inside.order_by(names.c.key)):
            keys[entity_id].append(key)
        query = select(entities).where(entities.c.id.in_(batch), entities.c.dirty.is_(False))
        for row in connection.execute(query.order_by(entities.c.id)):
            yield entity_of_row(row, keys=tuple(keys[row.id]))


def _said(
    connection: Connection, documents: Collection[str], entity_of: Mapping[str, str]
) -> Iterator[tuple[Ends, float]]:
    """Return each evidence's weight in a relation."""
    table = statements.c
    columns = (table.start, table.end, table.subject, table.predicate)
    query = select(*columns, table.object, table.strength, table.inferred, *place_columns()).join(
        chunks, chunks.c.id == table.chunk_id
    )
    best: dict[tuple[Ends, str, int, int], float] = {}
    for row in rows_in(connection, query, chunks.c.document_id, documents):
        start, end, subject, predicate, target, strength, inferred, source, offset = row
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is not None:
            place = (ends, source, offset + start, offset + end)
            weight = evidence_weight(predicate, strength, inferred)
            best[place] = max(best.get(place, 0.0), weight)
    for (ends, *_), weight in sorted(best.items()):
        yield ends, weight


_NAMED_IN_ONE_SENTENCE = 4
"""A thing is named in one sentence less often than this."""

_LONG_SENTENCE = 300
"""Length above which a sentence is mostly a list."""

PageOf = Callable[[str, int], int | None]
"""The page on which an offset of a document lies; None where it has no pages."""


@dataclass(slots=True)
class QuotedStatement:
    """Statement of a relation: place, and a model's wording."""

    places: list[Evidence]
    descriptions: list[str]


def source_quotes(
    connection: Connection, places: Iterable[Evidence], *, page_of: PageOf
) -> dict[Evidence, SourceQuote]:
    """Return each evidence place as a quote; one in a chunk that is gone is left out."""
    wanted = sorted(set(places))
    held = read_chunks(connection, {place.chunk_id for place in wanted})
    return {
        place: _quote(held[place.chunk_id], place, page_of)
        for place in wanted
        if place.chunk_id in held
    }


def _quote(chunk: Chunk, place: Evidence, page_of: PageOf) -> SourceQuote:
    start = chunk.start + place.start
    return SourceQuote(
        document_id=chunk.document_id,
        title=chunk.title,
        chunk_id=chunk.id,
        start=start,
        end=chunk.start + place.end,
        quote=chunk.text[place.start : place.end],
        page=page_of(chunk.document_id, start),
    )


def mention_sentences(
    connection: Connection,
    keys: Collection[str],
    *,
    documents: Collection[str] | None,
    limit: int,
) -> list[Evidence]:
    """Return sentences with these names, from as many documents as possible.

    The first of each document, then the second of each, and so on; of documents those first that
    have one of the names for a title, then those that name it most often, then by their ids.
    """
    inside = _mentions_by_turn(sorted(keys)).subquery()
    columns = inside.c
    order = (columns.turn, columns.titled.desc(), columns.times.desc(), columns.document_id)
    rows = connection.execute(select(inside).order_by(*order))
    seen = (row for row in rows if documents is None or row.document_id in documents)
    first = list(islice(seen, limit * _NAMED_IN_ONE_SENTENCE))
    held = read_chunks(connection, {row.chunk_id for row in first})
    found: dict[tuple[str, int], Evidence] = {}
    for row in first:
        start, end = _sentence_about(held[row.chunk_id].text, row.start, row.end)
        evidence = Evidence(chunk_id=row.chunk_id, start=start, end=end)
        found.setdefault((row.source, row.offset + start), evidence)
    return list(found.values())[:limit]


def _mentions_by_turn(keys: Sequence[str]) -> Select[Any]:
    """Return mentions with their rank within the document, in query form."""
    turn = func.row_number().over(
        partition_by=chunks.c.document_id,
        order_by=(chunks.c.position, chunks.c.id, mentions.c.start, mentions.c.end),
    )
    times = func.count().over(partition_by=chunks.c.document_id)
    return (
        select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, chunks.c.document_id)
        .add_columns(turn.label("turn"), times.label("times"), *place_columns())
        .add_columns(chunks.c.title_key.in_(keys).label("titled"))
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .where(mentions.c.key.in_(keys))
    )


def _sentence_about(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentences that cover a span."""
    touched = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


def said_of_relations(
    connection: Connection,
    wanted: Collection[Ends],
    *,
    entity_of: Mapping[str, str],
    keys: Collection[str],
    documents: Collection[str] | None,
) -> dict[Ends, QuotedStatement]:
    """Return the statements of these relations, single short sentences first.

    Args:
        connection: to read by.
        wanted: relations by their ends, which are entity ids.
        entity_of: what every seen name means.
        keys: all names of all ends of the relations.
        documents: those that are seen.
    """
    found: dict[Ends, dict[tuple[str, int, int], tuple[bool, Evidence]]] = defaultdict(dict)
    texts: dict[Ends, set[str]] = defaultdict(set)
    known = frozenset(keys)
    query = select(statements, chunks.c.document_id, *place_columns()).join(
        chunks, chunks.c.id == statements.c.chunk_id
    )
    for row in rows_in(connection, query, statements.c.subject, known):
        if row.object not in known:
            continue
        ends = relation_ends(entity_of.get(row.subject), row.predicate, entity_of.get(row.object))
        if ends is None or ends not in wanted:
            continue
        if documents is not None and row.document_id not in documents:
            continue
        evidence = Evidence(chunk_id=row.chunk_id, start=row.start, end=row.end)
        place = (row.source, row.offset + row.start, row.offset + row.end)
        inferred, first = found[ends].get(place, (True, evidence))
        found[ends][place] = row.inferred and inferred, min(evidence, first)
        if row.description:
            texts[ends].add(row.description)
    return {
        ends: QuotedStatement(
            places=[
                evidence
                for _, evidence in sorted(
                    places.values(), key=lambda one: (one[0], _is_long(one[1]), one[1])
                )
            ],
            descriptions=sorted(texts[ends]),
        )
        for ends, places in found.items()
    }


def _is_long(place: Evidence) -> bool:
    return place.end - place.start > _LONG_SENTENCE


def description_of(
    connection: Connection,
    keys: Sequence[str],
    *,
    id: str,  # noqa: A002
    name: str,
    documents: Collection[str],
) -> str:
    """Return model descriptions from these documents; a summary only of exactly those."""
    query = (
        select(descriptions.c.text, chunks.c.document_id)
        .join(chunks, chunks.c.id == descriptions.c.chunk_id)
        .where(descriptions.c.key.in_(sorted(keys)))
    )
    texts = [row.text for row in connection.execute(query) if row.document_id in documents]
    if not texts:
        return ""
    thing = Described(id=id, name=name, texts=tuple(texts))
    kept = select(digests.c.text).where(digests.c.fingerprint == thing.fingerprint)
    return connection.execute(kept).scalar() or join_descriptions(texts)
