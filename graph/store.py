"""LlamaIndex's `PropertyGraphStore` over the SQL tables.

Unlike LlamaIndex's own stores it keeps every evidence of a relation, tells homonyms apart by
entity id, and can delete what one chunk or one document said. It stores facts at once; entities
and all that rests on them are derived (see `derive`) before anything derived is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from sqlalchemy import Connection, delete, select

from . import model
from .database import Database
from .derive import Derived, DeriveOptions, Progress, derive
from .errors import GraphInputError
from .facts import delete_document, put_chunks, put_extractions, read_extractions
from .names import name_key
from .nodes import (
    chunk_node,
    chunk_of_node,
    entity_node,
    node_of_chunk,
    relation_node,
    triplet_has,
)
from .read import read_chunks, read_entities, read_relations
from .schema import chunks, metadata

HAND_MADE = "by hand"
"""The extractor named for facts that came through `upsert_nodes` and `upsert_relations`."""


class SqlGraphStore(PropertyGraphStore):
    """A property graph in a SQL database.

    Args:
        database: shared with whoever else keeps tables there; `metadata` tables are created.
        options: clustering parameters for what is derived.
    """

    supports_structured_queries = False
    supports_vector_queries = False

    def __init__(self, database: Database, *, options: DeriveOptions | None = None) -> None:
        self.database = database
        self.options = options or DeriveOptions()
        with database.write() as connection:
            metadata.create_all(connection)

    @property
    def client(self) -> Database:
        """The database."""
        return self.database

    def refresh(self, *, progress: Progress | None = None) -> Derived:
        """Bring entities, relations, communities and reports up to the facts."""
        return derive(self.database, options=self.options, progress=progress)

    # --- facts in -------------------------------------------------------------------------

    def upsert_llama_nodes(self, llama_nodes: Sequence[BaseNode]) -> None:
        """Store chunks; a node known by its id is left as it is."""
        with self.database.write() as connection:
            put_chunks(connection, [chunk_of_node(node) for node in llama_nodes])

    def put_extractions(self, extractions: dict[str, model.Extraction], *, extractor: str) -> None:
        """Replace what was read from each chunk (by chunk id)."""
        with self.database.write() as connection:
            put_extractions(connection, extractions, extractor=extractor)

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Add chunks and entities; an entity needs the chunk it was read from.

        Raises:
            GraphInputError: an entity without `triplet_source_id`, or one whose name does not
                stand in that chunk: the graph holds nothing without evidence.
        """
        chunk_nodes = [node for node in nodes if isinstance(node, ChunkNode)]
        self.upsert_llama_nodes(
            [TextNode(id_=n.id, text=n.text, metadata=n.properties) for n in chunk_nodes]
        )
        named = [node for node in nodes if isinstance(node, EntityNode)]
        self._add_by_hand([(_source_of(node), node.name, node.label, None) for node in named])

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Add relations; each needs the chunk it was read from, and its ends by name or id."""
        with self.database.read() as connection:
            name_of = {entity.id: entity.name for entity in read_entities(connection)}
        additions: list[tuple[str, str, str, tuple[str, str] | None]] = []
        for relation in relations:
            ends = (
                name_of.get(relation.source_id, relation.source_id),
                name_of.get(relation.target_id, relation.target_id),
            )
            source = _source_of(relation)
            additions.append((source, ends[0], "NAME", None))
            additions.append((source, ends[1], "NAME", (ends[0], relation.label)))
        self._add_by_hand(additions)

    def _add_by_hand(
        self, additions: Sequence[tuple[str, str, str, tuple[str, str] | None]]
    ) -> None:
        with self.database.write() as connection:
            held = read_chunks(connection, [source for source, *_ in additions])
            found = read_extractions(connection, [source for source, *_ in additions])
            for source, name, label, link in additions:
                if source not in held:
                    raise GraphInputError(f"no chunk {source!r}: add the chunk before its entities")
                found[source] = _with_fact(held[source], found[source], name, label, link)
            if found:
                put_extractions(connection, found, extractor=HAND_MADE)

    # --- facts out ------------------------------------------------------------------------

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete what these names, predicates, properties or ids (chunk or entity) say.

        An entity goes by deleting every mention and statement of its names.
        """
        wanted = {node.id for node in self.get(properties=properties)} if properties else set()
        wanted |= set(ids or [])
        keys = {name_key(name) for name in entity_names or []}
        with self.database.write() as connection:
            for entity in read_entities(connection):
                if entity.id in wanted:
                    keys.update(entity.keys)
            self._delete_facts(connection, keys, set(relation_names or []))
            self._delete_chunks(connection, sorted(wanted))

    def delete_llama_nodes(
        self, node_ids: list[str] | None = None, ref_doc_ids: list[str] | None = None
    ) -> None:
        """Delete chunks by id and whole documents by theirs, with all that was read from them."""
        with self.database.write() as connection:
            for document_id in ref_doc_ids or []:
                delete_document(connection, document_id)
            self._delete_chunks(connection, node_ids or [])

    def _delete_facts(self, connection: Connection, keys: set[str], predicates: set[str]) -> None:
        if not keys and not predicates:
            return
        ids = list(connection.execute(select(chunks.c.id)).scalars())
        changed: dict[str, model.Extraction] = {}
        for chunk_id, extraction in read_extractions(connection, ids).items():
            kept = model.Extraction(
                mentions=tuple(m for m in extraction.mentions if m.key not in keys),
                statements=tuple(
                    s
                    for s in extraction.statements
                    if not {s.subject, s.object} & keys and s.predicate not in predicates
                ),
            )
            if kept != extraction:
                changed[chunk_id] = kept
        if changed:
            put_extractions(connection, changed, extractor=HAND_MADE)

    def _delete_chunks(self, connection: Connection, ids: Sequence[str]) -> None:
        present = read_chunks(connection, ids)
        if not present:
            return
        put_extractions(
            connection, {chunk_id: model.Extraction() for chunk_id in present}, extractor=HAND_MADE
        )
        connection.execute(delete(chunks).where(chunks.c.id.in_(sorted(present))))

    # --- reading --------------------------------------------------------------------------

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Entities and chunks, by id or by property (all entities with neither); sorted by id."""
        self.refresh()
        with self.database.read() as connection:
            found: list[LabelledNode] = [entity_node(e) for e in read_entities(connection)]
            if ids is not None or properties is not None:
                held = read_chunks(connection, ids)
                found += [chunk_node(held[chunk_id]) for chunk_id in sorted(held)]
        if ids is not None:
            found = [node for node in found if node.id in set(ids)]
        for key, value in (properties or {}).items():
            found = [node for node in found if node.properties.get(key) == value]
        return found

    def get_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        """Chunks as nodes, in the order asked for; unknown ids are left out."""
        with self.database.read() as connection:
            held = read_chunks(connection, node_ids)
        return [node_of_chunk(held[node_id]) for node_id in node_ids if node_id in held]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Relations with both ends, sorted by relation id; nothing asked for is nothing given."""
        if not (entity_names or relation_names or properties or ids):
            return []
        self.refresh()
        with self.database.read() as connection:
            by_id = {entity.id: entity for entity in read_entities(connection)}
            relations = read_relations(connection)
        keys = {name_key(name) for name in entity_names or []}
        triplets: list[Triplet] = []
        for relation in relations:
            ends = by_id[relation.source_id], by_id[relation.target_id]
            if keys and not any(keys & set(end.keys) for end in ends):
                continue
            if ids and not any(end.id in ids for end in ends):
                continue
            if relation_names and relation.predicate not in relation_names:
                continue
            triplet = entity_node(ends[0]), relation_node(relation), entity_node(ends[1])
            if all(triplet_has(triplet, key, value) for key, value in (properties or {}).items()):
                triplets.append(triplet)
        return triplets

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """Relations within `depth` hops of the nodes, nearest and heaviest first."""
        reached = {node.id for node in graph_nodes}
        ignored = set(ignore_rels or [])
        found: dict[tuple[str, str, str], Triplet] = {}
        frontier = set(reached)
        for _hop in range(depth):
            if not frontier:
                break
            hop = self.get_triplets(ids=sorted(frontier))
            hop.sort(key=lambda t: (-float(t[1].properties["weight"]), t[0].id, t[1].id, t[2].id))
            for triplet in hop:
                if triplet[1].label not in ignored:
                    found.setdefault((triplet[0].id, triplet[1].label, triplet[2].id), triplet)
            frontier = {end.id for t in hop for end in (t[0], t[2])} - reached
            reached |= frontier
        return list(found.values())[:limit]

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Not offered: text never becomes a database query here."""
        raise NotImplementedError("SqlGraphStore takes no query language; use get_triplets")

    def vector_query(
        self, query: VectorStoreQuery, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """Not offered: vectors live in the vector store."""
        raise NotImplementedError("SqlGraphStore holds no vectors; use the vector store")

    def get_schema(self, refresh: bool = False) -> dict[str, list[str]]:
        """Entity types and predicates that occur, sorted."""
        self.refresh()
        with self.database.read() as connection:
            return {
                "entity_types": sorted({entity.type for entity in read_entities(connection)}),
                "predicates": sorted({r.predicate for r in read_relations(connection)}),
            }


def _source_of(part: LabelledNode | Relation) -> str:
    source = part.properties.get(TRIPLET_SOURCE_KEY)
    if not isinstance(source, str):
        raise GraphInputError(
            f"{part!s}: give the id of the chunk it was read from in "
            f"properties[{TRIPLET_SOURCE_KEY!r}]"
        )
    return source


def _with_fact(
    chunk: model.Chunk,
    extraction: model.Extraction,
    name: str,
    label: str,
    link: tuple[str, str] | None,
) -> model.Extraction:
    start = chunk.text.casefold().find(name.casefold())
    surface = chunk.text[start : start + len(name)]
    if start < 0 or not name_key(surface):
        raise GraphInputError(f"{name!r} does not stand in chunk {chunk.id!r}")
    entity_type = label if label in model.ENTITY_TYPES else "NAME"
    mention = model.Mention(
        start=start, end=start + len(name), surface=surface, key=name_key(name), type=entity_type
    )
    at = {(m.start, m.end, m.key): m for m in (mention, *extraction.mentions)}
    mentions = tuple(sorted(at.values()))
    statements = set(extraction.statements)
    if link is not None:
        statements.add(
            model.Statement(
                start=0,
                end=len(chunk.text),
                subject=name_key(link[0]),
                predicate=link[1],
                object=name_key(name),
            )
        )
    return model.Extraction(mentions=mentions, statements=tuple(sorted(statements)))
