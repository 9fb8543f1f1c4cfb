"""Reports to points to a cited text with a scripted language model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.answering.global_search.context import Reply, call_batch
from engine.answering.global_search.map_reduce import (
    Mapped,
    best_points,
    map_batches,
    map_reports,
    read_points,
    read_questions,
    read_ratings,
    reduce_with_model,
    sheet_of_batch,
    sheet_of_points,
)
from engine.answering.global_search.selection import shorten_reports
from engine.answering.packing import Draft, PackedContext
from engine.config import CheckSettings
from engine.errors import BudgetExceeded, ModelError, ModelInputTooLong, ModelUnavailable
from engine.prompts import ABSTENTION
from engine.retrieval.passages import Embed
from engine.types import Passage, Usage
from engine.verification.pipeline import CitationVerifier
from graph.llm import Prompt
from graph.model import Chunk, Evidence, Finding, Report
from graph.search.global_search import Point, report_text

TEXT = "The cable broke in 2016. The choir sang."
CHUNKS = {
    f"c{number}": Chunk(
        id=f"c{number}", document_id=f"d{number}", title=f"Report {number}", text=TEXT,
        start=10 * number,
    )
    for number in (1, 2, 3)
}  # fmt: skip


def place(chunk: str, sentence: int) -> Evidence:
    start, end = ((0, 24), (25, 40))[sentence]
    return Evidence(chunk_id=chunk, start=start, end=end)


def report(community: str, *findings: Finding) -> Report:
    return Report(
        community_id=community, level=0, title=f"About {community}", summary="Summary.",
        rating=5.0, findings=findings, fingerprint="f",
    )  # fmt: skip


BROKE = Finding(text="The cable broke in 2016.", evidences=(place("c1", 0),))
SANG = Finding(text="The choir sang.", evidences=(place("c2", 1), place("c3", 1)))
REPORTS = [report("a", BROKE, SANG), report("b", BROKE, SANG)]
QUESTION = "What are the main themes?"


def words(text: str) -> int:
    return len(text.split())


ONE_CALL = Usage(calls=1, prompt_tokens=10, completion_tokens=2)


@dataclass(frozen=True)
class Said:
    text: str
    usage: Usage


Answering = Callable[[str, Prompt], str | ModelError]


class Script:
    """Answers every prompt by a function; keeps what it was asked, and in which rounds."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.rounds: list[tuple[str, int]] = []
        self.prompts: list[Prompt] = []

    def __call__(
        self, stage: str, prompts: Sequence[Prompt], *, on_event: object = None
    ) -> list[Reply | ModelError]:
        self.rounds.append((stage, len(prompts)))
        self.prompts += prompts
        found = [self.answer(stage, prompt) for prompt in prompts]
        return [one if isinstance(one, ModelError) else Said(one, ONE_CALL) for one in found]


def points_reply(*rows: tuple[str, float, list[int]]) -> str:
    keys = ("text", "score", "sources")
    return json.dumps({"points": [dict(zip(keys, row, strict=True)) for row in rows]})


def mapped(script: Script, *, budget: int = 1000) -> Mapped:
    batches = map_batches(REPORTS, budget_tokens=budget, count=words)
    return map_reports(QUESTION, batches, ask_many=script)


def reduced(script: Script, points: Sequence[Point], *, limit: int = 5) -> Draft:
    kept = best_points(points, limit=limit, budget_tokens=1000, count=words)
    return reduce_with_model(
        QUESTION, sheet_of_points(kept), ask_many=script, chunks=CHUNKS, check=check
    )


CHECKS = CitationVerifier(CheckSettings(), idf=lambda _: lambda _: 1.0)


def check(reply: str, passages: Sequence[Passage], usage: Usage) -> Draft:
    packed = PackedContext(passages=tuple(passages))
    return CHECKS.checked(QUESTION, packed, reply=reply, usage=usage, summing_up=True)


def point(text: str, score: float, *evidences: Evidence, community: str = "a") -> Point:
    return Point(text=text, score=score, evidences=evidences, community_id=community)


def test_the_map_is_shown_the_summary_of_a_report_that_a_model_wrote() -> None:
    written = replace(report("a", BROKE, SANG), written_by="m")
    (batch,) = map_batches([written, report("b", BROKE)], budget_tokens=100, count=words)
    assert batch.context.count("Summary.") == 1
    assert batch.context.startswith("# About a\nSummary.\n[1] ")
    shown = re.sub(r"^# |^\[\d+\] ", "", batch.context.split("\n\n")[0], flags=re.MULTILINE)
    assert shown == report_text(written)


