"""Names of a Chinese question, read in a text under the others of the same thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from engine import KnowledgeEngine
from engine.answering.extractive.chinese.known_as import (
    UNKNOWN,
    KnownAs,
    name_candidates,
    other_name_searches,
)
from engine.retrieval.passages import split_passages
from engine.storage.tokenization import tokens
from engine.types import Passage

_OTHERS = {"刘备": ("刘玄德", "玄德"), "曹操": ("孟德", "曹孟德")}


def test_every_run_of_two_to_eight_characters_may_be_a_name() -> None:
    assert name_candidates("刘备是谁？") == ["刘备", "备是", "是谁", "刘备是", "备是谁", "刘备是谁"]
    assert name_candidates("Who is Tim?") == []


def test_the_longest_name_of_a_question_counts_alone() -> None:
    known = KnownAs.of("刘备军在哪里？", {"刘备": ("玄德",), "刘备军": ("蜀军",)})

    assert known.names == (("刘备军", ("蜀军",)),)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("玄德大喜。", "刘备大喜。", id="other name"),
        pytest.param("刘玄德大喜。", "刘备大喜。", id="longest first"),
        pytest.param("众皆散。备曰：“不可。”", "众皆散。刘备曰：“不可。”", id="given name alone"),
        pytest.param("众欲杀备。", "众欲杀刘备。", id="given name as an object"),
        pytest.param(
            "军中准备粮草，备下酒席。", "军中准备粮草，备下酒席。", id="the same character"
        ),
        pytest.param("刘备曰：“可。”", "刘备曰：“可。”", id="already so"),
    ],
)
def test_a_text_is_read_with_the_names_of_the_question(text: str, read: str) -> None:
    assert KnownAs.of("刘备为什么离开？", _OTHERS).read(text) == read


def test_sentences_hold_the_words_of_the_names_they_mean() -> None:
    passage = Passage(
        document_id="d",
        chunk_id="c",
        title="",
        text="玄德大喜。众人散去。",
        start=0,
        end=10,
        score=1.0,
        relevance=1.0,
    )
    sentences = split_passages([passage])

    named = KnownAs.of("刘备为何大喜？", _OTHERS).named(sentences)

    assert set(tokens("刘备大喜")) <= named[0].terms
    assert named[1] == sentences[1]
    assert UNKNOWN.named(sentences) == sentences


def test_a_question_is_searched_by_the_other_names_too() -> None:
    expander = other_name_searches("曹操在哪？", KnownAs.of("曹操在哪？", _OTHERS))

    assert expander is not None
    texts = [each.keyword for each in expander("曹操在哪？", lambda: ()).expansions]  # type: ignore[arg-type,return-value]
    assert texts == ["曹操在哪？", "孟德 曹孟德在哪？"]
    assert other_name_searches("船在哪？", UNKNOWN) is None


def test_an_answer_is_found_where_the_text_uses_another_name(tmp_path: Path) -> None:
    text = (
        "刘备字玄德，涿县人。\n\n曹操屯兵许都，日夜操练。\n\n"
        "玄德恐遭谋害，就在后园种菜，以为韬晦之计。\n\n关羽守下邳。"
    )
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        engine.add([Document(id_="novel", text=text, metadata={"title": "演义"})])
        answer = engine.ask("刘备种菜是为了什么？")

    assert "韬晦之计" in answer.text
