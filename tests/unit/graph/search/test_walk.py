"""The walk over passages, titles and shared names."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.errors import GraphInputError
from graph.search import walk
from graph.search.walk import COMMON_LEAST, WalkGraph, rank_by_walk
from graph.search.walk_path import explain_path

TITLES = ["teutberga", "lothair ii", "ermengarde", "paris", ""]
LINKS = [["lothair ii", "lotharingia"], ["ermengarde", "lotharingia"], ["tours"], [], ["tours"]]


def graph() -> WalkGraph:
    return WalkGraph.build(TITLES, LINKS)


def test_a_linked_passage_comes_before_an_unlinked_one_of_equal_score() -> None:
    result = rank_by_walk(graph(), np.array([1.0, 0, 0.2, 0.2, 0]))
    order = result.order.tolist()
    assert order[0] == 0
    assert order.index(1) < order.index(3)
    assert order.index(2) < order.index(3)


def test_a_mention_weighs_less_the_more_passages_have_it() -> None:
    row = graph().transitions.todense()[0]
    mention = 4.0 / math.log(math.e + 1)
    name = 0.5 / math.sqrt(math.log(math.e + 2))
    names = dict(zip(graph().names, row[len(TITLES) :], strict=True))
    assert graph().names == ("ermengarde", "lothair ii", "lotharingia", "tours")
    assert row[1] == pytest.approx(mention / (mention + 2 * name))
    assert names["lotharingia"] == pytest.approx(name / (mention + 2 * name))


def test_a_rare_name_leads_further_than_one_that_stands_everywhere() -> None:
    titles = ["france", "hank snow", *[""] * 20]
    built = WalkGraph.build(titles, [[], [], ["france", "hank snow"], *[["france"]] * 19])
    scores = np.zeros(22)
    scores[2] = 1.0
    assert rank_by_walk(built, scores).order.tolist()[:3] == [2, 1, 0]


def test_of_many_homes_the_one_that_answers_gets_most() -> None:
    shared = WalkGraph.build(["a", "b", "b"], [["b"], [], []])
    even = shared.transitions.todense()[0]
    assert even[1] == pytest.approx(even[2])
    result = rank_by_walk(shared, np.array([1.0, 0.0, 0.2]), steps=1)
    assert result.mass[2] == pytest.approx(2 * result.mass[1] + 0.5 * 0.008 / 1.008, rel=1e-4)
    assert rank_by_walk(shared, np.array([1.0, 0.2, 0.0]), steps=1).order[1] == 1


def test_a_passage_gives_nothing_to_the_other_homes_of_its_own_name() -> None:
    own = WalkGraph.build(["b", "b"], [["b"], ["b"]])
    assert own.mentions.nnz == 0


def test_a_passage_that_introduces_a_name_is_its_home() -> None:
    links = [["ada"], ["ada", "bea"], ["ada"]]
    untitled = WalkGraph.build(["", "", ""], links, [[], ["ada"], []])
    assert untitled.homes == {"ada": (1,)}
    assert rank_by_walk(untitled, np.array([1.0, 0, 0])).order.tolist() == [0, 1, 2]
    assert rank_by_walk(untitled, np.array([0.3, 0.1, 0.2]), {"ada"}).named == ("ada",)
    assert explain_path(untitled, 1, [0]) == ("seed an untitled passage", "mentions", "'ada'")


def test_a_name_that_is_a_title_is_at_home_there_alone() -> None:
    built = WalkGraph.build(["ada", ""], [["ada"], ["ada"]], [[], ["ada"]])
    assert built.homes == {"ada": (0,)}


def test_a_name_that_nobody_introduces_is_at_home_where_a_fuller_one_is_introduced() -> None:
    links = [["ada k. byron"], ["ada byron"], ["ada byron"]]
    fuller = [["ada byron"], [], []]
    built = WalkGraph.build(["", "", ""], links, [["ada k. byron"], [], []], fuller)
    assert built.homes == {"ada k. byron": (0,), "ada byron": (0,)}
    assert rank_by_walk(built, np.array([0.0, 1.0, 0.0])).order.tolist() == [1, 0, 2]
    known = WalkGraph.build(["", "", ""], links, [["ada k. byron"], [], ["ada byron"]], fuller)
    assert known.homes["ada byron"] == (2,)
    unsaid = WalkGraph.build(["", ""], [["ada k. byron"], []], [], [["ada byron"], []])
    assert unsaid.homes == {}
    many = WalkGraph.build([""] * 9, [["ada byron"]] * 9, [], [["ada byron"]] * 9)
    assert many.homes == {}


def test_a_name_of_very_many_passages_is_at_home_under_its_title_alone() -> None:
    links = [["ada"]] * COMMON_LEAST
    introduced: list[list[str]] = [["ada"], *([] for _ in links)]
    few = WalkGraph.build(["", *("" for _ in links)], [[], *links], introduced)
    assert few.homes == {"ada": (0,)}
    many = WalkGraph.build([""] * len(introduced), [["ada"], *links], introduced)
    assert many.homes == {}
    fuller = WalkGraph.build([""] * len(introduced), [["ada"], *links], [], introduced)
    assert fuller.homes == {}
    titled = WalkGraph.build(["ada", *("" for _ in links)], [["ada"], *links], introduced)
    assert titled.homes == {"ada": (0,)}


def test_a_title_of_many_passages_does_not_fill_the_seeds() -> None:
    long_document = WalkGraph.build(["a"] * 30 + ["b"], [[]] * 31)
    scores = np.full(31, 0.1)
    scores[[7, 30]] = 0.5, 0.3
    result = rank_by_walk(long_document, scores, {"a"})
    assert result.seeds[0] == 7
    assert 30 in result.seeds


def test_a_name_of_one_passage_has_no_node() -> None:
    assert WalkGraph.build(["a"], [["b"]]).names == ()


def test_without_links_the_order_is_that_of_the_scores() -> None:
    lonely = WalkGraph.build(["", "", ""], [[], [], []])
    assert rank_by_walk(lonely, np.array([0.1, 0.9, 0.5])).order.tolist() == [1, 2, 0]


def test_a_title_in_the_question_lifts_its_passage() -> None:
    scores = np.array([0.3, 0, 0, 0.1, 0])
    assert rank_by_walk(graph(), scores).order[0] == 0
    assert rank_by_walk(graph(), scores, {"paris"}).order[0] == 3
    assert rank_by_walk(graph(), scores, {"paris", "tours"}).named == ("paris",)


def test_no_scores_at_all_give_rows_in_order() -> None:
    result = rank_by_walk(graph(), np.zeros(5))
    assert result.order.tolist() == [0, 1, 2, 3, 4]
    assert result.seeds.size == 0


def test_an_empty_graph_ranks_nothing() -> None:
    assert rank_by_walk(WalkGraph.build([], []), np.zeros(0)).order.size == 0


def test_scores_of_another_length_are_refused() -> None:
    with pytest.raises(GraphInputError, match="passages"):
        rank_by_walk(graph(), np.zeros(3))
    with pytest.raises(GraphInputError, match="titles"):
        WalkGraph.build(["a"], [])
    with pytest.raises(GraphInputError, match="titles"):
        WalkGraph.build(["a"], [[]], [[], []])
    with pytest.raises(GraphInputError, match="titles"):
        WalkGraph.build(["a"], [[]], [], [[], []])


def test_a_path_tells_how_a_passage_was_reached() -> None:
    assert explain_path(graph(), 0, [0]) == ("seed 'teutberga'",)
    assert explain_path(graph(), 1, [0]) == ("seed 'teutberga'", "mentions", "'lothair ii'")
    assert explain_path(graph(), 0, [1]) == ("seed 'lothair ii'", "is mentioned in", "'teutberga'")
    assert explain_path(graph(), 4, [2], display=str.title) == (
        "seed 'Ermengarde'", "names", "'Tours'", "is named in", "an untitled passage",
    )  # fmt: skip


def test_an_unreached_passage_has_no_path() -> None:
    assert explain_path(graph(), 3, [0]) == ()


LABELS = st.lists(st.sampled_from("abcdef"), max_size=4)
PASSAGES = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), LABELS), min_size=1, max_size=8)


@given(PASSAGES, st.randoms())
def test_order_of_labels_means_nothing(passages: list[tuple[str, list[str]]], random) -> None:
    titles = [title for title, _ in passages]
    shuffled = [random.sample(labels, len(labels)) for _, labels in passages]
    one = WalkGraph.build(titles, [labels for _, labels in passages])
    other = WalkGraph.build(titles, shuffled)
    for mine, its in zip(
        (one.links, one.mentions, one.homes_of),
        (other.links, other.mentions, other.homes_of),
        strict=True,
    ):
        assert mine.data.tobytes() == its.data.tobytes()
        assert mine.indices.tobytes() == its.indices.tobytes()


@given(PASSAGES)
def test_what_leaves_a_passage_or_a_name_is_one_or_nothing(
    passages: list[tuple[str, list[str]]],
) -> None:
    built = WalkGraph.build([t for t, _ in passages], [labels for _, labels in passages])
    sums = np.asarray(built.transitions.sum(axis=1)).ravel()
    assert ((np.abs(sums - 1) < 1e-5) | (sums == 0)).all()


def test_of_very_many_rows_the_first_are_in_order_and_the_others_behind_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    titles, links = [*"abcdefgh", "", ""], [["b", "c"], ["d"], ["e", "f"], ["g"], ["h"], *[[]] * 5]
    built = WalkGraph.build(titles, links)
    scores = np.array([1.0, 0.4, *[0.0] * 8])
    whole = rank_by_walk(built, scores)
    monkeypatch.setattr(walk, "MOST_ORDERED", 3)
    some = rank_by_walk(built, scores)
    alive = np.count_nonzero(whole.mass)
    assert 3 < alive < len(titles)
    assert some.order[:3].tolist() == whole.order[:3].tolist()
    assert {*some.order[:alive].tolist()} == {*whole.order[:alive].tolist()}
    assert sorted(some.order.tolist()) == [*range(len(titles))]


@given(PASSAGES, st.integers(0, 7))
def test_every_reached_passage_has_a_path_from_a_seed(
    passages: list[tuple[str, list[str]]], seed: int
) -> None:
    built = WalkGraph.build([t for t, _ in passages], [labels for _, labels in passages])
    scores = np.zeros(len(passages))
    scores[seed % len(passages)] = 1.0
    result = rank_by_walk(built, scores, steps=4)
    for row in range(len(passages)):
        assert bool(explain_path(built, row, result.seeds)) == bool(result.mass[row] > 0)
