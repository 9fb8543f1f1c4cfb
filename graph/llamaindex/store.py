"""LlamaIndex's `PropertyGraphStore` over the SQL tables, and its nodes.

Unlike LlamaIndex's own stores it has every evidence of a relation, tells homonyms apart by entity
id, and can delete what one chunk or document said. Facts are stored at once; derived rows are
brought up to them before they are read. Chunks survive the conversion to nodes and back; of nodes
made elsewhere, metadata beyond a chunk's fields is dropped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.vector_stores.types import VectorStoreQuery
from sqlalchemy import Connection, select

from .. import model
from ..errors import GraphInputError
from ..extraction.llamaindex import extraction_from_node
from ..linking import Progress
from ..pipeline import Derived, DeriveOptions, derive_graph
from ..storage.database import Database, read_chunks, read_entities, read_relations
from ..storage.facts import (
    HAND_MADE,
    delete_chunks,
    delete_document,
    derived_generation,
    facts_generation,
    forget_titles,
    put_chunks,
    put_extractions,
    read_extractions,
    unique_per_span,
)
from ..storage.schema import chunks, metadata
from ..text.names import name_key

_BOOKKEEPING = ("headings", "page", "position", "context", "read_start", "read_end")
"""Metadata that no model needs to read beside a chunk's text and title."""


def document_splitter() -> TransformComponent:
    """Return a splitter with ids derived from document id and text.

    LlamaIndex's own default gives random ids: the same document twice would be two sets of chunks.
    Its vocabulary is read when the first document is cut: most indexes never cut one.
    """
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.utils import get_tokenizer

    def chunk_id(number: int, document: BaseNode) -> str:
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        return model.content_id("c", document.node_id, text, str(number))

    return SentenceSplitter(tokenizer=lambda text: get_tokenizer()(text), id_func=chunk_id)


def chunk_of_node(node: BaseNode) -> model.Chunk:
    """Convert a LlamaIndex node to a chunk.

    Without a source the node is its own document; without offsets its place in the document is not
    known (`end` 0), and without a position it is ordered by its offset.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    offset, has_source = getattr(node, "start_char_idx", None), node.ref_doc_id is not None
    start = offset or 0
    headings = node.metadata.get("headings") or ()
    page, position = node.metadata.get("page"), node.metadata.get("position")
    read = node.metadata.get("read_start"), node.metadata.get("read_end")
    return model.Chunk(
        id=node.node_id,
        document_id=node.ref_doc_id or node.node_id,
        title=str(node.metadata.get("title") or ""),
        text=text,
        start=start,
        end=0 if offset is None and has_source else start + len(text),
        position=int(start if position is None else position),
        headings=tuple(json.loads(headings) if isinstance(headings, str) else headings),
        page=int(page) if page is not None else None,
        context=str(node.metadata.get("context") or ""),
        read=(int(read[0]), int(read[1])) if read[0] is not None and read[1] is not None else None,
    )


def node_of_chunk(chunk: model.Chunk) -> TextNode:
    """Convert a chunk to a LlamaIndex node with id, text, offsets and metadata."""
    node = TextNode(
        id_=chunk.id,
        text=chunk.text,
        start_char_idx=chunk.start,
        end_char_idx=chunk.end,
        metadata=_metadata(chunk),
        excluded_llm_metadata_keys=list(_BOOKKEEPING),
        excluded_embed_metadata_keys=list(_BOOKKEEPING),
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=chunk.document_id)
    return node


def _metadata(chunk: model.Chunk) -> dict[str, str | int | list[str] | None]:
    metadata: dict[str, str | int | list[str] | None] = {
        "title": chunk.title,
        "headings": list(chunk.headings),
        "page": chunk.page,
        "position": chunk.position,
    }
    if chunk.context:
        metadata["context"] = chunk.context
    if chunk.read is not None:
        metadata["read_start"], metadata["read_end"] = chunk.read
    return metadata


def entity_node(entity: model.Entity, *, chunk_id: str | None = None) -> EntityNode:
    """Convert an entity to LlamaIndex's node with our id.

    `chunk_id` is where LlamaIndex's own retrievers look for the text that speaks of it.
    """
    source = {} if chunk_id is None else {TRIPLET_SOURCE_KEY: chunk_id}
    return IdentifiedEntity(
        name=entity.name,
        label=entity.type,
        entity_id=entity.id,
        properties={"aliases": list(entity.aliases), "mentions": entity.mention_count, **source},
    )


class IdentifiedEntity(EntityNode):
    """An `EntityNode` whose id is not its name, so that homonyms stay two."""

    entity_id: str

    @property
    def id(self) -> str:
        """The entity's id."""
        return self.entity_id


