"""The hierarchy as a tree; rating from the root down; passages as reports; what leads on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from engine.storage.tokenization import tokens
from graph.communities.leiden import CommunityTree
from graph.model import Chunk, Community, Finding, Report
from graph.search.global_search import report_match
from graph.search.global_strategies import (
    Descent,
    SelectionLimits,
    passage_report,
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
    assert TREE.homes(CHUNKS) == {"c1": "ab", "c2": "ac", "c3": "z", "c5": "ab"}


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


TEXT = "# Heading of it\n\nThe cable broke off the cape. 海底电缆在2016年断裂。"


def test_a_sheet_holds_sentences_at_their_places() -> None:
    chunk = Chunk(id="c1", document_id="d1", title="The cable", text=TEXT)
    sheet = passage_report(chunk, title="The cable · 2016", community_id="ab", tokens=tokens)

    assert sheet is not None
    assert (sheet.title, sheet.community_id) == ("The cable · 2016", "ab")
    assert [one.text for one in sheet.findings] == [
        "The cable broke off the cape.",
        "海底电缆在2016年断裂。",
    ]
    for finding in sheet.findings:
        (place,) = finding.evidences
        assert TEXT[place.start : place.end] == finding.text


def test_a_chunk_of_headings_alone_gives_no_sheet() -> None:
    chunk = Chunk(id="c1", document_id="d1", title="The cable", text="# Heading of it\n\nNo.")
    assert passage_report(chunk, title="The cable", community_id="", tokens=tokens) is None


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
