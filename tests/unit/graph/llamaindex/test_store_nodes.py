"""Chunks, entities and relations go to LlamaIndex and come back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY
from llama_index.core.schema import Document, MetadataMode, TextNode

from graph.llamaindex.store import (
    chunk_node,
    chunk_of_graph_node,
    chunk_of_node,
    document_splitter,
    entity_node,
    node_of_chunk,
    relation_triplet,
    triplet_has,
)
from graph.model import Chunk, Entity, Evidence, Relation

_words = st.text(max_size=20)
_ids = st.text(min_size=1, max_size=8)


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    text, start = draw(_words), draw(st.integers(0, 10**9))
    return Chunk(
        id=draw(_ids),
        document_id=draw(_ids),
        title=draw(_words),
        text=text,
        start=start,
        end=start + len(text),
        position=draw(st.integers(0, 10**6)),
        headings=tuple(draw(st.lists(_words, max_size=3))),
        page=draw(st.none() | st.integers(1, 9_999)),
    )


@given(chunk=chunks())
def test_a_chunk_comes_back_from_its_node(chunk: Chunk) -> None:
    assert chunk_of_node(node_of_chunk(chunk)) == chunk
    assert chunk_of_graph_node(chunk_node(chunk)) == chunk


def test_a_node_of_nobody_is_its_own_document() -> None:
    chunk = chunk_of_node(TextNode(id_="n", text="Text."))
    assert chunk == Chunk(id="n", document_id="n", title="", text="Text.", end=5)


def test_a_node_without_a_position_is_ordered_by_its_offset() -> None:
    assert chunk_of_node(TextNode(text="Text.", start_char_idx=40)).position == 40
    node = TextNode(text="Text.", start_char_idx=40, metadata={"position": 2})
    assert chunk_of_node(node).position == 2


def test_what_a_model_reads_of_a_chunk_is_its_title_and_text() -> None:
    chunk = Chunk(id="c", document_id="d", title="Horn", text="It sounds.", headings=("A",), page=3)
    node = node_of_chunk(chunk)
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.get_content(mode) == "title: Horn\n\nIt sounds."


def test_documents_are_cut_into_the_same_chunks_every_time() -> None:
    text = " ".join(f"Sentence number {number} stands here." for number in range(600))
    document = Document(id_="d", text=text, metadata={"title": "T"})
    first, second = (document_splitter()([document]) for _ in range(2))
    assert len(first) > 1
    assert [node.node_id for node in first] == [node.node_id for node in second]
    assert len({node.node_id for node in first}) == len(first)
    for node in first:
        chunk = chunk_of_node(node)
        assert chunk.document_id == "d"
        assert text[chunk.start : chunk.end] == chunk.text
    changed = Document(id_="d", text=f"{text} More.", metadata={"title": "T"})
    assert {n.node_id for n in document_splitter()([changed])}.isdisjoint(n.node_id for n in first)


def _entity(name: str) -> Entity:
    return Entity(
        id=f"e-{name}",
        name=name,
        type="PERSON",
        keys=(name.casefold(),),
        aliases=("Ada",),
        mention_count=2,
        document_count=1,
    )


def test_an_entitys_id_is_not_its_name_and_survives_a_copy() -> None:
    node = entity_node(_entity("Ada Brine"))
    assert (node.id, node.name, node.label) == ("e-Ada Brine", "Ada Brine", "PERSON")
    assert node.model_copy(deep=True).id == node.id
    assert node.properties == {"aliases": ["Ada"], "mentions": 2}


@pytest.mark.parametrize(
    ("evidences", "source"),
    [
        pytest.param((Evidence(chunk_id="c1", start=0, end=4),), "c1", id="one place"),
        pytest.param(
            (Evidence(chunk_id="c1", start=0, end=4), Evidence(chunk_id="c2", start=0, end=4)),
            "c1",
            id="the first of two",
        ),
        pytest.param((), None, id="none"),
    ],
)
def test_a_triplet_names_the_chunk_where_llama_index_looks_for_the_text(
    evidences: tuple[Evidence, ...], source: str | None
) -> None:
    relation = Relation(
        id="r", source_id="e-A", predicate="met", target_id="e-B", weight=2.0, evidences=evidences
    )
    made = relation_triplet(_entity("A"), relation, _entity("B"))
    assert [part.properties.get(TRIPLET_SOURCE_KEY) for part in made] == [source] * 3
    assert made[1].properties["evidences"] == [[e.chunk_id, e.start, e.end] for e in evidences]
    assert triplet_has(made, "weight", 2.0)
    assert not triplet_has(made, "weight", 3.0)
