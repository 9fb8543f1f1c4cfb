"""The keywords that LlamaIndex's users know: they work, or are refused with what to use instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM
from llama_index.core.postprocessor import KeywordNodePostprocessor, SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import Document, MetadataMode
from llama_index.core.vector_stores import FilterCondition, MetadataFilter, MetadataFilters

from engine import KnowledgeEngine, Settings
from engine.errors import QuestionError, SourceError

QUESTION = "Who met Tomas Reed?"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    folder = tmp_path_factory.mktemp("keywords") / "library"
    light = {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    texts = {
        "quay": "Ada Brine met Tomas Reed at Gull Quay. Ada Brine is a captain.",
        "merrow": "Tomas Reed met Bea Hollow in Port Merrow. She is a baker.",
        "lamp": "Cato Finch met Tomas Reed below the lamp of Kittiwake Point.",
    }
    with KnowledgeEngine.open(folder, settings=Settings.model_validate(light)) as engine:
        engine.add(
            [
                Document(id_=name, text=text, metadata={"tags": [name]})
                for name, text in texts.items()
            ]
        )
        yield engine


def documents_of(response: Any) -> set[str]:
    return {node.node.metadata["document_id"] for node in response.source_nodes}


def test_similarity_top_k_says_how_many_passages_are_read(filled: KnowledgeEngine) -> None:
    assert len(filled.as_retriever(similarity_top_k=1).retrieve(QUESTION)) == 1
    assert len(filled.as_retriever(similarity_top_k=2).retrieve(QUESTION)) == 2
    response = filled.as_query_engine(similarity_top_k=1, mode="local").query(QUESTION)
    assert len(response.source_nodes) == 1
    with pytest.raises(QuestionError, match="give 1 or more"):
        filled.as_query_engine(similarity_top_k=0)


def test_filters_restrict_what_an_answer_rests_on(filled: KnowledgeEngine) -> None:
    only = MetadataFilters(
        filters=[MetadataFilter(key="tags", value="merrow")], condition=FilterCondition.AND
    )
    response = filled.as_query_engine(filters=only).query(QUESTION)
    assert documents_of(response) == {"merrow"}
    assert "Bea Hollow" in str(response)
    found = filled.as_retriever(filters=only, similarity_top_k=5).retrieve(QUESTION)
    assert {node.node.ref_doc_id for node in found} == {"merrow"}


def test_node_postprocessors_leave_out_what_an_answer_rests_on(filled: KnowledgeEngine) -> None:
    wanted = KeywordNodePostprocessor(required_keywords=["Kittiwake"])
    response = filled.as_query_engine(node_postprocessors=[wanted]).query(QUESTION)
    assert documents_of(response) == {"lamp"}
    assert "Cato Finch" in str(response)
    nothing = SimilarityPostprocessor(similarity_cutoff=1e9)
    assert filled.as_retriever(node_postprocessors=[nothing]).retrieve(QUESTION) == []
    declined = filled.as_query_engine(node_postprocessors=[nothing], mode="local").query(QUESTION)
    assert declined.metadata["answer"].abstained


def test_a_streamed_response_has_its_sources_at_its_end(filled: KnowledgeEngine) -> None:
    response = filled.as_query_engine(streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    text = "".join(response.response_gen)
    assert text.strip() == response.metadata["answer"].text.strip()
    assert documents_of(response)

    async def main() -> str:
        streamed = await filled.as_query_engine(streaming=True).aquery(QUESTION)
        assert isinstance(streamed, AsyncStreamingResponse)
        return "".join([piece async for piece in streamed.response_gen])

    assert asyncio.run(main()).strip() == text.strip()


@pytest.mark.parametrize(
    ("keyword", "instead"),
    [
        ("llm", "KnowledgeEngine.open"),
        ("response_mode", "RetrieverQueryEngine.from_args"),
        ("text_qa_template", "RetrieverQueryEngine.from_args"),
        ("similarity_topk", "no such keyword"),
    ],
)
def test_what_has_no_place_is_refused_with_what_to_use_instead(
    filled: KnowledgeEngine, keyword: str, instead: str
) -> None:
    for method in (filled.as_query_engine, filled.as_retriever, filled.as_chat_engine):
        with pytest.raises(TypeError, match=instead):
            method(**{keyword: object()})


def test_chat_modes_that_answer_from_the_library_are_taken(filled: KnowledgeEngine) -> None:
    said = [
        ChatMessage(role=MessageRole.USER, content="Who is a captain?"),
        ChatMessage(role=MessageRole.ASSISTANT, content="Ada Brine is a captain."),
    ]
    chat = filled.as_chat_engine(chat_mode="condense_plus_context", chat_history=said)
    assert chat.chat_history == said
    assert "Gull Quay" in chat.chat("Where did Ada Brine meet Tomas Reed?").response
    with pytest.raises(QuestionError, match="react"):
        filled.as_chat_engine(chat_mode="react")


def test_the_retriever_serves_llama_index_s_own_synthesisers(filled: KnowledgeEngine) -> None:
    engine = RetrieverQueryEngine.from_args(
        filled.as_retriever(similarity_top_k=2), llm=MockLLM(), response_mode="compact"
    )
    response = engine.query(QUESTION)
    held = [node.node.get_content(MetadataMode.NONE) for node in response.source_nodes]
    assert len(held) == 2
    assert all(text in str(response) for text in held)


def test_an_answer_is_read_as_text_and_shown_short(filled: KnowledgeEngine) -> None:
    answer = filled.ask(QUESTION)
    assert answer.text in str(answer)
    assert f"[1] {answer.citations[0].title} (" in str(answer)
    assert repr(answer).startswith(f"Answer(question={QUESTION!r}, text=")
    assert len(repr(answer)) < 250
    assert "**Sources**" in answer._repr_markdown_()


@pytest.mark.parametrize("wrong", [None, 3, ["Who?"], b"Who?"])
def test_a_question_that_is_no_text_is_refused_in_one_line(
    filled: KnowledgeEngine, wrong: Any
) -> None:
    with pytest.raises(QuestionError, match=r"^ask: question is .*; give a text$") as raised:
        filled.ask(wrong)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"history": "before"}, "history holds no turns: str; give a list"),
        ({"history": [("Who?", "Ada.")]}, "history holds no turns: tuple; give a list"),
        ({"history": 3}, "history holds no turns: int; give a list"),
        ({"filters": 3}, "filters: not text: int; give a text"),
        ({"namespace": [3]}, "namespace: not text: int; give a text"),
        ({"mode": None}, "ask: mode is None; give a text"),
        ({"effort": 3}, "ask: effort is 3; give a text"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_one_line(
    filled: KnowledgeEngine, wrong: dict[str, Any], line: str
) -> None:
    with pytest.raises(QuestionError, match=line) as raised:
        filled.ask(QUESTION, **wrong)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wrong", ["3", 1.5])
def test_a_number_of_passages_that_is_none_is_refused(filled: KnowledgeEngine, wrong: Any) -> None:
    with pytest.raises(QuestionError, match=r"retrieve: top_k is .*; give a whole number"):
        filled.retrieve(QUESTION, top_k=wrong)
    with pytest.raises(QuestionError, match=r"top_k is not a whole number: .*; give 1 or more"):
        filled.as_retriever(similarity_top_k=wrong)


@pytest.mark.parametrize(
    ("method", "arguments", "line"),
    [
        ("remove", [None], "remove: document_ids is None; give a text or a list of texts"),
        ("remove", [[1]], r"remove: document_ids is \[1\]; give a text or a list of texts"),
        ("export_graph", [None], "export_graph: target is None; give a text or a path"),
        ("graph.entity", [None], "entity: name is None; give a text"),
        ("graph.entities", [3], "entities: query is 3; give a text"),
        ("graph.paths", ["Ada", None], "paths: b is None; give a text"),
        ("graph.neighbourhood", [["Ada"]], r"neighbourhood: name is \['Ada'\]; give a text"),
        ("entities.merge", ["Ada"], "merge: names is 'Ada'; give a list of texts"),
        ("document_text", [7], "document_text: document_id is 7; give a text"),
    ],
)
def test_methods_beside_questions_refuse_wrong_types_in_one_line(
    filled: KnowledgeEngine, method: str, arguments: list[Any], line: str
) -> None:
    *owner, name = method.split(".")
    called = getattr(getattr(filled, owner[0]) if owner else filled, name)
    with pytest.raises(QuestionError, match=line) as raised:
        called(*arguments)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wrong", [None, 3, [3], b"docs"])
def test_a_source_that_is_none_is_refused_in_one_line(filled: KnowledgeEngine, wrong: Any) -> None:
    for work in (filled.add, filled.sync):
        with pytest.raises(SourceError, match=r"source is not text: .*; give a path"):
            work(wrong)
