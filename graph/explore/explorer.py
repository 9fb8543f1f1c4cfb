"""Graph exploration: entity search, details, neighbourhoods and paths.

Read only, over a `VisibleGraph`, which decides what may be seen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from ..communities.descriptions import join_descriptions
from ..errors import NameUnknown
from ..linking import Ends
from ..model import Chunk, Entity
from ..naming import named_in
from ..storage.database import read_chunks
from ..storage.facts import rows_in
from ..storage.schema import chunks, links, names, relations
from ..text.names import name_key, without_title_dots
from .paths import best_paths, neighbourhood_hops
from .results import (
    CommunityName,
    EntityDetail,
    EntityList,
    EntityPath,
    EntityView,
    NameReason,
    Neighbour,
    Neighbourhood,
    RelationView,
)
from .visible_graph import (
    PageOf,
    QuotedStatement,
    VisibleGraph,
    description_of,
    mention_sentences,
    said_of_relations,
    source_quotes,
)

SUGGESTIONS = 4
EDGES_PER_NODE = 4
"""A neighbourhood shows so many relations for each of its nodes at most."""
CONCEPT_SHARE = 0.5
"""Weight of a concept as an intermediate node; generic phrases connect anything."""
MAX_SHARED_CHUNKS = 60
"""Maximum number of chunks read for sentences that name two entities."""
FEW_SHARED_CHUNKS = 20
"""Number of chunks below which those that hold both names as words are read, too."""
_NAMES_ALONE = ("PERSON", "PLACE")
"""Types whose names are other words in lower case: *Will*, *Reading*."""
MAX_COUNTED = 2_000
"""Maximum number of chunks that name an entity in which others are counted."""
_LIKE_ENOUGH = 70
_CALLED_LIKE_IT = 200
"""Maximum names listed for similar spelling alone."""


class NamingChunk(NamedTuple):
    """A chunk that names an entity: where it stands, below which headings, outermost first."""

    id: str
    document_id: str
    title: str
    headings: tuple[str, ...]


class Explorer:
    """A graph as it may be seen, and the connection by which its sentences are read.

    Args:
        connection: sees the same picture of the library as `seen` does.
        seen: entities and relations.
        page_of: on which page an offset of a document lies.
        language: the reader's, for names; "" for that of most mentions.
    """

    def __init__(
        self, connection: Connection, seen: VisibleGraph, *, page_of: PageOf, language: str = ""
    ) -> None:
        self._connection = connection
        self._seen = seen
        self._language = language or seen.main_language
        self._page_of = page_of

    def entities(
        self,
        query: str = "",
        *,
        type: str | None = None,  # noqa: A002
        limit: int,
        offset: int,
        after: str = "",
    ) -> EntityList:
        """Search entities, most mentioned first; exact names in front.

        A query finds what has a name that contains it; where nothing has, names spelt much like it.
        """
        kind = type.upper() if type else None
        found = [
            number
            for number in self._matching(query)
            if kind is None or self._seen.entities[number].type.upper() == kind
        ]
        last = self._seen.number_of.get(after)
        begin = found.index(last) + 1 if last is not None and last in found else offset
        part = found[begin : begin + limit]
        return EntityList(items=tuple(map(self.entity_at, part)), total=len(found), begin=begin)

    def entity(
        self,
        name: str,
        *,
        communities: Sequence[CommunityName],
        evidences: int,
        limit: int,
    ) -> EntityDetail:
        """Return an entity with `evidences` sentences each and `limit` relations."""
        number = self.number(name)
        entity = self._seen.entities[number]
        listed = self.entity_at(number)
        rows = self._seen.named_first(self._seen.adjacency.relations_of(number).tolist())
        places = mention_sentences(
            self._connection, entity.keys, documents=self._seen.documents, limit=evidences
        )
        told = source_quotes(self._connection, places, page_of=self._page_of)
        return EntityDetail(
            id=entity.id,
            name=listed.name,
            type=entity.type,
            description=self._description(number),
            aliases=listed.aliases,
            names=self._names(number),
            mention_count=entity.mention_count,
            document_count=entity.document_count,
            weight=listed.weight,
            evidence=tuple(told[place] for place in places if place in told),
            relations=self._relations(rows[:limit], evidences=evidences),
            relation_count=len(rows),
            communities=tuple(communities),
        )

    def neighbourhood(
        self,
        name: str,
        *,
        hops: int,
        limit: int,
        evidences: int,
        community_of: Callable[[int], CommunityName | None],
    ) -> Neighbourhood:
        """Return the neighbourhood of an entity, at most `limit` nodes."""
        graph, start = self._seen.adjacency, self.number(name)
        found = neighbourhood_hops(graph, start, hops=hops, limit=limit)
        inside = self._seen.named_first(graph.inside(node for node, _ in found))
        rows = inside[: EDGES_PER_NODE * limit]
        return Neighbourhood(
            entity=self._seen.entities[start].id,
            nodes=tuple(self._neighbour(node, hop, community_of(node)) for node, hop in found),
            edges=self._relations(rows, evidences=evidences),
        )

    def paths(
        self, one: str, other: str, *, max_hops: int, limit: int, evidences: int
    ) -> tuple[EntityPath, ...]:
        """Ways from one entity to another, the shortest and of these the strongest first."""
        graph, ends = self._seen.adjacency, (self.number(one), self.number(other))
        found = best_paths(graph, *ends, max_hops=max_hops, limit=limit, shares=self._shares)
        pairs = {pair for path in found for pair in pairwise(path)}
        steps = {pair: self._seen.named_first(graph.between(*pair))[0] for pair in pairs}
        rows = sorted(set(steps.values()))
        edges = dict(zip(rows, self._relations(rows, evidences=evidences), strict=True))
        return tuple(
            EntityPath(
                nodes=tuple(map(self.entity_at, path)),
                edges=tuple(edges[steps[pair]] for pair in pairwise(path)),
            )
            for path in found
        )

    def between(self, one: str, other: str, *, evidences: int) -> tuple[RelationView, ...]:
        """Return the relations between two entities, the stated ones first."""
        rows = self._seen.adjacency.between(self.number(one), self.number(other))
        return self._relations(self._seen.named_first(rows), evidences=evidences)

    def common_neighbours(self, one: str, other: str, *, limit: int) -> list[EntityView]:
        """Return entities that both are related to; those with few other relations first.

        A tie weighs what the weaker of the two does, divided by the root of all relations of the
        entity between, so that what is joined with everything joins little.
        """
        graph, seen = self._seen.adjacency, self._seen
        first, second = (graph.neighbours(self.number(name)) for name in (one, other))
        ties = {
            node: min(first[node], second[node])
            * self._shares[node]
            / float(graph.strengths[node]) ** 0.5
            for node in first.keys() & second.keys()
        }
        best = sorted(ties, key=lambda node: (-round(ties[node], 9), seen.entities[node].id))
        return [self.entity_at(node) for node in best[:limit]]

    def shared_chunks(
        self, one: str, other: str, *, first: Collection[str] = (), in_words: bool = False
    ) -> list[tuple[Chunk, bool, bool]]:
        """Return the chunks that name both, by place; a title names what it is about.

        Each is an entity, or words that no entity is called by. Of many, those of the ids `first`
        are among them; where there are few, with `in_words` also those that hold the names in any
        case. With each chunk, whether the title of its document is a name of the first
        and of the second.
        """
        (named, titled), (other_named, other_titled) = map(self._naming, (one, other))
        both = (named | titled) & (other_named | other_titled) & (named | other_named)
        if in_words and len(both) < FEW_SHARED_CHUNKS:
            words, other_words = map(self._in_words, (one, other))
            both |= (named | words) & (other_named | other_words)
        ranked = sorted(both, key=lambda key: (key not in first, key))
        held = read_chunks(self._connection, ranked[:MAX_SHARED_CHUNKS])
        ordered = sorted(held.values(), key=lambda each: (each.document_id, each.start, each.id))
        return [(each, each.id in titled, each.id in other_titled) for each in ordered]

    def _in_words(self, name: str) -> set[str]:
        """Return the ids of the visible chunks that hold the name of a thing in any case."""
        with suppress(NameUnknown):
            entity = self._seen.entities[self.number(name)]
            return set() if entity.type in _NAMES_ALONE else self._saying(entity.name)[0]
        return set()

    def times_said(self, words: str) -> int:
        """Return how many visible chunks hold these words."""
        return len(self._saying(words)[0])

    def _naming(self, name: str) -> tuple[set[str], set[str]]:
        """Return the ids of the visible chunks that name something, and of those titled so."""
        try:
            entity = self._seen.entities[self.number(name)]
        except NameUnknown:
            return self._saying(name)
        columns = (links.c.key, chunks.c.title_key)
        linked, titled = (self._chunks_naming(entity.keys, column) for column in columns)
        within = self._titles_containing(name_key(entity.name))
        return linked | self._chunks_naming(within, chunks.c.title_key), titled

    def named_beside(self, name: str, *, limit: int) -> list[EntityView]:
        """Return entities of the chunks that name something, those named most seldom first."""
        ids = sorted(set[str]().union(*self._naming(name)))[:limit]
        keys = {key for key, _ in rows_in(
            self._connection, select(links.c.key, links.c.chunk_id), links.c.chunk_id, ids
        )}  # fmt: skip
        seen = self._seen
        numbers = {seen.node_of[key] for key in keys if key in seen.node_of}
        ranked = sorted(
            numbers, key=lambda one: (seen.entities[one].mention_count, seen.entities[one].id)
        )
        return [self.entity_at(number) for number in ranked[:limit]]

    def chunks_naming(self, name: str) -> list[NamingChunk]:
        """Return the visible chunks that name an entity, without texts, by document and place."""
        found = self._chunks_naming(self._seen.entities[self.number(name)].keys, links.c.key)
        place = (chunks.c.document_id, chunks.c.start, chunks.c.id)
        query = select(*place, chunks.c.title, chunks.c.headings)
        rows = sorted(map(tuple, rows_in(self._connection, query, chunks.c.id, found)))
        return [
            NamingChunk(chunk_id, document_id, title, tuple(json.loads(headings)))
            for document_id, _, chunk_id, title, headings in rows
        ]

    def chunks(self, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
        """Return chunks by id."""
        return read_chunks(self._connection, chunk_ids)

    def named_with(self, name: str, *, kind: str, limit: int) -> list[EntityView]:
        """Return the entities of a type that most of the chunks name that name an entity.

        Of very many chunks some are counted.
        """
        number, seen = self.number(name), self._seen
        ids = sorted(self._chunks_naming(seen.entities[number].keys, links.c.key))[:MAX_COUNTED]
        beside = rows_in(
            self._connection, select(links.c.key, links.c.chunk_id), links.c.chunk_id, ids
        )
        together = {(seen.node_of[key], chunk) for key, chunk in beside if key in seen.node_of}
        count = Counter(each for each, _ in together if seen.entities[each].type == kind)
        del count[number]
        ranked = sorted(count, key=lambda each: (-count[each], seen.entities[each].id))
        return [self.entity_at(each) for each in ranked[:limit]]

    def _saying(self, words: str) -> tuple[set[str], set[str]]:
        """Return the ids of the visible chunks that hold these words, and of those titled so."""
        query, key = select(chunks.c.id, chunks.c.document_id, chunks.c.title_key), name_key(words)
        found = query.where(chunks.c.text.icontains(words, autoescape=True))
        seen = self._seen.documents
        rows = [
            row
            for row in self._connection.execute(found)
            if seen is None or row.document_id in seen
        ]
        return {row.id for row in rows}, {row.id for row in rows if row.title_key == key}

    def _titles_containing(self, key: str) -> Sequence[str]:
        """Return the keys of titles that hold this key; read from their index alone."""
        query = select(chunks.c.title_key).distinct()
        return self._connection.scalars(
            query.where(chunks.c.title_key.contains(key, autoescape=True))
        ).all()

    def _chunks_naming(self, keys: Sequence[str], column: ColumnElement[str]) -> set[str]:
        """Return the ids of the visible chunks that have one of these keys in a column."""
        query = select(chunks.c.id, chunks.c.document_id).outerjoin(
            links, links.c.chunk_id == chunks.c.id
        )
        seen = self._seen.documents
        rows = rows_in(self._connection, query, column, keys)
        return {key for key, document in rows if seen is None or document in seen}

    def common_documents(self, one: str, other: str) -> list[tuple[str, str]]:
        """Return id and title of the documents that name both, by title."""
        found = [self._documents(self.number(name)) for name in (one, other)]
        shared = found[0].keys() & found[1].keys()
        return sorted(((key, found[0][key]) for key in shared), key=lambda one: (one[1], one[0]))

    def _documents(self, number: int) -> dict[str, str]:
        """Return the titles of the visible documents that name an entity, by id."""
        query = select(chunks.c.document_id, chunks.c.title).join(
            links, links.c.chunk_id == chunks.c.id
        )
        rows = rows_in(self._connection, query, links.c.key, self._seen.entities[number].keys)
        seen = self._seen.documents
        return {key: title for key, title in rows if seen is None or key in seen}

    def keys_of(self, name: str) -> tuple[str, ...]:
        """Return the name keys of an entity."""
        return self._seen.entities[self.number(name)].keys

    def number(self, name: str) -> int:
        """Resolve a text to an entity number: by id, name or label.

        Raises:
            NameUnknown: none that is seen, or several; the message names what comes near.
        """
        called = self.called(name)
        if len(called) == 1:
            return called[0]
        if called:
            choice = ", ".join(self._seen.entities[number].id for number in called[:SUGGESTIONS])
            raise NameUnknown(f"{name!r} names several entities: use one of the ids {choice}")
        near = [self._named(number).name for number in self._matching(name)]
        likest = ", ".join(repr(one) for one in list(dict.fromkeys(near))[:SUGGESTIONS])
        advice = f"; similar names are {likest}" if likest else ""
        raise NameUnknown(f"no entity has the name {name!r}{advice}")

    def called(self, name: str) -> Sequence[int]:
        """Return the numbers of the entities that a text means: by id, name or label."""
        seen = self._seen
        if name in seen.number_of:
            return [seen.number_of[name]]
        key = name_key(name)
        if key in seen.node_of:
            return [seen.node_of[key]]
        return seen.called.get(without_title_dots(" ".join(name.split()).casefold()), ())

    def entity_at(self, number: int) -> EntityView:
        """Return an entity as listed."""
        entity = self._named(number)
        return EntityView(
            id=entity.id,
            name=entity.name,
            type=entity.type,
            mention_count=entity.mention_count,
            document_count=entity.document_count,
            weight=round(float(self._seen.adjacency.strengths[number]), 6),
            aliases=entity.aliases,
        )

    def _neighbour(self, number: int, hops: int, community: CommunityName | None) -> Neighbour:
        listed = self.entity_at(number)
        return Neighbour(
            id=listed.id,
            name=listed.name,
            type=listed.type,
            mention_count=listed.mention_count,
            document_count=listed.document_count,
            weight=listed.weight,
            hops=hops,
            community=community,
        )

    @cached_property
    def _shares(self) -> list[float]:
        kinds = (entity.type for entity in self._seen.entities)
        return [CONCEPT_SHARE if kind == "CONCEPT" else 1.0 for kind in kinds]

    def _matching(self, query: str) -> Sequence[int]:
        """Return numbers of entities matching a query, best first."""
        seen, folded = self._seen, " ".join(query.split()).casefold()
        if not folded:
            return seen.ranked
        key = name_key(query) or folded
        if query in seen.number_of:
            return [seen.number_of[query]]
        hits = {number for name, number in seen.node_of.items() if key in name}
        hits.update(
            n for n, names in enumerate(seen.folded_names) if any(folded in each for each in names)
        )
        first = seen.node_of.get(key)
        if hits:
            return sorted(hits, key=lambda n: (n != first, seen.rank_of[n]))
        return self._spelt_alike(key)

    def _spelt_alike(self, key: str) -> list[int]:
        from rapidfuzz import fuzz, process

        seen = self._seen
        scored = process.extract(
            key,
            sorted(seen.node_of),
            scorer=fuzz.token_sort_ratio,
            limit=_CALLED_LIKE_IT,
            score_cutoff=_LIKE_ENOUGH,
        )
        best: dict[int, float] = {}
        for name, score, _ in scored:
            number = seen.node_of[name]
            best[number] = max(best.get(number, 0.0), score)
        return sorted(best, key=lambda n: (-best[n], seen.rank_of[n]))

    def _names(self, number: int) -> tuple[NameReason, ...]:
        entity = self._seen.entities[number]
        if not self._seen.whole[number]:
            return tuple(NameReason(name=key, reason="") for key in entity.keys)
        query = select(names.c.key, names.c.reason).where(names.c.entity_id == entity.id)
        rows = self._connection.execute(query.order_by(names.c.key))
        return tuple(NameReason(name=key, reason=reason) for key, reason in rows)

    def _description(self, number: int) -> str:
        entity, documents = self._seen.entities[number], self._seen.documents
        if documents is None:
            return entity.description
        return description_of(
            self._connection, entity.keys, id=entity.id, name=entity.name, documents=documents
        )

    def _relations(self, rows: Sequence[int], *, evidences: int) -> tuple[RelationView, ...]:
        """Relations by number, in their order, each with up to so many sentences."""
        ends = {row: self._seen.ends(row) for row in rows}
        said = self._said(ends.values())
        chosen = {row: said[ends[row]].places[:evidences] for row in rows if ends[row] in said}
        places = (place for some in chosen.values() for place in some)
        told = source_quotes(self._connection, places, page_of=self._page_of)
        described = self._derived_descriptions(rows) if self._seen.documents is None else {}
        found = []
        for row in rows:
            source, predicate, target = ends[row]
            known = said.get(ends[row], QuotedStatement(places=[], descriptions=[]))
            relation_id = self._seen.relation_id(row)
            found.append(
                RelationView(
                    id=relation_id,
                    source=source,
                    source_name=self._name(source),
                    predicate=predicate,
                    target=target,
                    target_name=self._name(target),
                    weight=round(float(self._seen.adjacency.weights[row]), 6),
                    description=described.get(relation_id, "")
                    if self._seen.documents is None
                    else join_descriptions(known.descriptions),
                    evidence=tuple(told[place] for place in chosen.get(row, ()) if place in told),
                    evidence_count=len(known.places),
                )
            )
        return tuple(found)

    def _name(self, entity_id: str) -> str:
        return self._named(self._seen.number_of[entity_id]).name

    def _named(self, number: int) -> Entity:
        """Return an entity under its name in the reader's language."""
        return named_in(self._seen.entities[number], self._language)

    def _said(self, wanted: Iterable[Ends]) -> dict[Ends, QuotedStatement]:
        seen, some = self._seen, frozenset(wanted)
        ids = {end for ends in some for end in (ends[0], ends[2])}
        keys = {key for one in ids for key in seen.entities[seen.number_of[one]].keys}
        entity_of = {key: seen.entities[seen.node_of[key]].id for key in keys}
        return said_of_relations(
            self._connection, some, entity_of=entity_of, keys=keys, documents=seen.documents
        )

    def _derived_descriptions(self, rows: Sequence[int]) -> dict[str, str]:
        query = select(relations.c.id, relations.c.description)
        ids = (self._seen.relation_id(row) for row in rows)
        return dict(map(tuple, rows_in(self._connection, query, relations.c.id, ids)))
