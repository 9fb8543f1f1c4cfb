"""Expressions that read documents' and models' texts look at each character a few times alone."""

from __future__ import annotations

import re

import pytest
from expressions import TooLong, no_longer_than

from engine import prompts as orders
from engine.answering import packing as marks
from engine.answering.extractive import answer_spans as spans
from engine.answering.extractive import comparison as sides
from engine.answering.extractive import question_type as asked
from engine.verification import claims
from engine.verification import entities_and_numbers as figures
from engine.verification import llm_judge as in_language
from engine.verification import pipeline as citations
from graph.extraction import english
from graph.extraction.llm import parsing as model_values
from graph.extraction.llm import prompts as model_schema
from graph.resolution import name_parsing as name_parts
from graph.text import names

SIZE = 8_000
SECONDS = 0.4
"""Linear time takes a hundredth of it, quadratic time more."""


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(names._BRACKETS, " " * SIZE, id="spaces before brackets of names"),
        pytest.param(names._NUMBER_BEFORE, "二" * SIZE, id="numbers before names"),
        pytest.param(name_parts._NUMBER, "三" * SIZE, id="numbers in names"),
        pytest.param(english._ENDS_WITH_ITS_DOT, "A." * (SIZE // 2) + "x", id="initials"),
        pytest.param(model_schema._DASH, " " * SIZE, id="spaces before dashes"),
        pytest.param(model_values._OF, "1" * SIZE, id="digits of a share"),
        pytest.param(claims._BULLET, "\t" * SIZE + "\x00", id="tabs before bullets"),
        pytest.param(
            claims._SOURCES_LIST, "\nSources:\n" + "\n" * SIZE + "\x00", id="lines below sources"
        ),
        pytest.param(figures._CODE, "." * SIZE, id="dots of codes"),
        pytest.param(in_language._QUOTED, "《" * SIZE, id="titles that open"),
        pytest.param(marks._WRITTEN_MARK, " " * SIZE, id="spaces before marks"),
        pytest.param(orders._FAKED_LINE, "<" * SIZE, id="angles"),
        pytest.param(sides._BRACKETS, "\t" * SIZE, id="tabs before brackets"),
        pytest.param(spans._EDGE_RIGHT, "等" * 400 + "x", id="and so on"),
    ],
)
def test_time_grows_with_the_length(expression: re.Pattern[str], text: str) -> None:
    try:
        with no_longer_than(SECONDS):
            expression.sub("", text)
            expression.fullmatch(text)
    except TooLong:
        pytest.fail(f"{expression.pattern!r} takes more than {SECONDS} s")


def test_a_long_word_in_a_question_is_read_at_once() -> None:
    with no_longer_than(SECONDS * 5):
        asked.classify_question("what is an " + "a" * SIZE + "\x00")


def test_apostrophes_in_a_name_are_read_at_once() -> None:
    with no_longer_than(SECONDS):
        assert english._without_tail("Ada" + "’" * SIZE + "x") == SIZE + 4
    assert english._without_tail("Ada’s ’.”") == 3
    assert english._without_tail("Lewis'") == 5


def test_the_end_of_a_text_without_a_stop_has_one() -> None:
    with no_longer_than(SECONDS):
        assert citations._stop_of("!" * SIZE + "x") == "."