def test_a_report_divided_among_calls_shows_its_summary_once_and_within_the_budget() -> None:
    written = replace(report("a", *[BROKE] * 6), written_by="m", summary="one two three")
    batches = map_batches([written], budget_tokens=18, count=words)
    assert len(batches) > 1
    assert sum("one two three" in batch.context for batch in batches) == 1
    assert all(words(batch.context) <= 18 for batch in batches)


def test_points_keep_the_places_of_the_findings_that_they_name() -> None:
    reply = points_reply(("A choir sang.", 40, [2]), ("The cable broke.", 90, [1, 3]))
    found = mapped(Script(lambda stage, prompt: reply))

    assert [one.text for one in found.points] == ["A choir sang.", "The cable broke."]
    assert found.points[0].evidences == SANG.evidences
    assert found.points[1].evidences == BROKE.evidences
    assert found.usage == ONE_CALL


def test_all_calls_of_a_map_round_go_out_at_once() -> None:
    script = Script(lambda stage, prompt: '{"points": []}')
    mapped(script, budget=14)

    assert script.rounds == [("map", 2)]


def test_a_small_budget_maps_in_batches_whose_numbers_run_on() -> None:
    batches = map_batches(REPORTS, budget_tokens=14, count=words)

    assert [sorted(batch.findings) for batch in batches] == [[1, 2], [3, 4]]
    assert "[3] The cable broke" in batches[1].context


def test_a_long_report_is_divided_between_its_findings_under_its_title() -> None:
    batches = map_batches(REPORTS, budget_tokens=9, count=words)

    assert [sorted(batch.findings) for batch in batches] == [[1], [2], [3], [4]]
    assert all(batch.context.startswith("# About ") for batch in batches)


@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=5), max_size=6), st.integers(8, 40)
)
def test_batches_hold_every_finding_once_and_none_is_too_long(
    sizes: list[list[int]], budget: int
) -> None:
    reports = [
        report(f"r{n}", *(Finding(text="word " * size, evidences=()) for size in some))
        for n, some in enumerate(sizes)
    ]
    batches = map_batches(reports, budget_tokens=budget, count=words)

    numbers = [number for batch in batches for number in sorted(batch.findings)]
    assert numbers == list(range(1, sum(map(len, sizes)) + 1))
    for batch in batches:
        assert words(batch.context) <= budget or len(batch.findings) == 1


def test_one_failed_call_of_several_is_counted_and_named() -> None:
    def answer(stage: str, prompt: Prompt) -> str | ModelError:
        if "[3]" in prompt.user:
            return BudgetExceeded("the day's 100 tokens are spent")
        return points_reply(("The cable broke.", 90, [1]))

    found = mapped(Script(answer), budget=14)
    assert [one.text for one in found.points] == ["The cable broke."]
    assert found.failed == 1
    assert "the day's 100 tokens are spent" in found.detail


def test_where_every_call_fails_the_error_comes_out() -> None:
    script = Script(lambda stage, prompt: ModelUnavailable("nobody is there"))

    with pytest.raises(ModelUnavailable, match="nobody is there"):
        mapped(script, budget=14)


def test_what_is_too_long_for_the_window_is_asked_in_halves() -> None:
    def answer(stage: str, prompt: Prompt) -> str | ModelError:
        if "[1]" in prompt.user and "[4]" in prompt.user:
            return ModelInputTooLong("4 lines are too many")
        number = 1 if "[1]" in prompt.user else 4
        return points_reply((f"Point {number}.", 50, [number]))

    script = Script(answer)
    found = mapped(script)
    assert script.rounds == [("map", 1), ("map", 2)]
    assert [one.text for one in found.points] == ["Point 1.", "Point 4."]


def test_what_is_too_long_even_in_halves_is_an_error() -> None:
    with pytest.raises(ModelInputTooLong):
        mapped(Script(lambda stage, prompt: ModelInputTooLong("too long")))


def test_a_reply_that_cannot_be_read_is_counted() -> None:
    found = mapped(Script(lambda stage, prompt: "I cannot do that."))

    assert found.points == ()
    assert found.unusable == 1


def test_instructions_stay_the_same_for_every_batch_so_that_a_server_can_keep_them() -> None:
    script = Script(lambda stage, prompt: '{"points": []}')
    mapped(script, budget=14)

    assert len({prompt.system for prompt in script.prompts}) == 1
    assert all(prompt.schema for prompt in script.prompts)


