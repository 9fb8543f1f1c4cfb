"""Relevance: calibrated, bounded, and moved by what speaks for a passage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.fusion import (
    RelevanceFeatures,
    question_tokens,
    relevance_probability,
    token_coverage,
)
from engine.storage.tokenization import tokens

SHARES = st.floats(0, 1)
EVIDENCES = st.builds(
    RelevanceFeatures,
    covered=SHARES,
    share=SHARES,
    cosine=st.none() | st.floats(-1, 1),
    readable=SHARES,
    names=st.none() | SHARES,
)
FREQUENCIES = {"queen": 3, "lotharingia": 1, "marri": 5}


def covered(question: str, *passages: str) -> list[float]:
    return token_coverage(
        question_tokens(question),
        [tokens(passage) for passage in passages],
        document_frequency=lambda token: FREQUENCIES.get(token, 0),
        passage_count=10,
    ).tolist()


def test_a_passage_with_all_words_of_the_question_covers_it() -> None:
    assert covered("Who was the queen of Lotharingia?", "a queen of Lotharingia") == [1.0]


def test_rare_words_weigh_more() -> None:
    rare, common = covered("queen of Lotharingia", "in Lotharingia", "a queen")
    assert 0 < common < rare < 1


def test_a_word_that_no_passage_has_weighs_most() -> None:
    known, unknown = covered("queen Zorblax", "a queen"), covered("queen Lotharingia", "a queen")
    assert known < unknown


@pytest.mark.parametrize("question", ["", "?", "who is it", "什么吗？"])
def test_a_question_without_content_is_covered_by_nothing(question: str) -> None:
    assert covered(question, "anything", "什么都有") == [0.0, 0.0]


def test_asking_words_of_chinese_do_not_count() -> None:
    assert question_tokens("锣鼓经是什么？") == question_tokens("锣鼓经") == ["锣鼓", "鼓经"]
    assert "哪两" not in question_tokens("由哪两个公司开发的？")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        pytest.param("雷电的锣鼓", ["雷电", "锣鼓"], id="a pair across 的"),
        pytest.param("他是在1998年被捕的", ["1998"], id="what is left alone"),
        pytest.param("是的", ["是的"], id="nothing else"),
        pytest.param("Who wrote 红楼梦的续书", ["wrote", "红楼", "楼梦", "续书"], id="mixed"),
    ],
)
def test_characters_that_bind_words_make_no_words(question: str, words: list[str]) -> None:
    assert sorted(question_tokens(question)) == sorted(words)


@pytest.mark.parametrize(
    ("passage", "share"),
    [
        pytest.param("记录了高水位", 1.0, id="as asked"),
        pytest.param("水位很高", 0.75, id="in another order"),
        pytest.param("水的高度、位置", 0.5, id="apart"),
        pytest.param("高度和水", 0.25, id="one pair of two, apart"),
        pytest.param("一座灯塔", 0.0, id="not at all"),
        pytest.param("high water", 0.0, id="in another language"),
    ],
)
def test_a_chinese_word_whose_characters_stand_scattered_counts_in_part(
    passage: str, share: float
) -> None:
    assert covered("高水位", passage) == [pytest.approx(share)]


def test_scattered_letters_do_not_count() -> None:
    assert covered("Lotharingia", "l o t h a r i n g i a") == [0.0]


@given(st.lists(EVIDENCES, max_size=6))
def test_relevance_is_a_probability_for_each_passage(evidences: list[RelevanceFeatures]) -> None:
    judged = relevance_probability(evidences)
    assert len(judged) == len(evidences)
    assert all(0 <= p <= 1 for p in judged)


@given(EVIDENCES, st.sampled_from(["covered", "share", "cosine", "names"]))
def test_more_evidence_never_lowers_relevance(evidence: RelevanceFeatures, field: str) -> None:
    weaker = replace(evidence, **{field: 0.0})
    stronger = replace(evidence, **{field: 1.0})
    assert relevance_probability([weaker]) <= relevance_probability([stronger])


@given(st.lists(EVIDENCES, min_size=2, max_size=6))
def test_the_order_of_the_list_means_nothing(evidences: list[RelevanceFeatures]) -> None:
    assert relevance_probability(evidences[::-1])[::-1] == pytest.approx(
        relevance_probability(evidences)
    )


@pytest.mark.parametrize("cosine", [0.75, None])
def test_a_good_passage_is_above_and_a_chance_hit_below_the_threshold(
    cosine: float | None,
) -> None:
    good = RelevanceFeatures(covered=0.9, share=1.0, cosine=cosine, names=1.0)
    chance = RelevanceFeatures(
        covered=0.15, share=1.0, cosine=None if cosine is None else 0.2, names=0.0
    )
    assert relevance_probability([good])[0] > 0.6
    assert relevance_probability([chance])[0] < 0.2


def test_chinese_needs_no_cosine() -> None:
    unread = RelevanceFeatures(covered=0.8, share=1.0, cosine=0.9, readable=0.0)
    assert relevance_probability([unread]) == relevance_probability([replace(unread, cosine=None)])
    assert relevance_probability([unread])[0] > 0.5
