"""Things that have several names, as one word of BM25."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage.bm25_index import (
    NAME_WEIGHT,
    Scores,
    alias_bm25_scores,
    drop_supersets,
)
from engine.storage.postings import Count, FieldPostings, PostingBlock, idf

WORDS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=8)


def postings_of(passages: Sequence[Sequence[str]]) -> Count:
    block = PostingBlock.build([" ".join(passage) for passage in passages], key=b"k")
    return FieldPostings((block,), (np.arange(len(passages)),), len(passages), b"k").occurrences


def plain(passages: Sequence[Sequence[str]], token: str) -> Scores:
    rows, often = postings_of(passages)(token)
    whole = np.zeros(len(passages), np.float32)
    whole[rows] = idf(rows.size, len(passages)) * often / (1 + often)
    return whole


def test_two_names_count_like_one_word_written_for_both() -> None:
    passages = [["x", "one", "y"], ["two", "two", "y"], ["x", "y"], ["x", "two", "one"]]
    same = [["name" if w in {"one", "two"} else w for w in passage] for passage in passages]
    found = alias_bm25_scores([["one"], ["two"]], postings_of(passages), count=len(passages))
    assert found == pytest.approx(NAME_WEIGHT * plain(same, "name"), rel=1e-4)


def test_a_name_of_two_words_stands_only_where_both_do() -> None:
    passages = [["ada", "brine"], ["ada"], ["brine"], ["other"]]
    found = alias_bm25_scores([["ada", "brine"]], postings_of(passages), count=len(passages))
    assert (found > 0).tolist() == [True, False, False, False]


def test_a_name_that_no_passage_has_adds_nothing() -> None:
    passages = [["ada"], ["other"]]
    both = alias_bm25_scores([["ada"], ["nobody"]], postings_of(passages), count=2)
    assert both == pytest.approx(alias_bm25_scores([["ada"]], postings_of(passages), count=2))
    assert alias_bm25_scores([["nobody"], []], postings_of(passages), count=2).tolist() == [
        0.0,
        0.0,
    ]


@given(WORDS, st.permutations(["a", "b", "c"]))
def test_the_order_of_names_changes_nothing(passages: list[list[str]], names: list[str]) -> None:
    filled = [["z", *passage] for passage in passages]
    found = alias_bm25_scores([[n] for n in names], postings_of(filled), count=len(filled))
    ordered = alias_bm25_scores(
        [[n] for n in sorted(names)], postings_of(filled), count=len(filled)
    )
    assert found == pytest.approx(ordered)
    has_one = [bool({"a", "b", "c"} & set(passage)) for passage in passages]
    assert has_one == (found > 0).tolist()


def test_a_name_inside_another_says_where_both_stand() -> None:
    assert drop_supersets(["刘玄德", "玄德", "刘备"]) == ["刘备", "玄德"]
    assert drop_supersets(["b", "a"]) == ["a", "b"]


def test_what_few_passages_hold_weighs_more() -> None:
    weights = [idf(held, 10) for held in range(11)]
    assert sorted(weights, reverse=True) == weights
    assert min(weights) > 0
