"""The hierarchy as a tree; rating from the root down; testing chunks best first; what leads on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage.tokenization import tokens
from graph.communities.leiden import CommunityTree
from graph.model import Chunk, Community, Finding, Report
from graph.search.global_search import report_match
from graph.search.global_strategies import (
    Descent,
    RelevanceTest,
    SelectionLimits,
    TestBudget,
    by_community,
    chunk_reports,
    relevant_chunks,
    select_dynamic,
)


def community(key: str, parent: str | None, *entities: str) -> Community:
    return Community(id=key, level=len(key) - 1, parent_id=parent, entity_ids=tuple(entities))


COMMUNITIES = [
    community("a", None, "1", "2", "3", "4"),
    community("ab", "a", "1", "2"),
    community("ac", "a", "3", "4"),
    community("z", None, "5"),
]
TREE = CommunityTree.build(COMMUNITIES)
CHUNKS = {"c1": ["1", "2", "3"], "c2": ["3"], "c3": ["5"], "c4": [], "c5": ["1", "3"]}


def words(text: str) -> int:
    return len(text.split())


def report(key: str, rating: float = 5.0) -> Report:
    finding = Finding(text=f"Something of {key}.", evidences=())
    return Report(
        community_id=key, level=0, title=key, summary="", rating=rating, findings=(finding,),
        fingerprint=key,
    )  # fmt: skip


def test_the_tree_is_the_same_in_any_order() -> None:
    assert CommunityTree.build(reversed(COMMUNITIES)) == TREE
    assert TREE.roots == ("a", "z")
    assert TREE.children == {"a": ("ab", "ac")}


def test_a_community_whose_parent_is_missing_is_a_root() -> None:
    assert CommunityTree.build(COMMUNITIES[1:]).roots == ("ab", "ac", "z")


def test_a_chunk_is_at_home_where_most_of_its_entities_are() -> None:
    homes = TREE.homes(CHUNKS)

    assert homes == {"c1": "ab", "c2": "ac", "c3": "z", "c5": "ab"}
    assert TREE.chunks_inside(homes) == {
        "a": ("c1", "c2", "c5"),
        "ab": ("c1", "c5"),
        "ac": ("c2",),
        "z": ("c3",),
    }


def descent(
    ratings: Mapping[str, float],
    *,
    reports: str = "a ab ac z",
    levels: int = 5,
    per_level: int = 10,
    budget: int = 1000,
) -> Descent:
    def rate(shown: Sequence[Report]) -> Mapping[str, float]:
        return {one.community_id: ratings.get(one.community_id, 0.0) for one in shown}

    return select_dynamic(
        TREE,
        {key: report(key) for key in reports.split()},
        prior=rate,
        rate=rate,
        depth=SelectionLimits(levels=levels, per_level=per_level),
        budget_tokens=budget,
        count=words,
    )


def chosen(found: Descent) -> list[str]:
    return [one.community_id for one in found.selection.reports]


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        pytest.param({"a": 0.9, "ab": 0.8}, ["ab"], id="the child says it more exactly"),
        pytest.param({"a": 0.9}, ["a"], id="no child is relevant"),
        pytest.param({"a": 0.1, "ab": 1.0}, [], id="below what is irrelevant nobody looks"),
        pytest.param({"a": 0.6, "ab": 0.7, "ac": 0.8, "z": 0.9}, ["z", "ac", "ab"], id="by rating"),
        pytest.param({}, [], id="nothing is relevant"),
    ],
)
def test_a_descent_follows_what_is_relevant(
    ratings: Mapping[str, float], expected: list[str]
) -> None:
    assert chosen(descent(ratings)) == expected


def test_a_descent_stops_at_its_depth() -> None:
    found = descent({"a": 0.9, "ab": 0.8}, levels=1)

    assert chosen(found) == ["a"]
    assert found.rounds == ((2, 1),)


def test_a_community_without_a_report_is_passed_through() -> None:
    assert chosen(descent({"ab": 0.8, "z": 0.7}, reports="ab z")) == ["ab", "z"]


def test_only_the_most_promising_of_a_level_are_rated() -> None:
    found = descent({"a": 0.9, "z": 0.8}, per_level=1)

    assert set(found.ratings) == {"a", "ab"} or set(found.ratings) == {"a", "ac"}
    assert "z" not in found.ratings


def test_a_descent_keeps_its_budget_and_says_what_found_no_room() -> None:
    found = descent({"z": 0.9, "a": 0.8}, budget=5)

    assert chosen(found) == ["z"]
    assert found.selection.left_out == 1
    assert found.selection.tokens <= 5


def sifted(
    scores: Mapping[str, float], relevant: str, *, chunks: int = 100, patience: int = 3, **more: int
) -> tuple[RelevanceTest, list[list[str]]]:
    asked: list[list[str]] = []

    def test(keys: Sequence[str]) -> Mapping[str, float]:
        asked.append(list(keys))
        return {key: 1.0 for key in keys if key in relevant.split()}

    allowed = TestBudget(chunks=chunks, patience=patience, **more)
    found = relevant_chunks(TREE, TREE.homes(CHUNKS), scores, test=test, allowed=allowed)
    return found, asked


SCORES = {"c1": 0.9, "c2": 0.2, "c3": 0.5, "c4": 0.1, "c5": 0.8}


def test_every_chunk_is_tested_once_at_most_and_relevant_ones_are_kept() -> None:
    found, asked = sifted(SCORES, "c1 c2 c4", of_community=1)
    flat = [key for keys in asked for key in keys]

    assert sorted(flat) == sorted(SCORES)
    assert set(found.relevant) == {"c1", "c2", "c4"}
    assert found.tested == 5


def test_the_most_promising_community_is_tested_first() -> None:
    _, asked = sifted(SCORES, "", of_community=1, at_once=1)

    assert asked[0] == ["c1"]


def test_a_success_is_followed_into_the_communities_below() -> None:
    _, asked = sifted(SCORES, "c1", of_community=1, at_once=1)

    assert asked[:2] == [["c1"], ["c5"]]  # c5 is with c1 in `ab`, the better half of `a`


def test_a_community_is_left_when_patience_ends() -> None:
    found, asked = sifted(SCORES, "", of_community=1, at_once=5, patience=1)

    assert [key for keys in asked for key in keys] == ["c1", "c3", "c4"]
    assert found.left == 1


@given(
    st.dictionaries(st.sampled_from(sorted(CHUNKS)), st.floats(0, 1)),
    st.lists(st.sampled_from(sorted(CHUNKS))),
    st.integers(0, 8),
    st.integers(1, 4),
)
def test_tests_never_exceed_what_is_allowed(
    scores: dict[str, float], relevant: list[str], chunks: int, of_community: int
) -> None:
    found, asked = sifted(scores, " ".join(relevant), chunks=chunks, of_community=of_community)
    flat = [key for keys in asked for key in keys]

    assert len(flat) == len(set(flat)) == found.tested <= chunks
    assert set(found.relevant) == set(flat) & set(relevant)
    assert sum(count for count, _ in found.rounds) == found.tested


def test_chunks_are_grouped_by_home_in_their_order() -> None:
    assert by_community(["c3", "c1", "c4", "c5"], TREE.homes(CHUNKS)) == {
        "z": ["c3"],
        "ab": ["c1", "c5"],
        "": ["c4"],
    }


TEXT = "# Heading of it\n\nThe cable broke off the cape. 海底电缆在2016年断裂。"


def test_a_sheet_holds_sentences_at_their_places() -> None:
    chunk = Chunk(id="c1", document_id="d1", title="The cable", text=TEXT)
    (sheet,) = chunk_reports({"ab": ["c1", "gone"]}, {"c1": chunk}, titles={}, tokens=tokens)

    assert sheet.title == "The cable"
    assert [one.text for one in sheet.findings] == [
        "The cable broke off the cape.",
        "海底电缆在2016年断裂。",
    ]
    for finding in sheet.findings:
        (place,) = finding.evidences
        assert TEXT[place.start : place.end] == finding.text


def test_a_report_fits_by_its_words_and_by_its_nearest_chunk() -> None:
    reports = {
        "a": frozenset(tokens("the cable broke off the cape")),
        "b": frozenset(tokens("a choir sang")),
        "c": frozenset(tokens("bread was baked")),
    }

    def fits(near: Mapping[str, float]) -> dict[str, float]:
        places = {"a": ["c1"], "b": ["c2"], "c": ["c3"]}
        return report_match(
            "What broke the cable?", words=reports, places=places, near=near, tokens=tokens,
            weight=lambda term: 1.0,
        )  # fmt: skip

    assert fits({}) == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert fits({"c1": 0.1, "c2": 0.9, "c3": 0.1})["b"] > 0.4


def test_a_question_without_a_subject_fits_every_report_alike() -> None:
    fits = report_match(
        "What are the main themes?", words={"a": frozenset("x"), "b": frozenset()}, places={},
        near={}, tokens=tokens, weight=lambda term: 1.0,
    )  # fmt: skip

    assert fits == {"a": 1.0, "b": 1.0}
