"""Chunks, entities and relations as LlamaIndex sees them, and back.

All that a chunk has comes back as it was: id, document, text, span, title, headings, page, context
and what to read around it. Of a node that somebody else made, metadata beyond these is not kept.
"""

from __future__ import annotations

import json

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
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

from . import model

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

    Without a source the node is its own document, without offsets it stands at the document's
    start, and without a position it is ordered by its offset.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    start = getattr(node, "start_char_idx", None) or 0
    headings = node.metadata.get("headings") or ()
    page, position = node.metadata.get("page"), node.metadata.get("position")
    read = node.metadata.get("read_start"), node.metadata.get("read_end")
    return model.Chunk(
        id=node.node_id,
        document_id=node.ref_doc_id or node.node_id,
        title=str(node.metadata.get("title") or ""),
        text=text,
        start=start,
        end=start + len(text),
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


def triplet(
    source: model.Entity, relation: model.Relation, target: model.Entity
) -> tuple[EntityNode, Relation, EntityNode]:
    """Convert a relation and its ends; all name the first evidence's chunk as source."""
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
