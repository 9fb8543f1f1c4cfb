"""Two vector spaces in one ranking: what each compares, and what words say across languages."""

from __future__ import annotations

import numpy as np
import pytest

from engine.retrieval.fusion import calibrated_cosine, rank_passages
from engine.storage.vectors.spaces import VectorSpace, space_weights

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


def test_a_second_list_alone_ranks() -> None:
    ranking = rank_passages(None, multilingual=np.array([0.1, 0.3]), multilingual_weight=1.0)
    assert ranking.order.tolist() == [1, 0]
    assert set(ranking.lists) == {"multilingual", "fused"}


def test_a_cosine_is_calibrated_from_the_models_floor() -> None:
    assert calibrated_cosine(0.675, floor=0.35) == pytest.approx(0.5)
    assert calibrated_cosine(0.2, floor=0.35) == 0.0
    assert calibrated_cosine(0.2, floor=0.0) == 0.2
