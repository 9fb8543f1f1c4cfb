"""Extractors and LlamaIndex: nodes and relations into a node's metadata, and back.

`ExtractionTransform` makes any `Extractor` a LlamaIndex transformation. `extraction_of` reads what
it wrote, without loss, and also what any other LlamaIndex extractor writes: names and relations
without places, which it looks up in the node's text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    Relation,
)
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import ConfigDict, SkipValidation

from ..model import Claim, Description, Extraction, Mention, Statement, merge_extractions
from ..text.names import WORD_CHARACTERS, name_key
from ..text.sentences import lay_out
from .protocol import Extractor, type_of_label

_GAP = r"\s+"
_SPANS = "loregraph_spans"
"""Metadata property with `[start, end, surface]` of mentions; marks our own nodes."""
_CLAIMS = "loregraph_claims"
"""Property of the subject's node that holds its claims, field by field."""
logger = logging.getLogger("loregraph.graph.extract")


class ExtractionTransform(TransformComponent):
    """LlamaIndex transformation around an `Extractor`, for `kg_extractors` or a pipeline.

    Writes one `EntityNode` for each key and type, and one `Relation` for each statement, into the
    metadata of every node; what earlier extractors wrote there stays.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    extractor: SkipValidation[Extractor]

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the component."""
        return "ExtractionTransform"

    @property
    def identity(self) -> str:
        """The extractor's identity."""
        return self.extractor.identity

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return the same nodes, in order, with extractions in their metadata."""
        texts = [node_text(node) for node in nodes]
        for node, extraction in zip(nodes, self.extractor.extract(texts), strict=True):
            attach_extraction(node, extraction)
        return list(nodes)


def attach_extraction(node: BaseNode, extraction: Extraction) -> None:
    """Add an extraction to a node's metadata, in LlamaIndex's form."""
    node.metadata[KG_NODES_KEY] = [
        *node.metadata.get(KG_NODES_KEY, ()),
        *entity_nodes(extraction),
    ]
    node.metadata[KG_RELATIONS_KEY] = [
        *node.metadata.get(KG_RELATIONS_KEY, ()),
        *relation_nodes(extraction),
    ]


def node_text(node: BaseNode) -> str:
    """Return the text of a LlamaIndex node that extraction reads and its offsets refer to."""
    return node.get_content(metadata_mode=MetadataMode.NONE)


def entity_nodes(extraction: Extraction) -> list[EntityNode]:
    """Return one node for each key and type, sorted, with all properties."""
    places: dict[tuple[str, str], list[Mention]] = {}
    for mention in extraction.mentions:
        places.setdefault((mention.key, mention.type), []).append(mention)
    described = {one.key: one.text for one in extraction.descriptions}
    claimed: dict[str, list[dict[str, Any]]] = {}
    for claim in extraction.claims:
        claimed.setdefault(claim.subject, []).append(asdict(claim))
    return [
        EntityNode(
            name=found[0].surface,
            label=kind,
            properties={
                "key": key,
                _SPANS: [[m.start, m.end, m.surface] for m in found],
                **({"description": described[key]} if key in described else {}),
                **({_CLAIMS: claimed[key]} if key in claimed else {}),
            },
        )
        for (key, kind), found in sorted(places.items())
    ]


def relation_nodes(extraction: Extraction) -> list[Relation]:
    """Return one LlamaIndex relation for each statement; its ends are ids of `entity_nodes`."""
    ids = {m.key: _node_id(m.surface) for m in reversed(extraction.mentions)}
    return [
        Relation(
            label=s.predicate,
            source_id=ids.get(s.subject, s.subject),
            target_id=ids.get(s.object, s.object),
            properties={
                "subject": s.subject,
                "object": s.object,
                _SPANS: [[s.start, s.end]],
                **{name: getattr(s, name) for name in _SAID if getattr(s, name) != _SAID[name]},
            },
        )
        for s in extraction.statements
    ]


_SAID = {"description": "", "strength": 1.0, "inferred": False}
"""Properties a language model adds to a relation, with defaults."""


def _node_id(name: str) -> str:
    return name.replace('"', " ")  # as EntityNode.id does


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExtraction:
    """An extraction, and what of the input has no place in the text and was left out."""

    extraction: Extraction
    unplaced_names: tuple[str, ...] = ()
    dropped_relations: int = 0


def extraction_of(node: BaseNode) -> Extraction:
    """Read extractions of LlamaIndex extractors from a node's metadata; empty without any.

    Names that do not stand in the text are dropped with their relations, and a warning counts
    them; `extraction_from_node` gives the same with the names that were dropped.
    """
    found = extraction_from_node(node)
    if found.unplaced_names or found.dropped_relations:
        logger.warning(
            "chunk %s: %d extracted names are not in its text (%s), %d relations dropped with them",
            node.node_id,
            len(found.unplaced_names),
            ", ".join(map(repr, found.unplaced_names[:5])),
            found.dropped_relations,
        )
    return found.extraction


def extraction_from_node(node: BaseNode) -> NodeExtraction:
    """Mentions and statements of a node, and what could not be placed in its text.

    A name without places is looked for without regard to case; every occurrence is a mention, and a
    relation rests on the first sentence that holds both ends, else on the one that holds the first.
    """
    text = node_text(node)
    entities = [e for e in node.metadata.get(KG_NODES_KEY, ()) if isinstance(e, EntityNode)]
    mentions: set[Mention] = set()
    unplaced: set[str] = set()
    key_of: dict[str, str] = {}
    for entity in entities:
        placed = list(
            _own_mentions(entity) if _SPANS in entity.properties else _places(entity, text)
        )
        mentions.update(placed)
        if placed:
            key_of[entity.id] = placed[0].key
        else:
            unplaced.add(entity.name)
    links = [r for r in node.metadata.get(KG_RELATIONS_KEY, ()) if isinstance(r, Relation)]
    sentences = _Sentences(text, mentions)
    made = [_statement(link, key_of, sentences) for link in links]
    statements = {statement for statement in made if statement is not None}
    return NodeExtraction(
        extraction=merge_extractions(
            [
                Extraction(
                    mentions=tuple(mentions),
                    statements=tuple(statements),
                    descriptions=_descriptions(entities, key_of),
                    claims=_claims(entities),
                )
            ]
        ),
        unplaced_names=tuple(sorted(unplaced)),
        dropped_relations=made.count(None),
    )


_DESCRIPTIONS = ("description", "entity_description")
_RELATION_DESCRIPTIONS = ("description", "relationship_description")


def _descriptions(
    entities: Iterable[EntityNode], key_of: Mapping[str, str]
) -> tuple[Description, ...]:
    """Return the longest description of each key found in the text, sorted."""
    longest: dict[str, str] = {}
    for entity in entities:
        text = _first_text(entity.properties, _DESCRIPTIONS)
        if text and entity.id in key_of:
            key = key_of[entity.id]
            longest[key] = max(longest.get(key, ""), text, key=lambda one: (len(one), one))
    return tuple(Description(key=key, text=longest[key]) for key in sorted(longest))


def _claims(entities: Iterable[EntityNode]) -> tuple[Claim, ...]:
    held = (claim for entity in entities for claim in entity.properties.get(_CLAIMS, ()))
    return tuple(Claim(**claim) for claim in held)


def _first_text(properties: Mapping[str, Any], names: Iterable[str]) -> str:
    values = (properties.get(name) for name in names)
    return next((" ".join(v.split()) for v in values if isinstance(v, str) and v.strip()), "")


def _own_mentions(entity: EntityNode) -> Iterator[Mention]:
    for start, end, surface in entity.properties[_SPANS]:
        key = str(entity.properties["key"])
        yield Mention(start=start, end=end, surface=surface, key=key, type=entity.label)


def _places(entity: EntityNode, text: str) -> Iterator[Mention]:
    """Find a name in the text: whole words, any case and white space."""
    words = [re.escape(word) for word in entity.name.split()]
    if not words or not name_key(entity.name):
        return
    pattern = rf"(?<![{WORD_CHARACTERS}]){_GAP.join(words)}(?![{WORD_CHARACTERS}])"
    for match in re.finditer(pattern, text, re.IGNORECASE):
        yield Mention(
            start=match.start(),
            end=match.end(),
            surface=match.group(),
            key=name_key(entity.name),
            type=type_of_label(entity.label, entity.name),
        )


class _Sentences:
    """The sentences of a text with the keys that stand in each."""

    def __init__(self, text: str, mentions: Iterable[Mention]) -> None:
        self._layout = lay_out(text)
        self._holding: dict[str, set[int]] = {}
        for mention in mentions:
            index = self._layout.sentence_at(mention.start)
            if index is not None:
                self._holding.setdefault(mention.key, set()).add(index)

    def span_of(self, subject: str, target: str) -> tuple[int, int] | None:
        """Return the first sentence with both keys, else with the subject."""
        with_subject = self._holding.get(subject, set())
        shared = with_subject & self._holding.get(target, set()) or with_subject
        return self._layout.sentences[min(shared)] if shared else None


def _statement(
    link: Relation, key_of: Mapping[str, str], sentences: _Sentences
) -> Statement | None:
    if _SPANS in link.properties:
        ((start, end),) = link.properties[_SPANS]
        subject, target = str(link.properties["subject"]), str(link.properties["object"])
        more = {name: link.properties.get(name, default) for name, default in _SAID.items()}
        return Statement(
            start=start, end=end, subject=subject, predicate=link.label, object=target, **more
        )
    ends = (key_of.get(link.source_id), key_of.get(link.target_id))
    if ends[0] is None or ends[1] is None:
        return None
    span = sentences.span_of(ends[0], ends[1])
    predicate = " ".join(link.label.replace("_", " ").casefold().split())
    if span is None or not predicate or ends[0] == ends[1]:
        return None
    return Statement(
        start=span[0],
        end=span[1],
        subject=ends[0],
        predicate=predicate,
        object=ends[1],
        description=_first_text(link.properties, _RELATION_DESCRIPTIONS),
    )
