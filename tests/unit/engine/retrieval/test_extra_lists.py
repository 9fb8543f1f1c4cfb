"""Lists that others bring, and the age of documents, in a whole search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from engine import KnowledgeEngine, Settings
from engine.config import RetrieveSettings
from engine.retrieval.fusion import ExtraRetriever, further_scores
from engine.retrieval.retriever import HybridRetriever
from engine.storage.schema import document_filter

TEXTS = {
    "old": "The harbour tide table lists every tide.",
    "new": "A tide table for visitors.",
    "boat": "Boats are painted in spring.",
}
DATES = {"old": "2014-01-01", "new": "2024-01-01", "boat": "2023-01-01"}


class Fixed(BaseRetriever):
    """Finds the same nodes whatever is asked."""

    def __init__(self, found: list[tuple[str, float | None]]) -> None:
        self._found = found
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=i, text=""), score=s) for i, s in self._found]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeEngine]:
    folder: Path = tmp_path_factory.mktemp("lists") / "library"
    settings = Settings.model_validate({"embedding": {"kind": "none"}})
    with KnowledgeEngine.open(folder, settings=settings) as opened:
        for name, text in TEXTS.items():
            opened.add_text(text, document_id=name, title=name, metadata={"date": DATES[name]})
        yield opened


def retriever(
    engine: KnowledgeEngine, *, half_life_days: float | None = None, **arguments: object
) -> HybridRetriever:
    return HybridRetriever(
        engine._library,
        keyword=engine._whole.parts.keyword,
        spaces=(),
        readable=lambda _: 0.0,
        settings=RetrieveSettings(walk=False, half_life_days=half_life_days),
        **arguments,  # type: ignore[arg-type]
    )


def found(searched: HybridRetriever, question: str) -> list[str]:
    return [passage.document_id for passage in searched.search(question).passages]


def test_a_list_of_ones_own_finds_what_the_others_do_not(engine: KnowledgeEngine) -> None:
    (boat,) = [p.chunk_id for p in engine.retrieve("boats painted") if p.document_id == "boat"]
    mine = Fixed([(boat, 3.0), ("nobody", 2.0)])
    assert "boat" not in found(retriever(engine), "tide table")
    searched = retriever(engine, extra=[("mine", mine, 1.0)])
    assert "boat" in found(searched, "tide table")
    assert {p.document_id: p.scores["mine"] for p in searched.search("tide").passages}["boat"] == 1
    elsewhere = searched.only(document_filter({"date": "2014-01-01"}))
    assert found(elsewhere, "tide table") == ["old"]


def test_age_counts_only_where_it_is_wanted(engine: KnowledgeEngine) -> None:
    question = "harbour tide table"
    assert found(retriever(engine), question)[0] == "old"
    assert found(retriever(engine, half_life_days=365.0), question)[0] == "new"


def test_age_is_measured_from_the_newest_that_may_be_seen(engine: KnowledgeEngine) -> None:
    aged = retriever(engine, half_life_days=1.0).only(document_filter({"date": "2014-01-01"}))
    assert aged.search("harbour tide").passages[0].scores["fused"] == 1.0


def test_names_of_the_engines_own_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="'dense'"):
        ExtraRetriever("dense", Fixed([]))
    with pytest.raises(ValueError, match="weight"):
        ExtraRetriever("mine", Fixed([]), -1.0)


def test_a_list_without_scores_counts_by_places() -> None:
    lists = [ExtraRetriever("mine", Fixed([("b", None), ("x", None), ("a", None)]))]
    scores = further_scores(lists, "?", row_of={"a": 0, "b": 1})
    assert scores["mine"].tolist() == [0.5, 1.0]
