"""Chinese sentences with what adjoins them."""

from __future__ import annotations

import pytest

from engine.answering.extractive.blocks import count_words
from engine.answering.extractive.sentence_scoring import ScoredSentence
from engine.answering.extractive.sentence_selection import (
    ADJOINING_WORDS,
    is_title,
    join_adjoining,
    with_adjoining,
)
from engine.retrieval.passages import split_passages
from engine.types import Passage

_TEXT = "第一版由甲撰写。之后由乙维护。目前由丙维护。\n\n# 另一节\n\n此外没有别人。"


def _passage(text: str) -> Passage:
    return Passage(
        document_id="d.md",
        chunk_id="c",
        title="",
        text=text,
        start=0,
        end=len(text),
        score=1.0,
        relevance=1.0,
    )


def _weighed(passage: Passage) -> list[ScoredSentence]:
    return [
        ScoredSentence(sentence=each, score=0.0, kind=0.0, covered=0.0, hop=None)
        for each in split_passages([passage])
    ]


def test_what_follows_in_the_section_stands_behind_the_first_sentence() -> None:
    passage = _passage(_TEXT)
    weighed = _weighed(passage)

    rows = with_adjoining([1, 0], weighed, [passage])
    joined = join_adjoining([weighed[row].sentence for row in rows], [passage])

    assert rows == [1, 2, 0]
    assert [each.text for each in joined] == ["之后由乙维护。目前由丙维护。", "第一版由甲撰写。"]
    assert all(passage.text[each.start : each.end] == each.text for each in joined)


def test_a_sentence_goes_on_no_longer_than_the_limit() -> None:
    passage = _passage("海风吹着灯塔，船在港里停着不动。" * 30)
    weighed = _weighed(passage)

    rows = with_adjoining([0], weighed, [passage])

    assert len(rows) > 1
    assert count_words(passage.text[: weighed[rows[-1]].sentence.end]) <= ADJOINING_WORDS


def test_english_sentences_stay_apart() -> None:
    passage = _passage("The first is here. The second is there.")
    sentences = split_passages([passage])

    assert join_adjoining(sentences, [passage]) == sentences


@pytest.mark.parametrize("text", ["第九回 除暴凶吕布助司徒", "设置系统"])
def test_a_line_without_a_mark_is_a_title(text: str) -> None:
    assert is_title(text)


@pytest.mark.parametrize("text", ["玄德大喜。", "- 每天运行", "The lighthouse", "编号 12"])
def test_sentences_items_and_figures_are_no_titles(text: str) -> None:
    assert not is_title(text)
