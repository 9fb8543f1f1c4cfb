"""A search explains the passages that are kept alone, and reads tokens of the keyword index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from engine.retrieval.retriever import HybridRetriever
from engine.storage.bm25_index import KeywordIndex
from engine.storage.graph_api import WalkSnapshot
from engine.types import Passage

NOTES = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp. Orrin Vale repaired it.",
    "quay": "# Gull Quay\n\nGull Quay was built by Orrin Vale for the Brine family.",
    "港口": "# 港口\n\n阿达·布赖恩在鸥码头点亮了灯。",
}
QUESTION = "Who lit the lamp at Gull Quay?"


@pytest.fixture(scope="module")
def retriever(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HybridRetriever]:
    path = tmp_path_factory.mktemp("kept") / "library"
    with open_engine(path) as engine:
        for name, text in NOTES.items():
            engine.add_text(text, document_id=name)
        yield engine.as_retriever()._retriever


def test_only_passages_that_are_kept_are_explained(
    retriever: HybridRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = retriever.search(QUESTION)
    assert len(found.passages) > 2
    assert all(each.path for each in found.passages)
    explained: list[int] = []
    path = WalkSnapshot.path

    def counted(self: WalkSnapshot, row: int, *rest: object) -> tuple[str, ...]:
        explained.append(row)
        return path(self, row, *rest)

    monkeypatch.setattr(WalkSnapshot, "path", counted)
    given: list[list[Passage]] = []

    def keep(passages: list[Passage]) -> list[Passage]:
        given.append(passages)
        return [passages[2], passages[0]]

    kept = retriever.search(QUESTION, keep=keep)
    assert kept.passages == [found.passages[2], found.passages[0]]
    assert len(explained) == 2
    assert [len(found.passages)] == [len(each) for each in given]
    assert [step.figures for step in kept.trace] == [step.figures for step in found.trace]


@pytest.mark.parametrize("question", [QUESTION, "谁点亮了鸥码头的灯?"])
def test_tokens_of_the_index_say_as_much_as_those_of_the_text(
    retriever: HybridRetriever, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    retriever = retriever.adjusted(walk=False)  # the second look reads tokens, too
    stored = retriever.search(question).passages

    def nothing(_self: object, _connection: object, ids: Sequence[str]) -> list[list[str]]:
        return [[] for _ in ids]

    monkeypatch.setattr(KeywordIndex, "read_tokens", nothing)
    assert retriever.search(question).passages == stored
