"""Chunks, entities and relations as LlamaIndex sees them, and back.

Nothing is lost on the way: ids, spans and evidences travel in the nodes' own fields or properties.
"""

from __future__ import annotations

import json

from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation, Triplet
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from . import model


def chunk_of_node(node: BaseNode) -> model.Chunk:
    """A LlamaIndex node as a chunk; without offsets the node is its own whole document."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    start = getattr(node, "start_char_idx", None) or 0
    headings = node.metadata.get("headings") or ()
    page = node.metadata.get("page")
    return model.Chunk(
        id=node.node_id,
        document_id=node.ref_doc_id or node.node_id,
        title=str(node.metadata.get("title") or ""),
        text=text,
        start=start,
        end=start + len(text),
        position=int(node.metadata.get("position") or 0),
        headings=tuple(json.loads(headings) if isinstance(headings, str) else headings),
        page=int(page) if page is not None else None,
    )


def node_of_chunk(chunk: model.Chunk) -> TextNode:
    """The LlamaIndex node of a chunk: same id, text, offsets and metadata."""
    node = TextNode(
        id_=chunk.id,
        text=chunk.text,
        start_char_idx=chunk.start,
        end_char_idx=chunk.end,
        metadata={
            "title": chunk.title,
            "headings": list(chunk.headings),
            "page": chunk.page,
            "position": chunk.position,
        },
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=chunk.document_id)
    return node


def entity_node(entity: model.Entity) -> EntityNode:
    """An entity as LlamaIndex sees it; its id is ours, never the name."""
    return IdentifiedEntity(
        name=entity.name,
        label=entity.type,
        entity_id=entity.id,
        properties={"aliases": list(entity.aliases), "mentions": entity.mention_count},
    )


class IdentifiedEntity(EntityNode):
    """An `EntityNode` whose id is not its name, so that homonyms stay two."""

    entity_id: str

    @property
    def id(self) -> str:
        """The entity's id."""
        return self.entity_id


def chunk_node(chunk: model.Chunk) -> ChunkNode:
    """A chunk as a node of a property graph."""
    return ChunkNode(
        id_=chunk.id,
        text=chunk.text,
        properties={"title": chunk.title, "ref_doc_id": chunk.document_id},
    )


def relation_node(relation: model.Relation) -> Relation:
    """A relation as LlamaIndex sees it; its evidences are `[chunk id, start, end]`."""
    return Relation(
        label=relation.predicate,
        source_id=relation.source_id,
        target_id=relation.target_id,
        properties={
            "weight": relation.weight,
            "evidences": [[e.chunk_id, e.start, e.end] for e in relation.evidences],
        },
    )


def triplet_has(triplet: Triplet, key: str, value: object) -> bool:
    """Whether either end or the relation itself has this property."""
    return any(part.properties.get(key) == value for part in triplet)