def test_the_answer_is_cited_through_points_to_spans() -> None:
    points = [
        point("A choir sang for the widows.", 40, *SANG.evidences),
        point("The cable broke in 2016.", 90, *BROKE.evidences),
    ]
    script = Script(lambda stage, prompt: "The cable broke [1], and a choir sang [2].")
    draft = reduced(script, points)

    assert draft.text == "The cable broke [1], and a choir sang [2][3]."
    assert [citation.document_id for citation in draft.citations] == ["d1", "d2", "d3"]
    assert [citation.quote for citation in draft.citations] == [
        "The cable broke in 2016.",
        "The choir sang.",
        "The choir sang.",
    ]
    for citation in draft.citations:
        chunk = CHUNKS[citation.chunk_id]
        assert (" " * chunk.start + chunk.text)[citation.start : citation.end] == citation.quote


def test_an_answer_written_from_whole_reports_is_cited_to_their_sentences() -> None:
    (batch,) = map_batches(REPORTS[:1], budget_tokens=1000, count=words)
    script = Script(lambda stage, prompt: "The cable broke in 2016 [1].")
    draft = reduce_with_model(
        QUESTION, sheet_of_batch(batch), ask_many=script, chunks=CHUNKS, check=check
    )

    assert batch.context in script.prompts[0].user
    assert [citation.quote for citation in draft.citations] == ["The cable broke in 2016."]


def test_without_points_nobody_is_asked() -> None:
    script = Script(lambda stage, prompt: "never")
    draft = reduced(script, [])

    assert draft.abstained
    assert script.rounds == []


def test_a_model_that_declines_abstains() -> None:
    draft = reduced(
        Script(lambda stage, prompt: ABSTENTION["en"]), [point("It broke.", 9, place("c1", 0))]
    )

    assert draft.abstained
    assert draft.usage.calls == 1


def test_points_too_long_for_the_window_are_an_error_and_no_abstention() -> None:
    script = Script(lambda stage, prompt: ModelInputTooLong("too long"))

    with pytest.raises(ModelInputTooLong):
        reduced(script, [point("It broke.", 9, place("c1", 0))])


def test_the_best_points_are_kept_within_the_limit_and_none_twice() -> None:
    points = [point(f"Point {n}.", n) for n in (10, 90, 50)]
    again = point("POINT 90.", 80, community="b")
    kept = best_points([*points, again], limit=2, budget_tokens=100, count=words)

    assert [one.text for one in kept] == ["Point 90.", "Point 50."]


@given(st.lists(st.tuples(st.text("ab ", max_size=20), st.floats(0, 100))), st.integers(0, 30))
def test_kept_points_never_exceed_the_budget(rows: list[tuple[str, float]], budget: int) -> None:
    points = [point(text, score) for text, score in rows]
    kept = best_points(points, limit=100, budget_tokens=budget, count=words)

    assert sum(words(one.text) for one in kept) <= budget
    assert kept == best_points(points[::-1], limit=100, budget_tokens=budget, count=words)


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
        pytest.param("[" * 100_000 + "]" * 100_000, [], 1, id="deep"),
        pytest.param("", [], 1, id="empty"),
        pytest.param('{"points": []}', [], 0, id="none"),
    ],
)
def test_replies_are_read_tolerantly_and_trusted_in_nothing(
    reply: str, scores: list[float], unusable: int
) -> None:
    batch = map_batches(REPORTS, budget_tokens=1000, count=words)[0]
    points, bad = read_points(reply, batch)

    assert [one.score for one in points] == scores
    assert bad == unusable


@pytest.mark.parametrize(
    ("reply", "ratings"),
    [
        pytest.param('{"ratings": [{"report": 2, "rating": 80}]}', {2: 0.8}, id="plain"),
        pytest.param('{"ratings": [{"report": "[1]", "rating": "50%"}]}', {1: 0.5}, id="strings"),
        pytest.param('{"ratings": [{"report": 9, "rating": 80}]}', None, id="unknown"),
        pytest.param('{"ratings": []}', {}, id="none-helps"),
        pytest.param("All of them!", None, id="prose"),
        pytest.param('{"ratings": [{"report": 1, "rating": 90}, {"rep', {1: 0.9}, id="cut-off"),
    ],
)
def test_ratings_are_read_tolerantly(reply: str, ratings: dict[int, float] | None) -> None:
    assert read_ratings(reply, count=3) == ratings


