"""Choosing reports, scoring findings, keeping what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage.tokenization import tokens
from graph.model import Chunk, Community, Evidence, Finding, Report
from graph.search.global_search import (
    Point,
    content_terms,
    greedy_cover,
    informativeness,
    report_text,
    select_reports,
)

COMMUNITIES = [
    Community(id="a", level=0, parent_id=None, entity_ids=("1", "2", "3")),
    Community(id="b", level=0, parent_id=None, entity_ids=("4",)),
    Community(id="a1", level=1, parent_id="a", entity_ids=("1",)),
    Community(id="a2", level=1, parent_id="a", entity_ids=("2", "3")),
]
DOCUMENT_OF = {f"c{number}": f"d{number}" for number in range(40)}


def words(text: str) -> int:
    return len(text.split())


def report(community: str, *texts: str, level: int = 0, rating: float = 5.0) -> Report:
    findings = tuple(
        Finding(text=text, evidences=(Evidence(chunk_id=f"c{place}", start=0, end=5),))
        for place, text in enumerate(texts)
    )
    return Report(
        community_id=community,
        level=level,
        title=f"About {community}",
        summary=f"All of {community}.",
        rating=rating,
        findings=findings,
        fingerprint="f",
    )


REPORTS = [
    report("a", "x " * 20, rating=9.0),
    report("b", "x " * 20, rating=2.0),
    report("a1", "x " * 20, level=1, rating=4.0),
    report("a2", "x " * 20, level=1, rating=6.0),
]


def test_the_finest_level_that_fits_is_taken() -> None:
    selection = select_reports(COMMUNITIES, REPORTS, budget_tokens=1000, count=words)

    assert selection.level == 1
    assert [r.community_id for r in selection.reports] == ["a2", "a1", "b"]


def test_a_coarser_level_is_taken_when_the_finer_is_too_large() -> None:
    selection = select_reports(COMMUNITIES, REPORTS, budget_tokens=60, count=words)

    assert selection.level == 0
    assert [r.community_id for r in selection.reports] == ["a", "b"]


def test_when_no_level_fits_the_best_rated_are_taken_and_the_rest_is_counted() -> None:
    selection = select_reports(COMMUNITIES, REPORTS, budget_tokens=30, count=words)

    assert selection.level is None
    assert [r.community_id for r in selection.reports] == ["a"]
    assert selection.left_out == 1


@pytest.mark.parametrize("communities", [[], COMMUNITIES])
def test_without_reports_nothing_is_selected(communities: list[Community]) -> None:
    assert select_reports(communities, [], budget_tokens=100, count=words).reports == ()


@given(st.integers(0, 300))
def test_a_selection_never_exceeds_the_budget(budget: int) -> None:
    selection = select_reports(COMMUNITIES, REPORTS, budget_tokens=budget, count=words)

    total = sum(words(report_text(r)) for r in selection.reports)
    assert total == selection.tokens <= budget


def test_an_undivided_community_stands_in_at_finer_levels() -> None:
    assert greedy_cover(COMMUNITIES, 0) == ["a", "b"]
    assert greedy_cover(COMMUNITIES, 1) == ["a1", "a2", "b"]


@pytest.mark.parametrize(
    ("question", "generic"),
    [
        pytest.param("What are the main themes across these documents?", True, id="themes"),
        pytest.param("Summarise the whole collection.", True, id="summarise"),
        pytest.param("What is this corpus about?", True, id="about"),
        pytest.param("这些文件反映了哪些主要问题？", True, id="chinese"),
        pytest.param("请总结所有资料的主要内容。", True, id="chinese-summary"),
        pytest.param("What happens in these chapters?", True, id="chapters"),
        pytest.param("这本书主要讲了什么？", True, id="chinese-book"),
        pytest.param("概括这部小说的情节。", True, id="chinese-novel"),
        pytest.param("这些文件对图书馆说了什么？", False, id="chinese-library"),
        pytest.param("What conflicts divide the islanders?", False, id="conflicts"),
        pytest.param("海底电缆带来了哪些影响？", False, id="chinese-cable"),
    ],
)
def test_generic_questions_are_told_from_those_with_a_subject(question: str, generic: bool) -> None:
    assert (content_terms(question, tokens=tokens) == []) is generic


def point(text: str, score: float, chunk: str, community: str = "a") -> Point:
    return Point(
        text=text,
        score=score,
        evidences=(Evidence(chunk_id=chunk, start=0, end=1),),
        community_id=community,
    )


points_of = st.lists(
    st.builds(
        point,
        st.text(st.sampled_from("abc de"), min_size=1, max_size=30),
        st.floats(0.1, 100),
        st.sampled_from(sorted(DOCUMENT_OF)),
        st.sampled_from("abc"),
    ),
    max_size=12,
)


def test_substance_is_names_and_figures_in_a_sentence_of_readable_length() -> None:
    full = informativeness("The Vey Station lost 2.34 million crowns to Pale Harbour in 2016.")

    assert informativeness("") == 0.0
    assert informativeness("So it went.") < full
    assert informativeness("word " * 400) < full
    assert 0 < informativeness("临澜海洋大学在2014年为海缆出资610万欧元。") <= 1


def chunk(number: int, text: str) -> Chunk:
    return Chunk(id=f"c{number}", document_id=f"d{number}", title="Notes", text=text, end=len(text))


CABLE = "The cable broke off the cape in March 2016. It took four years to find the cause again."
CHOIR = "The choir of the northern quay sang for the widows of the storm on Sunday evening."
