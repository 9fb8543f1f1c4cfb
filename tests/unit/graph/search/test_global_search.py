"""Choosing reports, scoring findings, keeping what differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.storage.tokenization import tokens
from graph.model import Chunk, Community, Evidence, Finding, Report
from graph.search.global_search import (
    Point,
    chunk_match,
    community_of_chunks,
    content_terms,
    greedy_cover,
    informativeness,
    map_points,
    reduce_points,
    report_text,
    select_reports,
    token_similarity,
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


def by_tokens(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    wanted = set(content_terms(question, tokens=tokens))
    return np.array([len(wanted & set(tokens(text))) / max(1, len(wanted)) for text in texts])


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
        pytest.param("What conflicts divide the islanders?", False, id="conflicts"),
        pytest.param("海底电缆带来了哪些影响？", False, id="chinese-cable"),
    ],
)
def test_generic_questions_are_told_from_those_with_a_subject(question: str, generic: bool) -> None:
    assert (content_terms(question, tokens=tokens) == []) is generic


def test_a_question_with_a_subject_drops_findings_that_say_nothing_to_it() -> None:
    reports = [
        report("a", "The cable broke in March 2016 off the cape.", "The choir sang on the quay.")
    ]
    points = map_points(
        "What happened to the cable?",
        reports,
        match=by_tokens,
        tokens=tokens,
        document_of=DOCUMENT_OF,
    )

    assert [point.text for point in points] == ["The cable broke in March 2016 off the cape."]
    assert 0 < points[0].score <= 100
    assert points[0].evidences == reports[0].findings[0].evidences


def test_a_generic_question_prefers_weight_and_substance() -> None:
    def refuse(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        raise AssertionError("a generic question is compared with nothing")

    full = "The Vey Station lost 2.34 million crowns to Pale Harbour between 2016 and 2020."
    reports = [report("a", full, "It rained.", rating=9.0), report("b", "So it went.", rating=1.0)]
    points = map_points(
        "What are the main themes?",
        reports,
        match=refuse,
        tokens=tokens,
        document_of=DOCUMENT_OF,
    )

    assert [point.text for point in points] == [full, "It rained.", "So it went."]


def test_points_in_the_language_of_the_question_come_first() -> None:
    reports = [
        report(
            "a",
            "The station closed in 2011 after the storm.",
            "维岛海洋研究站在2011年2月的那场大风暴之后永久关闭。",
        )
    ]
    options = {"match": by_tokens, "tokens": tokens, "document_of": DOCUMENT_OF}

    english = map_points("What are the main themes?", reports, **options)  # type: ignore[arg-type]
    chinese = map_points("主要主题是什么？", reports, **options)  # type: ignore[arg-type]
    assert english[0].text.startswith("The")
    assert chinese[0].text.startswith("维")


def test_the_same_statement_in_two_reports_is_one_point() -> None:
    text = "The cable broke in March 2016 off the cape."
    points = map_points(
        "What broke the cable?",
        [report("a", text), report("b", text)],
        match=by_tokens,
        tokens=tokens,
        document_of=DOCUMENT_OF,
    )

    assert len(points) == 1


def test_no_reports_no_points() -> None:
    assert map_points("Why?", [], match=by_tokens, tokens=tokens, document_of={}) == []


def point(text: str, score: float, chunk: str, community: str = "a") -> Point:
    return Point(
        text=text,
        score=score,
        evidences=(Evidence(chunk_id=chunk, start=0, end=1),),
        community_id=community,
    )


def reduced(
    points: Sequence[Point],
    *,
    limit: int = 10,
    budget: int = 1000,
    given: Sequence[Point] = (),
) -> list[Point]:
    return reduce_points(
        points,
        limit=limit,
        budget_tokens=budget,
        count=words,
        similarity=token_similarity(tokens),
        document_of=DOCUMENT_OF,
        given=given,
    )


def test_a_repetition_loses_against_something_new() -> None:
    first = point("The cable broke off the cape in March.", 90, "c1")
    again = point("In March the cable broke off the cape.", 89, "c2")
    other = point("The choir collected money for the widows.", 50, "c3", "b")

    assert reduced([first, again, other], limit=2) == [first, other]


def test_a_new_document_wins_over_a_used_one() -> None:
    first = point("Alpha beta gamma.", 90, "c1")
    same = point("Delta epsilon zeta.", 80, "c1", "b")
    new = point("Eta theta iota.", 70, "c2", "c")

    assert reduced([first, same, new], limit=2) == [first, new]


def test_a_used_community_counts_less() -> None:
    first = point("Alpha beta gamma.", 90, "c1", "a")
    same = point("Delta epsilon zeta.", 80, "c2", "a")
    new = point("Eta theta iota.", 78, "c3", "b")

    assert reduced([first, same, new], limit=2) == [first, new]


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


@given(points_of, st.integers(0, 30), st.integers(0, 6), st.randoms())
def test_reducing_keeps_to_limit_and_budget_and_ignores_order(
    points: list[Point], budget: int, limit: int, randomness: object
) -> None:
    unique = list({one.text: one for one in points}.values())
    chosen = reduced(unique, limit=limit, budget=budget)

    assert len(chosen) <= limit
    assert sum(words(one.text) for one in chosen) <= budget
    assert reduced(unique[::-1], limit=limit, budget=budget) == chosen


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


def test_a_chunk_belongs_to_the_report_that_rests_most_on_it_or_on_its_document() -> None:
    beside = Chunk(id="c0b", document_id="d0", title="Notes", text=CHOIR, end=len(CHOIR))
    chunks = {one.id: one for one in (chunk(0, CABLE), beside, chunk(9, CHOIR))}
    owner = community_of_chunks([report("a", "The cable broke."), report("b")], chunks)

    assert [owner(key) for key in ("c0", "c0b", "c9", "unknown")] == ["a", "a", "", ""]


def test_given_points_come_first_in_their_order_and_are_not_told_twice() -> None:
    points = [point(f"Statement {n} of the harbour.", 90 - n, f"c{n}") for n in range(6)]
    given = [points[4], points[2]]
    chosen = reduced(points, limit=4, budget=1000, given=given)

    assert chosen[:2] == given
    assert len({one.text for one in chosen}) == len(chosen) == 4


def matched(near: dict[str, float]) -> list[float]:
    chunks = {
        f"c{n}": chunk(n, text) for n, text in enumerate((CABLE, CHOIR, "Tea.", "Jam.", "Ice."))
    }
    places = {text: [key] for key, text in ((k, c.text) for k, c in chunks.items())}
    match = chunk_match(
        "What became of the cable?",
        places=places,
        chunks=chunks,
        near=near,
        tokens=tokens,
        weight=lambda _: 1.0,
    )
    return match("", [CABLE, CHOIR, "Tea.", "unknown"]).tolist()


def test_a_statement_is_as_near_as_its_chunk() -> None:
    by_words = matched({})
    by_both = matched({"c0": 0.5, "c1": 0.4, "c2": 0.1, "c3": 0.1, "c4": 0.1})

    assert by_words[0] > 0
    assert by_words[1:] == [0.0, 0.0, 0.0]
    assert by_both[0] > by_both[1] > 0
    assert by_both[2:] == [0.0, 0.0]


def test_what_recurs_across_documents_is_told_before_what_stands_alone() -> None:
    points = [
        point("Rainbow pancakes tasted wonderful yesterday.", 60, "c1", "a"),
        point("The barrage divided the council.", 59, "c2", "b"),
        point("Fishermen opposed the barrage.", 58, "c3", "c"),
        point("Pianos arrived by steamer.", 57, "c4", "d"),
    ]
    options = {"limit": 1, "budget_tokens": 99, "count": words, "document_of": DOCUMENT_OF}

    plain = reduce_points(points, similarity=token_similarity(tokens), **options)  # type: ignore[arg-type]
    told = reduce_points(
        points,
        similarity=token_similarity(tokens),
        concepts=tokens,
        **options,  # type: ignore[arg-type]
    )
    assert plain == [points[0]]
    assert told[0] in points[1:3]
