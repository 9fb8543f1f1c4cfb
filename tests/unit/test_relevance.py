"""Relevance: calibrated, bounded, and moved by what speaks for a passage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.retrieve.relevance import Evidence, coverage, question_tokens, relevance
from engine.retrieve.tokens import tokens

SHARES = st.floats(0, 1)
EVIDENCES = st.builds(
    Evidence,
    covered=SHARES,
    share=SHARES,
    cosine=st.none() | st.floats(-1, 1),
    readable=SHARES,
    names=st.none() | SHARES,
)
FREQUENCIES = {"queen": 3, "lotharingia": 1, "marri": 5}


def covered(question: str, *passages: str) -> list[float]:
    return coverage(
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


@given(st.lists(EVIDENCES, max_size=6))
def test_relevance_is_a_probability_for_each_passage(evidences: list[Evidence]) -> None:
    judged = relevance(evidences)
    assert len(judged) == len(evidences)
    assert all(0 <= p <= 1 for p in judged)


@given(EVIDENCES, st.sampled_from(["covered", "share", "cosine", "names"]))
def test_more_evidence_never_lowers_relevance(evidence: Evidence, field: str) -> None:
    weaker = replace(evidence, **{field: 0.0})
    stronger = replace(evidence, **{field: 1.0})
    assert relevance([weaker]) <= relevance([stronger])


@given(st.lists(EVIDENCES, min_size=2, max_size=6))
def test_the_order_of_the_list_means_nothing(evidences: list[Evidence]) -> None:
    assert relevance(evidences[::-1])[::-1] == pytest.approx(relevance(evidences))


@pytest.mark.parametrize("cosine", [0.75, None])
def test_a_good_passage_is_above_and_a_chance_hit_below_the_threshold(
    cosine: float | None,
) -> None:
    good = Evidence(covered=0.9, share=1.0, cosine=cosine, names=1.0)
    chance = Evidence(covered=0.15, share=1.0, cosine=None if cosine is None else 0.2, names=0.0)
    assert relevance([good])[0] > 0.6
    assert relevance([chance])[0] < 0.2


def test_chinese_needs_no_cosine() -> None:
    unread = Evidence(covered=0.8, share=1.0, cosine=0.9, readable=0.0)
    assert relevance([unread]) == relevance([replace(unread, cosine=None)])
    assert relevance([unread])[0] > 0.5