def test_questions_are_read_once_each_and_none_that_was_asked() -> None:
    reply = json.dumps({"points": [], "questions": ["Who?", "who?", "  ", 3, "Why?", "x" * 400]})

    assert read_questions(reply, limit=5, known=["WHY?"]) == ["Who?"]
    assert read_questions("no list here", limit=5) == []
    assert read_questions('{"questions": ["cut', limit=5) == []


def test_a_round_adds_up_what_its_calls_cost() -> None:
    script = Script(lambda stage, prompt: "fine")
    prompts = [Prompt(system="s", user=str(n), max_output_tokens=5) for n in range(3)]

    assert call_batch(script, "map", prompts).usage.prompt_tokens == 30
    assert call_batch(script, "map", []).texts == ()


def test_of_an_overview_figures_and_names_are_held_to_the_sources() -> None:
    reply = (
        "Loss and song run through these reports [1][2]. The cable broke in 2016 [1]. "
        "The repair cost 900,000 crowns [1]."
    )
    points = [
        point("The cable broke.", 90, *BROKE.evidences),
        point("A choir sang.", 40, *SANG.evidences),
    ]
    draft = reduced(Script(lambda stage, prompt: reply), points)
    assert draft.text.count("[unsupported]") == 1
    assert draft.text.endswith("900,000 crowns [1] [unsupported].")
    assert [claim.supported for claim in draft.claims][1:] == [True, False]
    assert {citation.quote for citation in draft.citations} == {TEXT[:24], TEXT[25:]}


LOOSE = "The cable broke in 2016 [1]. Farmers quarrelled over grazing rights [2]."


def overview_of(reply: str, checks: CitationVerifier) -> Draft:
    passages = [
        Passage(text=text, score=1, relevance=1, document_id=f"d{n}", chunk_id=f"c{n}", title="",
                start=0, end=len(text))
        for n, text in enumerate(("The cable broke in 2016.", "Shepherds argued about pastures."))
    ]  # fmt: skip
    packed = PackedContext(passages=tuple(passages))
    return checks.checked(QUESTION, packed, reply=reply, usage=ONE_CALL, summing_up=True)


def checks_that(policy: str, embed: Embed | None = None) -> CitationVerifier:
    settings = CheckSettings.model_validate({"citations": policy})
    return CitationVerifier(settings, idf=lambda _: lambda _: 1.0, embed=embed)


def test_a_statement_that_its_points_do_not_bear_out_is_flagged_or_dropped() -> None:
    flagged = overview_of(LOOSE, checks_that("flag"))
    assert flagged.text.endswith("Farmers quarrelled over grazing rights [2] [unsupported].")
    assert [claim.supported for claim in flagged.claims] == [True, False]
    assert "the sources do not say it" in flagged.detail
    assert overview_of(LOOSE, checks_that("drop")).text == "The cable broke in 2016 [1]."
    assert overview_of(LOOSE, checks_that("keep")).text == LOOSE


def test_what_is_said_in_other_words_is_borne_out_by_its_meaning() -> None:
    def alike(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 1), dtype=np.float32)

    said = overview_of(LOOSE, checks_that("flag", alike))
    assert said.text == LOOSE
    assert all(claim.supported for claim in said.claims)


def test_a_statement_may_rest_on_several_sources_together() -> None:
    reply = "In 2016 the cable broke, shepherds argued, and pastures mattered [1][2]."
    draft = overview_of(reply, checks_that("flag"))
    assert draft.text == reply
    assert [claim.citations for claim in draft.claims] == [(1, 2)]


def test_reports_are_cut_to_as_many_findings_as_let_all_fit() -> None:
    long = report(
        "a", *(Finding(text=f"Finding {n}.", evidences=(place("c1", 0),)) for n in range(8))
    )
    reports = [long, report("b", BROKE), report("c", BROKE)]

    def words(text: str) -> int:
        return len(text.split())

    whole = sum(words(report_text(one)) for one in reports)
    assert shorten_reports(reports, budget_tokens=whole, count=words) == reports
    shorter = shorten_reports(reports, budget_tokens=whole - 7, count=words)
    assert [len(one.findings) for one in shorter] == [4, 1, 1]
    (first, *_) = shorten_reports(reports, budget_tokens=8, count=words)
    assert len(first.findings) == 2