def chunk_node(chunk: model.Chunk) -> ChunkNode:
    """Convert a chunk to a property-graph node."""
    return ChunkNode(
        id_=chunk.id,
        text=chunk.text,
        properties={
            **_metadata(chunk),
            "ref_doc_id": chunk.document_id,
            "start": chunk.start,
        },
    )


def chunk_of_graph_node(node: ChunkNode) -> model.Chunk:
    """Convert a property-graph node to a chunk; missing properties get defaults."""
    source = TextNode(
        id_=node.id,
        text=node.text,
        start_char_idx=node.properties.get("start"),
        metadata=node.properties,
    )
    document_id = node.properties.get("ref_doc_id")
    if document_id:
        source.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=str(document_id))
    return chunk_of_node(source)


def relation_triplet(
    source: model.Entity, relation: model.Relation, target: model.Entity
) -> tuple[EntityNode, Relation, EntityNode]:
    """Convert a graph relation and its ends to a LlamaIndex triplet of nodes."""
    chunk_id = relation.evidences[0].chunk_id if relation.evidences else None
    return (
        entity_node(source, chunk_id=chunk_id),
        relation_node(relation),
        entity_node(target, chunk_id=chunk_id),
    )


def relation_node(relation: model.Relation) -> Relation:
    """Convert a relation to LlamaIndex's; evidences are `[chunk id, start, end]`."""
    return Relation(
        label=relation.predicate,
        source_id=relation.source_id,
        target_id=relation.target_id,
        properties={
            "weight": relation.weight,
            "evidences": [[e.chunk_id, e.start, e.end] for e in relation.evidences],
            **({TRIPLET_SOURCE_KEY: relation.evidences[0].chunk_id} if relation.evidences else {}),
        },
    )


def triplet_has(triplet: Triplet, key: str, value: object) -> bool:
    """Check whether either end or the relation has this property."""
    return any(part.properties.get(key) == value for part in triplet)


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
        return derive_graph(self.database, options=self.options, progress=progress)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a consistent read in which derived rows are current."""
        self.refresh()
        with self.database.read() as connection:
            if derived_generation(connection) == facts_generation(connection):
                yield connection
                return
        with self.database.write() as connection:  # facts came in between: now none can
            self.refresh()
            yield connection

    # --- facts in -------------------------------------------------------------------------

    def upsert_llama_nodes(self, llama_nodes: Sequence[BaseNode]) -> None:
        """Store chunks; a changed one replaces its id and facts."""
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
        with self.database.write() as connection:
            values = [chunk_of_graph_node(node) for node in nodes if isinstance(node, ChunkNode)]
            put_chunks(connection, values)
            facts: defaultdict[str, _Facts] = defaultdict(_Facts)
            for node in nodes:
                if isinstance(node, EntityNode):
                    facts[_source_of(node)].entities.append(
                        EntityNode(name=node.name, label=node.label)
                    )
            _add_by_hand(connection, facts)

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Add relations; each needs its source chunk, and ends by name or id.

        Predicates are kept in small letters with spaces, as extractors give them.

        Raises:
            GraphInputError: a relation without `triplet_source_id`, or with an end that does not
                stand in that chunk.
        """
        with self.database.write() as connection:
            self.refresh()
            entities = {entity.id: entity for entity in read_entities(connection)}
            sources = [_source_of(relation) for relation in relations]
            found = read_extractions(connection, sources)
            facts: defaultdict[str, _Facts] = defaultdict(_Facts)
            for source, relation in zip(sources, relations, strict=True):
                ends = [
                    _end(end, entities.get(end), found[source])
                    for end in (relation.source_id, relation.target_id)
                ]
                facts[source].entities.extend(ends)
                facts[source].relations.append(
                    Relation(label=relation.label, source_id=ends[0].id, target_id=ends[1].id)
                )
            _add_by_hand(connection, facts)

    # --- facts out ------------------------------------------------------------------------

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete what these names, predicates, properties or ids (chunk or entity) say.

        An entity goes by deleting every mention, statement and title of its names.
        """
        wanted = {node.id for node in self.get(properties=properties)} if properties else set()
        wanted |= set(ids or [])
        named = {name_key(name) for name in entity_names or []}
        with self.database.write() as connection:
            self.refresh()
            keys: set[str] = set(named)
            for entity in read_entities(connection):
                if entity.id in wanted or named.intersection(entity.keys):
                    keys.update(entity.keys)
            self._delete_facts(connection, keys, _predicates(relation_names or []))
            forget_titles(connection, keys)
            delete_chunks(connection, wanted)

    def delete_llama_nodes(
        self, node_ids: list[str] | None = None, ref_doc_ids: list[str] | None = None
    ) -> None:
        """Delete chunks and documents by id, with their facts."""
        with self.database.write() as connection:
            delete_document(connection, *(ref_doc_ids or ()))
            delete_chunks(connection, node_ids or [])

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

    # --- reading --------------------------------------------------------------------------

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Return entities and chunks by id or properties; all entities without either.

        Entities come first, each sorted by id. What is no id but a name gives the entity of that
        name: LlamaIndex's own retrievers take names for ids.
        """
        wanted = None if ids is None else {*ids, *(name_key(name) for name in ids)}
        with self.reading() as connection:
            found: list[LabelledNode] = [
                entity_node(entity)
                for entity in read_entities(connection)
                if wanted is None or entity.id in wanted or wanted.intersection(entity.keys)
            ]
            if ids is not None or properties is not None:
                held = read_chunks(connection, ids)
                found += [chunk_node(held[chunk_id]) for chunk_id in sorted(held)]
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
        """Return relations with both ends, sorted by relation id; empty without a query."""
        if not (entity_names or relation_names or properties or ids):
            return []
        with self.reading() as connection:
            by_id = {entity.id: entity for entity in read_entities(connection)}
            relations = read_relations(connection)
        keys = {name_key(name) for name in entity_names or []}
        predicates = _predicates(relation_names or [])
        triplets: list[Triplet] = []
        for relation in relations:
            ends = by_id[relation.source_id], by_id[relation.target_id]
            if entity_names and not any(keys & set(end.keys) for end in ends):
                continue
            if ids and not any(end.id in ids for end in ends):
                continue
            if relation_names and relation.predicate not in predicates:
                continue
            made = relation_triplet(ends[0], relation, ends[1])
            if all(triplet_has(made, key, value) for key, value in (properties or {}).items()):
                triplets.append(made)
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
        ignored = _predicates(ignore_rels or [])
        found: dict[tuple[str, str, str], Triplet] = {}
        frontier = set(reached)
        for _hop in range(depth):
            if not frontier:
                break
            hop = self.get_triplets(ids=sorted(frontier))
            hop.sort(key=lambda t: (-float(t[1].properties["weight"]), t[0].id, t[1].id, t[2].id))
            for one in hop:
                if one[1].label not in ignored:
                    found.setdefault((one[0].id, one[1].label, one[2].id), one)
            frontier = {end.id for t in hop for end in (t[0], t[2])} - reached
            reached |= frontier
        return list(found.values())[:limit]

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Not offered: text never becomes a database query here."""
        raise NotImplementedError("SqlGraphStore supports no query language: use get_triplets")

    def vector_query(
        self, query: VectorStoreQuery, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """Not offered: vectors live in the vector store."""
        raise NotImplementedError("SqlGraphStore stores no vectors: use the vector store")

    def get_schema(self, refresh: bool = False) -> dict[str, list[str]]:
        """Entity types and predicates that occur, sorted."""
        with self.reading() as connection:
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


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts stated for one chunk."""

    entities: list[EntityNode] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


