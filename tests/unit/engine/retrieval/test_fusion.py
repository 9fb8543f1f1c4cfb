"""Score lists made into one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.retrieval.fusion import (
    found_scores,
    rank_passages,
    reciprocal_rank_fusion,
    rescale,
    score_fusion,
)

SCORES = arrays.arrays(
    np.float64, st.just(12), elements=st.floats(-10, 10, allow_nan=False, width=32)
)


@given(SCORES)
def test_rescaled_scores_lie_between_nil_and_one_and_keep_their_order(scores: np.ndarray) -> None:
    scaled = rescale(scores, 5)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    best_first = scaled[np.argsort(-scores, kind="stable")]
    assert (np.diff(best_first) <= 0).all()


def test_the_score_at_the_rank_is_nil() -> None:
    assert rescale([5.0, 3.0, 1.0, 0.0], 3).tolist() == [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.0, 0.0], [0.0, 0.0], id="nothing found"),
        pytest.param([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], id="all alike"),
        pytest.param([2.0], [1.0], id="a single passage"),
        pytest.param([2.0] * 101 + [1.0, 0.0], [1.0] * 101 + [0.0] * 2, id="as many as the rank"),
    ],
)
def test_equal_scores_are_all_or_nothing(scores: list[float], expected: list[float]) -> None:
    assert rescale(scores).tolist() == expected


@given(st.lists(SCORES, min_size=1, max_size=4), st.randoms())
def test_rrf_ignores_the_order_of_lists(lists: list[np.ndarray], random) -> None:
    shuffled = random.sample(lists, len(lists))
    assert reciprocal_rank_fusion(lists).tolist() == reciprocal_rank_fusion(shuffled).tolist()


def test_rrf_is_the_sum_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([[3.0, 1.0, 0.0], [0.2, 0.2, -0.1]], k=60)
    np.testing.assert_allclose(fused, [1 / 61 + 1 / 61, 1 / 62 + 1 / 61, 0.0])


def test_rrf_of_nothing_is_nothing() -> None:
    assert reciprocal_rank_fusion([]).size == 0


def test_a_list_without_weight_changes_nothing() -> None:
    keyword, dense = [4.0, 2.0, 0.0], [0.1, 0.2, 0.9]
    assert score_fusion([keyword, dense], [1.0, 0.0]).tolist() == rescale(keyword).tolist()


def test_fused_scores_are_the_mean_of_both() -> None:
    assert score_fusion([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]], [1.0, 1.0]).tolist() == [0.5, 0.5, 0.5]


@given(st.lists(SCORES, min_size=1, max_size=3), st.data())
def test_a_fused_score_is_the_weighted_mean_of_the_rescaled_lists_at_each_row(
    lists: list[np.ndarray], data: st.DataObject
) -> None:
    weights = [np.abs(data.draw(SCORES)) for _ in lists]
    total = np.sum(weights, axis=0)
    summed = np.sum([w * rescale(s, 5) for s, w in zip(lists, weights, strict=True)], axis=0)
    expected = np.divide(summed, total, out=np.zeros(12), where=total > 0)
    np.testing.assert_allclose(score_fusion(lists, weights, rank=5), expected)


def test_dense_counts_only_for_passages_that_the_encoder_reads() -> None:
    keyword = [4.0, 2.0, 0.0]
    ranking = rank_passages(keyword, dense=[0.1, 0.3, 0.9], dense_weight=np.array([1.0, 1.0, 0.0]))
    assert ranking.lists["dense"].tolist() == [0.1, 0.3, 0.1]
    assert ranking.scores[2] == 0.0


def test_a_blind_encoder_leaves_the_keyword_order() -> None:
    ranking = rank_passages([1.0, 3.0, 2.0], dense=[0.9, 0.1, 0.5], dense_weight=0.0)
    assert ranking.order.tolist() == [1, 2, 0]
    assert sorted(ranking.lists) == ["fused", "keyword"]


@pytest.mark.parametrize("fusion", ["score", "rrf"])
def test_the_title_counts_beside_the_body(fusion: str) -> None:
    ranking = rank_passages([1.0, 1.0], [0.0, 2.0], fusion=fusion)
    assert ranking.order.tolist() == [1, 0]


@given(SCORES, SCORES, st.sampled_from(["score", "rrf"]))
def test_order_and_scores_agree(keyword: np.ndarray, dense: np.ndarray, fusion: str) -> None:
    ranking = rank_passages(np.abs(keyword), dense=dense, fusion=fusion)
    assert sorted(ranking.order.tolist()) == list(range(12))
    assert (np.diff(ranking.scores[ranking.order]) <= 0).all()


def test_the_walk_gets_fused_scores_and_has_the_last_word() -> None:
    fused = rank_passages([4.0, 2.0, 0.0])
    assert fused.scores.tolist() == [1.0, 0.5, 0.0]
    backwards = SimpleNamespace(
        seeds=np.zeros(0, dtype=np.int64),
        mass=fused.scores[::-1].astype(np.float32),
        order=np.array([2, 1, 0]),
    )
    ranking = fused.walked(backwards)
    assert ranking.order.tolist() == [2, 1, 0]
    assert ranking.lists["walk"].tolist() == ranking.scores.tolist() == [0.0, 0.5, 1.0]


def test_an_empty_corpus_has_an_empty_ranking() -> None:
    assert rank_passages([], dense=[]).order.size == 0
    assert rank_passages(None).order.size == 0


@given(SCORES, st.integers(1, 14))
def test_the_floor_is_the_score_at_the_rank_or_the_lowest(scores: np.ndarray, rank: int) -> None:
    sparse = np.where(scores > 0, scores, 0.0)  # many equals, as of a list that found little
    descending = np.sort(sparse)[::-1]
    floor, top = descending[min(rank, 12) - 1], descending[0]
    if top > floor:
        expected = np.clip((sparse - floor) / (top - floor), 0, 1)
        np.testing.assert_allclose(rescale(sparse, rank), expected)


@given(st.lists(SCORES, min_size=1, max_size=4))
def test_rrf_with_equal_weights_has_the_order_of_rrf(lists: list[np.ndarray]) -> None:
    weighted = reciprocal_rank_fusion(lists, [2.0] * len(lists))
    np.testing.assert_allclose(weighted, 2 * reciprocal_rank_fusion(lists))


def test_a_list_that_finds_few_scores_those_alone() -> None:
    assert found_scores([3, 1], [0.9, 0.4], count=5).tolist() == [0, 0.5, 0, 1, 0]
    assert found_scores([3, 1], [None, 0.4], count=4).tolist() == [0, 0.5, 0, 1]
    assert found_scores([2, 0], [7.0, 7.0], count=3).tolist() == [1, 0, 1]
    assert found_scores([2, 2], [7.0, 1.0], count=3).tolist() == [0, 0, 1]
    assert found_scores([], [], count=2).tolist() == [0, 0]


@pytest.mark.parametrize("fusion", ["weighted_score", "weighted_rrf"])
def test_weights_decide_where_lists_disagree(fusion: str) -> None:
    keyword, dense = [3.0, 2.0, 1.0], [0.1, 0.2, 0.3]
    by = {
        name: rank_passages(
            keyword, dense=dense, fusion=fusion, weights={"keyword": 1.0, "dense": 1.0, name: 5.0}
        ).order.tolist()
        for name in ("keyword", "dense")
    }
    assert by == {"keyword": [0, 1, 2], "dense": [2, 1, 0]}


@pytest.mark.parametrize("fusion", ["score", "rrf"])
def test_without_weighting_every_list_counts_alike(fusion: str) -> None:
    keyword, dense = [3.0, 2.0, 0.0], [0.0, 0.2, 0.9]
    plain = rank_passages(keyword, dense=dense, fusion=fusion)
    weighted = rank_passages(keyword, dense=dense, fusion=fusion, weights={"dense": 9.0})
    assert plain.scores.tolist() == weighted.scores.tolist()


def test_a_further_list_takes_part_and_is_shown() -> None:
    ranking = rank_passages([1.0, 1.0, 0.5], further={"mine": [0.0, 1.0, 0.0]})
    assert ranking.order.tolist()[0] == 1
    assert ranking.lists["mine"].tolist() == [0.0, 1.0, 0.0]


def test_age_counts_before_the_walk() -> None:
    assert rank_passages([2.0, 1.0, 0.0], decay=[0.25, 1.0, 1.0]).scores.tolist() == [0.25, 0.5, 0]
