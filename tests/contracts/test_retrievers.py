"""What every retriever of ours promises, whichever way it finds chunks."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import QueryBundle

from engine import KnowledgeEngine, Settings
from engine.errors import QuestionError
from engine.storage.llamaindex import KeywordRetriever
from graph.errors import GraphInputError

TOP_K = 4
DOCUMENTS = {
    "lamp": "Captain Ada Brine lit the lamp at Gull Quay. The lamp of Gull Quay is seen from far.",
    "petrel": "The Petrel sailed from Gull Quay to Port Merrow under Captain Ada Brine.",
    "society": "Tomas Reed chairs the Gull Quay Society. Ada Brine founded the Gull Quay Society.",
    "merrow": "Port Merrow pays for the lamp. Tomas Reed was born in Port Merrow.",
    "reed": "Tomas Reed wrote Tides of Merrow. Orrin Vale printed Tides of Merrow.",
    "vale": "Orrin Vale repaired the Petrel at Gull Quay for Ada Brine.",
    "zh": "林若溪在海鸥码头工作。林若溪认识托马斯·里德，海鸥码头属于默罗港。",
    "zh-2": "《潮汐志》由林若溪撰写。默罗港的灯塔由海鸥码头协会维护。",
}
QUESTIONS = [
    pytest.param("Who lit the lamp at Gull Quay?", id="a question"),
    pytest.param("Ada Brine", id="a name"),
    pytest.param("ADA BRINE", id="a name in capitals"),
    pytest.param("海鸥码头是谁维护的？", id="Chinese"),
    pytest.param("林若溪 and the Gull Quay Society", id="mixed"),
    pytest.param("", id="nothing"),
    pytest.param(" \n\t　", id="white space"),
    pytest.param("???!!!…。", id="punctuation"),
    pytest.param("🦊🚢 Gull Quay 👩‍🚀", id="emoji"),
    pytest.param("zzzzqqqq", id="a word of no document"),
    pytest.param("Gull Quay " * 3_000, id="very long"),
    pytest.param("海鸥码头" * 3_000, id="very long Chinese"),
    pytest.param("\x00\x01\u202e Gull\u200bQuay", id="control characters"),
    pytest.param("SELECT * FROM chunks; DROP TABLE chunks; --' OR 1=1", id="SQL"),
    pytest.param("İstanbul ﬁne ẞ ǅ", id="letters that change length with case"),
]


class WordEmbedding(BaseEmbedding):
    """Counts of words and Chinese characters in 96 places: near for texts that share them."""

    model_name: str = "words"

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = np.full(96, 1e-3)
        for word in re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text.casefold()):
            vector[hashlib.sha256(word.encode("utf8", "replace")).digest()[0] % 96] += 1
        return (vector / np.linalg.norm(vector)).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def _keyword(engine: KnowledgeEngine) -> BaseRetriever:
    return KeywordRetriever(engine._whole.parts.keyword, top_k=TOP_K)


def _vector(engine: KnowledgeEngine) -> BaseRetriever:
    index = engine.vector_index
    assert index is not None
    return index.as_retriever(similarity_top_k=TOP_K)


def _graph(engine: KnowledgeEngine) -> BaseRetriever:
    return engine.graph_index.as_retriever(top_k=TOP_K)


def _hybrid(engine: KnowledgeEngine) -> BaseRetriever:
    return engine.as_retriever()


Make = Callable[[KnowledgeEngine], BaseRetriever]


@pytest.fixture(
    params=[
        pytest.param(_keyword, id="keyword"),
        pytest.param(_vector, id="vector"),
        pytest.param(_graph, id="graph"),
        pytest.param(_hybrid, id="hybrid"),
    ]
)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


def _open(path: Path) -> KnowledgeEngine:
    settings = Settings.model_validate(
        {"graph": {"spacy_model": "none"}, "retrieve": {"top_k": TOP_K}}
    )
    return KnowledgeEngine.open(path, settings=settings, embed_model=WordEmbedding())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    """For tests that change nothing."""
    with _open(tmp_path_factory.mktemp("shared") / "library") as engine:
        _fill(engine)
        yield engine


def _fill(engine: KnowledgeEngine) -> None:
    for name, content in DOCUMENTS.items():
        engine.add_text(content, document_id=name, title=f"About {name}")


def found(retriever: BaseRetriever, question: str) -> list[tuple[str, float]]:
    return [(node.node_id, node.score) for node in retriever.retrieve(question)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_any_question_gives_a_short_sorted_list_and_the_same_again(
    shared: KnowledgeEngine, make: Make, question: str
) -> None:
    first = found(make(shared), question)
    scores = [score for _, score in first]
    assert len(first) <= TOP_K
    assert scores == sorted(scores, reverse=True)
    assert all(np.isfinite(scores))
    assert len({node_id for node_id, _ in first}) == len(first)
    assert found(make(shared), question) == first
    assert found(make(shared), QueryBundle(question)) == first


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    with _open(tmp_path_factory.mktemp("empty") / "library") as engine:
        yield engine


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_empty_library_gives_an_empty_list(
    empty: KnowledgeEngine, make: Make, question: str
) -> None:
    assert found(make(empty), question) == []


def test_a_name_finds_the_chunks_that_have_it(shared: KnowledgeEngine, make: Make) -> None:
    texts = [node.text for node in make(shared).retrieve("Orrin Vale")]
    assert {DOCUMENTS["vale"], DOCUMENTS["reed"]} <= set(texts)


def test_chinese_finds_chinese(shared: KnowledgeEngine, make: Make) -> None:
    texts = [node.text for node in make(shared).retrieve("林若溪")]
    assert {DOCUMENTS["zh"], DOCUMENTS["zh-2"]} <= set(texts)


def test_nodes_stand_in_their_documents(shared: KnowledgeEngine, make: Make) -> None:
    nodes = make(shared).retrieve("Ada Brine at Gull Quay")
    assert nodes
    for node in nodes:
        text = shared.document_text(node.node.ref_doc_id)
        assert text[node.node.start_char_idx : node.node.end_char_idx] == node.text


def test_waiting_gives_the_same_list(shared: KnowledgeEngine, make: Make) -> None:
    async def main() -> list[tuple[str, float]]:
        nodes = await make(shared).aretrieve("Ada Brine at Gull Quay")
        return [(node.node_id, node.score) for node in nodes]

    assert asyncio.run(main()) == found(make(shared), "Ada Brine at Gull Quay")


def test_a_removed_document_never_comes_back(tmp_path: Path, make: Make) -> None:
    with _open(tmp_path / "library") as engine:
        _fill(engine)
        retriever = make(engine)
        question = "Who founded the Gull Quay Society with Ada Brine and Tomas Reed?"
        assert DOCUMENTS["society"] in [n.text for n in retriever.retrieve(question)]
        engine.remove("society")
        for asked in (question, "Gull Quay Society", "Tomas Reed"):
            assert DOCUMENTS["society"] not in [n.text for n in retriever.retrieve(asked)]
        for name in sorted(DOCUMENTS):
            if name != "society":
                engine.remove(name)
        assert retriever.retrieve(question) == []
    with _open(tmp_path / "library") as engine:
        assert make(engine).retrieve(question) == []


def test_a_changed_document_is_found_by_its_new_text_alone(tmp_path: Path, make: Make) -> None:
    with _open(tmp_path / "library") as engine:
        _fill(engine)
        retriever = make(engine)
        retriever.retrieve("Orrin Vale")
        engine.add_text("Orrin Vale retired to Fenwick Moor.", document_id="vale")
        texts = [node.text for node in retriever.retrieve("Orrin Vale Fenwick Moor")]
        assert "Orrin Vale retired to Fenwick Moor." in texts
        assert DOCUMENTS["vale"] not in texts


def test_a_reopened_library_answers_as_before(tmp_path: Path, make: Make) -> None:
    with _open(tmp_path / "library") as engine:
        _fill(engine)
        before = found(make(engine), "Who repaired the Petrel?")
    with _open(tmp_path / "library") as engine:
        assert found(make(engine), "Who repaired the Petrel?") == before


@pytest.mark.parametrize("top_k", [1, 2, 100])
def test_the_hybrid_gives_as_many_as_are_asked_for(shared: KnowledgeEngine, top_k: int) -> None:
    passages = shared.retrieve("Ada Brine at Gull Quay", top_k=top_k)
    assert len(passages) <= top_k
    every = shared.retrieve("Ada Brine at Gull Quay", top_k=1_000)
    assert [p.chunk_id for p in passages] == [p.chunk_id for p in every[:top_k]]
    assert all(0 <= passage.relevance <= 1 for passage in every)


@pytest.mark.parametrize("top_k", [0, -1])
def test_less_than_one_is_refused(shared: KnowledgeEngine, top_k: int) -> None:
    with pytest.raises(QuestionError, match=f"top_k: {top_k} is too small"):
        shared.retrieve("Ada Brine", top_k=top_k)
    with pytest.raises(GraphInputError, match=f"top_k: {top_k} is too small"):
        shared.graph_index.as_retriever(top_k=top_k)