def _add_by_hand(connection: Connection, facts: Mapping[str, _Facts]) -> None:
    held = read_chunks(connection, facts)
    found = read_extractions(connection, facts)
    for source, added in sorted(facts.items()):
        if source not in held:
            raise GraphInputError(f"no chunk {source!r}: add the chunk before its entities")
        found[source] = _with_facts(held[source], found[source], added)
    if found:
        put_extractions(connection, found, extractor=HAND_MADE)


def _with_facts(chunk: model.Chunk, before: model.Extraction, added: _Facts) -> model.Extraction:
    """Return a chunk's extraction extended by stated facts, located or refused."""
    metadata = {KG_NODES_KEY: added.entities, KG_RELATIONS_KEY: added.relations}
    back = extraction_from_node(TextNode(id_=chunk.id, text=chunk.text, metadata=metadata))
    if back.unplaced_names:
        names = ", ".join(map(repr, back.unplaced_names))
        raise GraphInputError(f"{names} does not occur in chunk {chunk.id!r}")
    if back.dropped_relations:
        raise GraphInputError(
            f"chunk {chunk.id!r}: a relation needs a label and two different entities"
        )
    return model.Extraction(
        mentions=tuple(unique_per_span([*before.mentions, *back.extraction.mentions])),
        statements=tuple(sorted({*before.statements, *back.extraction.statements})),
    )


def _end(given: str, entity: model.Entity | None, here: model.Extraction) -> EntityNode:
    """Resolve a relation's end by name or id; the chunk may use another name."""
    if entity is None:
        return EntityNode(name=given)
    surfaces = [m.surface for m in here.mentions if m.key in entity.keys]
    return EntityNode(name=surfaces[0] if surfaces else entity.name)


def _predicates(labels: Iterable[str]) -> set[str]:
    """Labels as the store keeps them: WORKS_AT is "works at"."""
    return {" ".join(label.replace("_", " ").casefold().split()) for label in labels}
