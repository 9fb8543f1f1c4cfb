"""Points to an answer about the whole, without a model."""

from __future__ import annotations

import pytest

from engine.answering.global_search.extractive import MOST_FURTHER, render_overview
from engine.answering.packing import Draft
from engine.prompts import ABSTENTION
from engine.retrieval.passages import strip_markdown
from graph.model import Chunk, Evidence
from graph.search.global_search import Point

TEXT = "The cable broke in 2016. The **choir** sang for the widows. 海缆在2016年断裂。"
CHUNKS = {
    f"c{number}": Chunk(
        id=f"c{number}",
        document_id=f"d{number}",
        title=f"Report {number}",
        text=TEXT,
        start=10 * number,
        page=number,
    )
    for number in (1, 2, 3)
}
SPANS = [(0, 24), (25, 59), (60, len(TEXT))]


def evidence(chunk: str, sentence: int) -> Evidence:
    return Evidence(chunk_id=chunk, start=SPANS[sentence][0], end=SPANS[sentence][1])


def point(sentence: int, *chunks: str, community: str = "a", score: float = 50.0) -> Point:
    return Point(
        text=TEXT[slice(*SPANS[sentence])],
        score=score,
        evidences=tuple(evidence(chunk, sentence) for chunk in chunks),
        community_id=community,
    )


TITLES = {"a": "The cable", "b": "The choir"}


def check_quotes(draft: Draft) -> None:
    for citation in draft.citations:
        chunk = CHUNKS[citation.chunk_id]
        document = " " * chunk.start + chunk.text
        assert document[citation.start : citation.end] == citation.quote
        assert citation.page == chunk.page
        assert f"[{citation.number}]" in draft.text


def test_points_are_grouped_by_theme_and_cited() -> None:
    points = [point(0, "c1", "c2"), point(1, "c3", community="b"), point(2, "c1")]
    draft = render_overview("What are the main themes?", points, titles=TITLES, chunks=CHUNKS)

    assert draft.text == (
        "From 3 documents:\n\n"
        "The cable:\n- The cable broke in 2016. [1][2]\n- 海缆在2016年断裂。 [3]\n\n"
        "Further:\n- The choir sang for the widows. [4]"
    )
    assert [citation.document_id for citation in draft.citations] == ["d1", "d2", "d1", "d3"]
    check_quotes(draft)


WIDER = {"a": ["a", "harbour"], "b": ["b", "harbour"], "c": ["c", "quarry"]}


def test_points_alone_in_their_communities_are_told_under_the_wider_one() -> None:
    points = [point(0, "c1"), point(2, "c1", community="c"), point(1, "c3", community="b")]
    titles = TITLES | {"harbour": "The harbour", "c": "The cut", "quarry": "The quarry"}
    draft = render_overview(
        "What are the main themes?", points, titles=titles, chunks=CHUNKS, line_of=WIDER.__getitem__
    )

    assert draft.text == (
        "From 2 documents:\n\n"
        "The harbour:\n- The cable broke in 2016. [1]\n- The choir sang for the widows. [2]\n\n"
        "Further:\n- 海缆在2016年断裂。 [3]"
    )
    check_quotes(draft)


def test_what_belongs_to_no_theme_is_a_short_list_of_the_best() -> None:
    pairs = [point(0, "c1"), point(1, "c2")]
    alone = [point(2, "c3", community=f"alone {number}") for number in range(MOST_FURTHER + 4)]
    draft = render_overview("Themes?", [*pairs, *alone], titles=TITLES, chunks=CHUNKS)

    assert draft.text.count("- ") == 2 + MOST_FURTHER
    assert draft.figures["left_out"] == 4
    only = render_overview("Themes?", alone, titles=TITLES, chunks=CHUNKS)
    assert only.text.count("- ") == len(alone)
    assert "Further" not in only.text


def test_a_chinese_question_gets_a_chinese_lead() -> None:
    draft = render_overview(
        "主要主题是什么？", [point(2, "c1")], titles={"a": "海缆"}, chunks=CHUNKS
    )

    assert draft.text.startswith("综合 1 份文档：\n\n- 海缆在2016年断裂。 [1]")


def test_a_span_that_two_points_share_has_one_number() -> None:
    points = [point(0, "c1"), point(0, "c1", community="b")]
    draft = render_overview("What are the main themes?", points, titles={}, chunks=CHUNKS)

    assert [citation.number for citation in draft.citations] == [1]


def test_a_point_whose_evidence_is_gone_is_not_told() -> None:
    draft = render_overview(
        "What happened?", [point(0, "gone"), point(1, "c1")], titles=TITLES, chunks=CHUNKS
    )

    assert "cable broke" not in draft.text
    assert len(draft.citations) == 1


@pytest.mark.parametrize("points", [[], [point(0, "gone")]])
def test_without_points_it_abstains(points: list[Point]) -> None:
    draft = render_overview("What happened?", points, titles=TITLES, chunks=CHUNKS)

    assert draft.abstained
    assert draft.text == ABSTENTION["en"]


def test_a_table_row_is_told_without_its_bars() -> None:
    assert strip_markdown("| Pilgrim | Glider | GL-PIL-02 |") == "Pilgrim · Glider · GL-PIL-02"
    assert strip_markdown("Either a | b or c.") == "Either a | b or c."
