"""Extractions through LlamaIndex's node metadata and back."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    Relation,
)
from llama_index.core.indices.property_graph import SimpleLLMPathExtractor
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from graph.extraction.llamaindex import ExtractionTransform, extraction_from_node, extraction_of
from graph.model import Extraction, Mention, Statement
from graph.text.names import name_key

TEXT = 'Lin founded the "Red" Kestrel. Later, lin left. 林若溪 stayed at Kestrel.'


class Scripted:
    """An extractor that says what it was told to say."""

    identity = "scripted-1"

    def __init__(self, extraction: Extraction) -> None:
        self.extraction = extraction
        self.asked: list[str] = []

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        self.asked.extend(texts)
        return [self.extraction for _ in texts]


def mention(start: int, end: int, kind: str) -> Mention:
    surface = TEXT[start:end]
    return Mention(start=start, end=end, surface=surface, key=name_key(surface), type=kind)


EXTRACTION = Extraction(
    mentions=(
        mention(0, 3, "PERSON"),
        mention(16, 29, "ORGANISATION"),
        mention(38, 41, "NAME"),
        mention(48, 51, "PERSON"),
    ),
    statements=(
        Statement(start=0, end=30, subject="lin", predicate="found", object='red" kestrel'),
        Statement(start=0, end=30, subject='red" kestrel', predicate="occurs with", object="lin"),
    ),
)


def test_nothing_is_lost_through_llama_index() -> None:
    extractor = Scripted(EXTRACTION)
    (node,) = ExtractionTransform(extractor=extractor)([TextNode(text=TEXT, metadata={"a": "b"})])
    assert extractor.asked == [TEXT]
    assert all(isinstance(e, EntityNode) for e in node.metadata[KG_NODES_KEY])
    assert all(isinstance(r, Relation) for r in node.metadata[KG_RELATIONS_KEY])
    assert extraction_of(node) == EXTRACTION


def test_the_ends_of_a_relation_are_ids_of_entity_nodes() -> None:
    (node,) = ExtractionTransform(extractor=Scripted(EXTRACTION))([TextNode(text=TEXT)])
    ids = {entity.id for entity in node.metadata[KG_NODES_KEY]}
    for relation in node.metadata[KG_RELATIONS_KEY]:
        assert {relation.source_id, relation.target_id} <= ids


def test_the_transform_passes_on_who_extracts() -> None:
    transform = ExtractionTransform(extractor=Scripted(EXTRACTION))
    assert transform.identity == "scripted-1"
    assert transform.class_name() == "ExtractionTransform"


def test_what_earlier_extractors_wrote_stays() -> None:
    earlier = EntityNode(name="Kestrel", label="ORG")
    node = TextNode(text=TEXT, metadata={KG_NODES_KEY: [earlier]})
    ExtractionTransform(extractor=Scripted(EXTRACTION))([node])
    assert node.metadata[KG_NODES_KEY][0] is earlier
    assert "kestrel" in {m.key for m in extraction_of(node).mentions}


def test_a_node_that_nobody_read_has_an_empty_extraction() -> None:
    assert extraction_of(TextNode(text=TEXT)) == Extraction()


def foreign_node() -> TextNode:
    entities = [
        EntityNode(name="LIN", label="Person"),
        EntityNode(name="Kestrel", label="Organization"),
        EntityNode(name="林若溪", label="entity"),
        EntityNode(name="Atlantis", label="Location"),
    ]
    relations = [
        Relation(label="WORKS_AT", source_id="林若溪", target_id="Kestrel"),
        Relation(label="LIVES_IN", source_id="LIN", target_id="Atlantis"),
        Relation(label="is", source_id="LIN", target_id="LIN"),
    ]
    return TextNode(text=TEXT, metadata={KG_NODES_KEY: entities, KG_RELATIONS_KEY: relations})


def test_names_of_any_extractor_are_found_at_all_their_places() -> None:
    found = extraction_of(foreign_node())
    assert all(TEXT[m.start : m.end] == m.surface for m in found.mentions)
    assert [(m.start, m.key, m.type) for m in found.mentions] == [
        (0, "lin", "PERSON"),
        (22, "kestrel", "ORGANISATION"),
        (38, "lin", "PERSON"),
        (48, "林若溪", "NAME"),
        (62, "kestrel", "ORGANISATION"),
    ]


def test_a_relation_of_any_extractor_rests_on_the_sentence_with_both_ends() -> None:
    (statement,) = extraction_of(foreign_node()).statements
    assert (statement.subject, statement.predicate, statement.object) == (
        "林若溪",
        "works at",
        "kestrel",
    )
    assert TEXT[statement.start : statement.end] == "林若溪 stayed at Kestrel."


def test_what_is_not_in_the_text_is_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    found = extraction_from_node(foreign_node())
    assert found.unplaced_names == ("Atlantis",)
    assert found.dropped_relations == 2
    with caplog.at_level(logging.WARNING, logger="loregraph"):
        extraction_of(foreign_node())
    assert "Atlantis" in caplog.text


def test_a_name_inside_a_longer_word_is_not_the_name() -> None:
    node = TextNode(text="Berlin", metadata={KG_NODES_KEY: [EntityNode(name="Lin")]})
    assert extraction_from_node(node).unplaced_names == ("Lin",)


def test_llama_index_s_own_path_extractor_is_understood() -> None:
    extractor = SimpleLLMPathExtractor(
        llm=MockLLM(), parse_fn=lambda _answer: [("Lin", "founded", "Kestrel")]
    )
    (node,) = extractor([TextNode(text=TEXT)])
    (statement,) = extraction_of(node).statements
    assert (statement.subject, statement.predicate, statement.object) == (
        "lin",
        "founded",
        "kestrel",
    )
