"""Points to an answer about the whole, with and without a model."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from llama_index.core.llms import ChatMessage

from engine.answer.draft import Draft
from engine.answer.language import ABSTENTION
from engine.answer.overview import overview
from engine.answer.overview_model import map_batches, overview_with_model, read_points
from engine.answer.sentences import plain
from engine.retrieve.tokens import tokens
from engine.types import Usage
from graph.global_search import Point
from graph.model import Chunk, Evidence, Finding, Report
from graph.sentences import sentence_spans

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
    draft = overview("What are the main themes?", points, titles=TITLES, chunks=CHUNKS)

    assert draft.text == (
        "From 3 documents:\n\n"
        "The cable:\n- The cable broke in 2016. [1][2]\n- 海缆在2016年断裂。 [3]\n\n"
        "Further:\n- The choir sang for the widows. [4]"
    )
    assert [citation.document_id for citation in draft.citations] == ["d1", "d2", "d1", "d3"]
    check_quotes(draft)


def test_a_chinese_question_gets_a_chinese_lead() -> None:
    draft = overview("主要主题是什么？", [point(2, "c1")], titles={"a": "海缆"}, chunks=CHUNKS)

    assert draft.text.startswith("综合 1 份文档：\n\n- 海缆在2016年断裂。 [1]")


def test_a_span_that_two_points_share_has_one_number() -> None:
    points = [point(0, "c1"), point(0, "c1", community="b")]
    draft = overview("What are the main themes?", points, titles={}, chunks=CHUNKS)

    assert [citation.number for citation in draft.citations] == [1]


def test_a_point_whose_evidence_is_gone_is_not_told() -> None:
    draft = overview(
        "What happened?", [point(0, "gone"), point(1, "c1")], titles=TITLES, chunks=CHUNKS
    )

    assert "cable broke" not in draft.text
    assert len(draft.citations) == 1


@pytest.mark.parametrize("points", [[], [point(0, "gone")]])
def test_without_points_it_abstains(points: list[Point]) -> None:
    draft = overview("What happened?", points, titles=TITLES, chunks=CHUNKS)

    assert draft.abstained
    assert draft.text == ABSTENTION["en"]


REPORTS = [
    Report(
        community_id=community,
        level=0,
        title=TITLES[community],
        summary="Summary.",
        rating=5.0,
        findings=(
            Finding(text="The cable broke in 2016.", evidences=(evidence("c1", 0),)),
            Finding(text="The choir sang.", evidences=(evidence("c2", 1), evidence("c3", 1))),
        ),
        fingerprint="f",
    )
    for community in ("a", "b")
]


def words(text: str) -> int:
    return len(text.split())


class Script:
    """Replies in turn; raises when a prompt lacks what its turn expects."""

    def __init__(self, *turns: tuple[str, str]) -> None:
        self.turns = list(turns)

    def __call__(self, messages: Sequence[ChatMessage]) -> tuple[str, Usage]:
        expected, reply = self.turns.pop(0)
        shown = "\n".join(str(message.content) for message in messages)
        if expected not in shown:
            raise AssertionError(f"{expected!r} is not in {shown!r}")
        return reply, Usage(calls=1, prompt_tokens=10, completion_tokens=2)


def ask(script: Script, *, budget: int = 1000, limit: int = 5) -> Draft:
    return overview_with_model(
        "What are the main themes?",
        REPORTS,
        complete=script,
        chunks=CHUNKS,
        budget_tokens=budget,
        count=words,
        limit=limit,
        tokens=tokens,
        sentence_spans=sentence_spans,
    )


def test_a_model_maps_and_reduces_with_citations_through_points() -> None:
    points = {
        "points": [
            {"text": "A choir sang for the widows.", "score": 40, "sources": [2]},
            {"text": "The cable broke in 2016.", "score": 90, "sources": [1, 3]},
        ]
    }
    script = Script(
        ("[4] The choir sang.", json.dumps(points)),
        ("[1] The cable broke in 2016.", "The cable broke [1], and a choir sang [2]."),
    )
    draft = ask(script)

    assert script.turns == []
    assert draft.text == "The cable broke [1], and a choir sang [2][3]."
    assert [citation.document_id for citation in draft.citations] == ["d1", "d2", "d3"]
    assert draft.usage == Usage(calls=2, prompt_tokens=20, completion_tokens=4)
    check_quotes(draft)


def test_a_small_budget_maps_in_batches_whose_numbers_run_on() -> None:
    batches = map_batches(REPORTS, budget_tokens=14, count=words)

    assert [sorted(batch.findings) for batch in batches] == [[1, 2], [3, 4]]
    assert "[3] The cable broke" in batches[1].context


def test_a_model_that_finds_nothing_abstains_without_a_second_call() -> None:
    draft = ask(Script(("main themes", '{"points": []}')))

    assert draft.abstained
    assert draft.usage.calls == 1


def test_a_model_that_declines_to_reduce_abstains() -> None:
    good = '{"points": [{"text": "It broke.", "score": 9, "sources": [1]}]}'
    draft = ask(Script(("main themes", good), ("It broke.", ABSTENTION["en"])))

    assert draft.abstained
    assert draft.usage.calls == 2


def test_the_best_points_are_kept_within_the_limit() -> None:
    rows = [{"text": f"Point {n}.", "score": n, "sources": [1]} for n in (10, 90, 50)]
    script = Script(
        ("main themes", json.dumps({"points": rows})),
        ("[1] Point 90.\n[2] Point 50.\n<<<end", "Ninety [1]."),
    )

    assert ask(script, limit=2).figures["used"] == 2


ROW = '{"text": "It broke.", "score": 80, "sources": [1]}'


@pytest.mark.parametrize(
    ("reply", "scores", "unusable"),
    [
        pytest.param(f'{{"points": [{ROW}]}}', [80.0], 0, id="plain"),
        pytest.param(f'Sure!\n```json\n{{"points": [{ROW}]}}\n```', [80.0], 0, id="fenced"),
        pytest.param(f"[{ROW}]", [80.0], 0, id="bare-list"),
        pytest.param(f'{{"points": [{ROW}, {{"text": "cut', [80.0], 0, id="cut-off"),
        pytest.param(
            '{"points": [{"text": "x", "score": 250, "sources": [1]}]}', [100.0], 0, id="clamped"
        ),
        pytest.param(
            '{"points": [{"text": "x", "score": "70%", "sources": "[1]"}]}', [70.0], 0, id="strings"
        ),
        pytest.param('{"points": [{"text": "x", "score": 0, "sources": [1]}]}', [], 0, id="zero"),
        pytest.param('{"points": [{"text": "x", "score": 9, "sources": [9]}]}', [], 1, id="source"),
        pytest.param('{"points": [{"text": "", "score": 9, "sources": [1]}]}', [], 1, id="no-text"),
        pytest.param('{"points": [{"text": "x", "score": NaN, "sources": [1]}]}', [], 0, id="nan"),
        pytest.param('{"points": ["x", 3, null]}', [], 3, id="no-objects"),
        pytest.param("I cannot do that.", [], 1, id="no-json"),
        pytest.param("", [], 1, id="empty"),
        pytest.param('{"points": []}', [], 0, id="none"),
    ],
)
def test_replies_are_read_tolerantly_and_trusted_in_nothing(
    reply: str, scores: list[float], unusable: int
) -> None:
    batch = map_batches(REPORTS, budget_tokens=1000, count=words)[0]
    points, bad = read_points(reply, batch)

    assert [point.score for point in points] == scores
    assert bad == unusable


def test_a_table_row_is_told_without_its_bars() -> None:
    assert plain("| Pilgrim | Glider | GL-PIL-02 |") == "Pilgrim · Glider · GL-PIL-02"
    assert plain("Either a | b or c.") == "Either a | b or c."
