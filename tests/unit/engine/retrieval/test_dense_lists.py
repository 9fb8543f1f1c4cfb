"""Two vector spaces in one ranking: what each compares, and what words say across languages."""

from __future__ import annotations

import numpy as np
import pytest

from engine.retrieval.fusion import calibrated_cosine, rank_passages
from engine.storage.vectors.spaces import VectorSpace, beside_weight, space_weights

UNUSED = {"open_index": None, "dense": None, "embed_model": None}
ENGLISH = VectorSpace(**UNUSED, identity="en", english_only=True)
SECOND = VectorSpace(**UNUSED, identity="multi")
HASHED = VectorSpace(**UNUSED, identity="tfidf", worth=0.5)


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        pytest.param(1.0, [1.0, 0.0, 0.5], [0.0, 1.0, 0.5], id="an English question"),
        pytest.param(0.0, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], id="a Chinese question"),
        pytest.param(0.5, [0.5, 0.0, 0.25], [0.5, 1.0, 0.75], id="one of both"),
    ],
)
def test_the_second_space_gets_what_the_first_leaves(
    question: float, first: list[float], second: list[float]
) -> None:
    """Of an English passage, a Chinese one, and one that is half English."""
    weights = space_weights([ENGLISH, SECOND], question, np.array([1.0, 0.0, 0.5]))
    assert [weight.tolist() for weight in weights] == [first, second]


def test_the_second_space_stands_beside_an_english_one_alone() -> None:
    first = np.array([1.0, 0.0])
    assert np.asarray(beside_weight([ENGLISH, SECOND], first)).tolist() == [0.7, 0.0]
    assert beside_weight([SECOND, SECOND], first) == 0.0
    assert beside_weight([ENGLISH], first) == 0.0


def test_a_second_opinion_is_compared_over_the_rows_that_the_first_model_reads() -> None:
    """A Chinese passage that is nearer changes nothing of the order of two English ones."""
    ranking = rank_passages(
        None,
        dense=np.array([0.70, 0.69, 0.0]),
        dense_weight=np.array([1.0, 1.0, 0.0]),
        multilingual=np.array([0.80, 0.84, 0.95]),
        multilingual_weight=np.array([0.0, 0.0, 1.0]),
        beside_weight=np.array([0.7, 0.7, 0.0]),
        apart=np.array([0.0, 0.0, 1.0]),
    )
    assert ranking.lists["beside"].tolist() == [0.80, 0.84, 0.80]
    assert ranking.order.tolist() == [2, 0, 1]


def test_a_space_alone_reads_everything_by_its_worth() -> None:
    assert space_weights([SECOND], 0.0, np.array([0.0, 1.0]))[0].tolist() == [1.0, 1.0]
    assert space_weights([HASHED], 0.0, np.array([0.0, 1.0]))[0].tolist() == [0.25, 0.25]
    assert space_weights([], 0.0, np.array([0.0, 1.0])) == []


def test_only_what_a_model_reads_is_embedded() -> None:
    assert [ENGLISH.reads(share) for share in (0.0, 0.1, 1.0)] == [False, True, True]
    assert SECOND.reads(0.0)


def test_across_languages_words_count_where_they_are_found_and_little_where_not() -> None:
    """A passage that shares a name outranks one that is merely a little nearer."""
    ranking = rank_passages(
        np.array([0.0, 5.0, 0.0]),
        multilingual=np.array([0.30, 0.25, 0.05]),
        multilingual_weight=1.0,
        apart=1.0,
    )
    assert ranking.order.tolist() == [1, 0, 2]
    assert ranking.scores[0] == pytest.approx(1 / 1.25)


def test_a_passage_in_another_language_outranks_one_that_is_hardly_nearer() -> None:
    """Alone, where nothing competes in the question's language, the factor changes no order."""
    cosines, apart = np.array([0.50, 0.45, 0.10]), np.array([0.0, 1.0, 1.0])
    mixed = rank_passages(None, multilingual=cosines, multilingual_weight=1.0, apart=apart)
    assert mixed.order.tolist() == [1, 0, 2]
    alone = rank_passages(None, multilingual=cosines, multilingual_weight=1.0, apart=1.0)
    assert alone.order.tolist() == [0, 1, 2]


def test_in_one_language_a_passage_without_the_words_loses_half() -> None:
    ranking = rank_passages(
        np.array([0.0, 5.0]), multilingual=np.array([0.3, 0.1]), multilingual_weight=1.0
    )
    assert ranking.scores.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("reachable", "first"),
    [
        pytest.param(5.0, [1, 0], id="the words say what is asked"),
        pytest.param(10.0, [0, 1], id="they say half of it"),
        pytest.param(0.0, [1, 0], id="not known"),
    ],
)
def test_words_count_less_where_none_says_what_is_asked(reachable: float, first: list[int]) -> None:
    """The nearest of two passages by words is the second one, by vectors the first."""
    ranking = rank_passages(
        np.array([1.0, 5.0, 0.0]),
        dense=np.array([0.7, 0.6, 0.5]),
        reachable=reachable,
    )
    assert ranking.order[:2].tolist() == first


def test_words_count_as_much_as_all_vectors() -> None:
    ranking = rank_passages(
        np.array([0.0, 5.0, 0.0]),
        dense=np.array([0.7, 0.5, 0.5]),
        multilingual=np.array([0.9, 0.8, 0.8]),
        multilingual_weight=0.0,
        beside_weight=0.7,
        reachable=5.0,
    )
    assert ranking.scores[:2].tolist() == pytest.approx([0.5, 0.5])


def test_by_ranks_each_model_has_one_vote() -> None:
    """A mixed library has a list of the second model over all rows; that alone counts."""
    lists = {
        fusion: rank_passages(
            np.array([1.0, 2.0, 0.0]),
            dense=np.array([0.7, 0.6, 0.0]),
            dense_weight=np.array([1.0, 1.0, 0.0]),
            multilingual=np.array([0.8, 0.9, 0.7]),
            multilingual_weight=np.array([0.0, 0.0, 1.0]),
            beside_weight=np.array([0.7, 0.7, 0.0]),
            fusion=fusion,
        ).lists
        for fusion in ("rrf", "score")
    }
    assert set(lists["score"]) - set(lists["rrf"]) == {"beside"}
    english = rank_passages(
        None, dense=np.array([0.7]), multilingual=np.array([0.8]), multilingual_weight=0.0,
        beside_weight=0.7, fusion="rrf",
    )  # fmt: skip
    assert "beside" in english.lists


def test_a_second_list_alone_ranks() -> None:
    ranking = rank_passages(None, multilingual=np.array([0.1, 0.3]), multilingual_weight=1.0)
    assert ranking.order.tolist() == [1, 0]
    assert set(ranking.lists) == {"multilingual", "fused"}


def test_a_cosine_is_calibrated_from_the_models_floor() -> None:
    assert calibrated_cosine(0.675, floor=0.35) == pytest.approx(0.5)
    assert calibrated_cosine(0.2, floor=0.35) == 0.0
    assert calibrated_cosine(0.2, floor=0.0) == 0.2
