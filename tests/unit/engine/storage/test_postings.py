"""Counts of tokens in blocks give the BM25 of one index built afresh."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage.postings import K1, B, FieldPostings, PostingBlock

KEY = b"a key"
PASSAGES = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), min_size=1, max_size=9)


def fresh(passages: Sequence[Sequence[str]]) -> FieldPostings:
    block = PostingBlock.build([" ".join(passage) for passage in passages], key=KEY)
    return FieldPostings((block,), (np.arange(len(passages)),), len(passages), KEY)


def everything(count: int) -> np.ndarray:
    return np.ones(count, dtype=np.bool_)


@given(passages=PASSAGES, question=st.lists(st.sampled_from("abcdefgh"), max_size=5))
def test_scores_are_those_of_another_implementation(
    passages: list[list[str]], question: list[str]
) -> None:
    found = fresh(passages).scores(question, seen=everything(len(passages)))
    if not any(passages):
        assert not found.any()
        return
    other = bm25s.BM25(k1=K1, b=B)
    other.index(passages, show_progress=False, create_empty_token=False)
    known = [token for token in question if token in other.vocab_dict]
    expected = other.get_scores(known) if known else np.zeros(len(passages))
    assert found == pytest.approx(np.asarray(expected), abs=1e-5)


@given(before=PASSAGES, added=PASSAGES, data=st.data())
def test_a_base_with_what_came_and_went_scores_like_a_fresh_index(
    before: list[list[str]], added: list[list[str]], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.integers(0, len(before) - 1)))
    rows = [(0, row) for row in range(len(before)) if row not in gone]
    rows += [(1, row) for row in range(len(added))]
    order = data.draw(st.permutations(rows))
    places = [np.full(len(some), -1) for some in (before, added)]
    for place, (block, row) in enumerate(order):
        places[block][row] = place
    blocks = [PostingBlock.build([" ".join(p) for p in some], key=KEY) for some in (before, added)]
    changed = FieldPostings(tuple(blocks), tuple(places), len(order), KEY)
    whole = fresh([(before, added)[block][row] for block, row in order])
    seen = everything(len(order))
    for token in "abcdefgh":
        assert changed.scores([token], seen=seen).tolist() == (
            whole.scores([token], seen=seen).tolist()
        )
        assert changed.frequency(token, seen=seen) == whole.frequency(token, seen=seen)


def test_files_give_the_counts_back_and_hold_no_word(tmp_path: Path) -> None:
    block = PostingBlock.build(["lantern cable lantern", "cable"], key=KEY)
    block.save(tmp_path / "body")
    field = FieldPostings((PostingBlock.load(tmp_path / "body"),), (np.arange(2),), 2, KEY)
    seen = everything(2)
    whole = FieldPostings((block,), (np.arange(2),), 2, KEY)
    assert (
        field.scores(["lantern"], seen=seen).tolist()
        == whole.scores(["lantern"], seen=seen).tolist()
    )
    assert field.scores(["lantern"], seen=seen)[0] > 0
    for file in (tmp_path / "body").iterdir():
        assert b"lantern" not in file.read_bytes()


def test_a_token_is_as_rare_as_among_the_counted_rows() -> None:
    field = fresh([["x", "y"], ["x"], ["y"], ["z"]])
    counted = np.array([True, True, False, False])
    among = field.scores(["x"], seen=counted)
    assert among[0] < field.scores(["x"], seen=everything(4))[0]
    assert field.frequency("y", seen=counted) == 1
