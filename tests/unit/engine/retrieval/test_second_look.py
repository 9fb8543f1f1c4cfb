"""The second look: what the first passages leave open, links between them, relations asked."""

from __future__ import annotations

import numpy as np
import pytest

from engine.retrieval.second_look import (
    links_between,
    relation_words,
    relations_asked,
    second_look,
)
from engine.storage.graph_api import WalkGraph
from engine.storage.tokenization import tokens

TITLES = ("film", "director", "sequel", "actor", "")
LABELS = (
    {"director", "actor", "studio"},
    {"film"},
    {"film", "studio"},
    {"film"},
    {"elsewhere"},
)


def graph() -> WalkGraph:
    return WalkGraph.build(TITLES, LABELS)


def test_a_passage_is_linked_to_the_homes_of_its_names_and_by_names_that_few_have() -> None:
    found = links_between(graph(), [0, 1, 2, 4], {"film"}, in_long_document=[False] * 4)
    assert found.closeness[0, 1] == 1.0  # the film's passage led to its director
    assert found.closeness[0, 2] == pytest.approx(1 / np.sqrt(np.log(np.e + 2)))  # the studio
    assert found.closeness[1, 2] == 0.0  # both only have the name that is asked about
    assert not found.closeness[3].any()
    assert np.array_equal(found.closeness, found.closeness.T)
    assert set(found.mentions) == {(0, 1, "director"), (1, 0, "film"), (2, 0, "film")}


def test_passages_under_one_title_are_one_thing() -> None:
    parts = WalkGraph.build(("a", "a", "b"), ({"b", "x"}, {"b", "x"}, {"x"}))
    found = links_between(parts, [0, 1, 2], (), in_long_document=[False] * 3)
    assert found.closeness[0, 1] == 0.0
    assert found.closeness[0, 2] == found.closeness[1, 2] == 1.0


def test_common_names_link_nothing_in_a_long_document_but_homes_do() -> None:
    rows, long = [0, 1, 2], [True, False, False]
    found = links_between(graph(), rows, {"film"}, in_long_document=long)
    assert found.closeness[0, 1] == 1.0
    assert found.closeness[0, 2] == 0.5  # the film that is asked about, but not the studio


def test_the_relation_words_of_a_question_are_those_outside_of_its_names() -> None:
    question = "When was the director of Grey Harbour born?"
    words = ["director", "grey", "harbour", "born"]
    found = relation_words(question, words, [2.0, 9.0, 9.0, 1.0])
    assert found["director"] == found["direct"] == 1.0
    assert found["born"] == 0.5
    assert not {"grey", "harbour"} & found.keys()


def test_without_words_there_is_no_relation() -> None:
    assert relation_words("Ada?", [], []) == {}
    assert relation_words("what then", ["then"], [0.0]) == {}


def test_a_name_counts_by_its_nearness_to_the_relation_asked() -> None:
    text = tokens(
        "The film was directed by Ivo Sandgren and photographed in the harbour; Mara Quist stars."
    )
    names = {"ivo": [tokens("Ivo Sandgren")], "mara": [tokens("Mara Quist")]}
    words = relation_words("Who directed it?", ["direct"], [1.0])
    found = relations_asked([(0, 1, "ivo"), (0, 2, "mara")], [text, [], []], names, words)
    assert found[0, 1] == 1.0
    assert found[0, 2] < 0.5
    assert np.count_nonzero(found) == np.count_nonzero(found[0])


def order_of(held: list[list[float]], closeness: object, relations: object) -> list[int]:
    return second_look(
        np.array([3, 0, 1, 2]),
        np.array([0.3, 0.2, 0.1, 0.5]),
        closeness=np.array(closeness, dtype=float),
        relations=np.array(relations, dtype=float),
        held=np.array(held, dtype=float),
        weights=[1.0, 1.0],
    ).tolist()


NONE = np.zeros((3, 3))
ALL = np.ones((3, 3)) - np.eye(3)


def test_a_linked_passage_that_answers_what_is_open_comes_before_siblings() -> None:
    assert order_of([[1, 0], [1, 0], [0, 1]], ALL, NONE) == [3, 1, 0, 2]


def test_what_is_not_linked_or_answered_already_moves_nothing() -> None:
    assert order_of([[1, 0], [1, 0], [0, 1]], NONE, NONE) == [3, 0, 1, 2]
    assert order_of([[1, 1], [1, 0], [0, 1]], ALL, NONE) == [3, 0, 1, 2]


def test_the_name_beside_the_relation_asked_comes_before_other_names() -> None:
    relations = np.zeros((3, 3))
    relations[0, 2] = 1.0
    assert order_of([[1, 1], [1, 1], [1, 1]], ALL, relations) == [3, 1, 0, 2]


def test_few_passages_and_no_words_keep_their_order() -> None:
    order = np.array([1, 0])
    two = np.zeros((2, 2))
    assert second_look(
        order, np.ones(2), closeness=two, relations=two, held=two, weights=[1, 1]
    ).tolist() == [1, 0]
    none = np.zeros((3, 0))
    three = np.array([2, 0, 1])
    assert second_look(
        three, np.ones(3), closeness=ALL, relations=NONE, held=none, weights=[]
    ).tolist() == [2, 0, 1]
