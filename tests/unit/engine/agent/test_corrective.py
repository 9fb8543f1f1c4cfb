"""What was found is judged and cut; what a web search finds is passages of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent.corrective import trim_passages, verdict_of, without_refused
from engine.agent.web import MAX_WEB_CHARACTERS, WebResult, web_passages
from engine.types import Passage

TEXT = (
    "The tide came in. The tide went out. Ada Brine lit the lamp at Gull Quay in 1901. "
    "It burned whale oil. The gulls were loud. The sea was grey. Nothing else is known."
)


def passage(identity: str, relevance: float = 0.5, text: str = TEXT, start: int = 10) -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=relevance,
        document_id=identity,
        chunk_id=identity,
        title=identity,
        start=start,
        end=start + len(text),
    )


@pytest.mark.parametrize(
    ("best", "grades", "verdict"),
    [
        (0.6, None, "right"),
        (0.3, None, "doubtful"),
        (0.05, None, "wrong"),
        (0.05, {1: "yes"}, "right"),
        (0.9, {1: "partly", 2: "no"}, "doubtful"),
        (0.9, {1: "no"}, "wrong"),
    ],
)
def test_grades_go_before_relevance(best: float, grades: dict | None, verdict: str) -> None:
    passages = [passage("a", best), passage("b", best / 2)]
    assert verdict_of(passages, wrong_below=0.12, right_from=0.5, grades=grades) == verdict


def test_nothing_found_is_wrong() -> None:
    assert verdict_of([], wrong_below=0.12, right_from=0.5) == "wrong"


def test_what_is_refused_goes_unless_all_is() -> None:
    passages = [passage("a"), passage("b")]
    assert without_refused(passages, {1: "no", 2: "partly"}) == passages[1:]
    assert without_refused(passages, {1: "no", 2: "no"}) == passages


def cut(question: str, text: str) -> Passage:
    (found,) = trim_passages(question, [passage("a", text=text)], idf=lambda _: 1.0)
    return found


def test_a_passage_is_cut_to_what_bears_on_the_question_and_a_neighbour_each_side() -> None:
    found = cut("Who lit the lamp?", TEXT)
    assert found.text.startswith("The tide went out. Ada Brine lit")
    assert found.text.endswith("It burned whale oil.")


@given(st.text(max_size=20), st.text(alphabet="lamp tide.。灯\n!Ada ", max_size=80))
def test_a_cut_passage_stands_where_it_says(question: str, text: str) -> None:
    found = cut(question, text)
    assert text[found.start - 10 : found.end - 10] == found.text


def test_web_pages_are_bounded_and_of_the_web() -> None:
    results = [
        WebResult(address="https://a.example/x", title="A\n lamp", text="lamp " * 5_000),
        WebResult(address="javascript:alert(1)", title="bad", text="lamp"),
        WebResult(address="file:///etc/passwd", title="bad", text="lamp"),
        WebResult(address="https://b.example/\nX-Header: 1", title="bad", text="lamp"),
        WebResult(address="http://[", title="bad", text="lamp"),
        WebResult(address="https://c.example/", title="", text="  "),
    ]
    (found,) = web_passages("Who lit the lamp?", results, idf=lambda _: 1.0)
    assert found.origin == "web"
    assert found.title == "A lamp"
    assert (found.start, found.end) == (0, len(found.text))
    assert len(found.text) == MAX_WEB_CHARACTERS
    assert 0.0 <= found.relevance <= 1.0
