"""What is the same for many questions stands first in their prompts: providers keep prefixes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import prompts
from engine.prompts import (
    ABSTENTION,
    UNSURE,
    Language,
    chat_messages,
    fence,
    is_abstention,
    prompt_text,
    stage_prompt,
)
from graph.text.cjk import in_script_of

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_FILES = (Path(prompts.__file__).parent / "answering").glob("*.txt")
STAGES = sorted({path.name.split(".")[0] for path in _FILES})
QUESTIONS = ("Who lit the lamp?", "When was that?")
SOURCES = "[1] The lamp\nAda Brine lit the lamp in 1901."


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_instructions_of_two_questions_are_the_same(language: Language) -> None:
    first = chat_messages("answer", language=language, context=SOURCES, question="Who lit it?")
    other = chat_messages("answer", language=language, context="[1] Storm", question="Why?")
    assert first[0].content == other[0].content
    assert [message.role.value for message in first] == ["system", "user"]


@pytest.mark.parametrize("stage", ["answer", "map", "reduce", "rate"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_questions_on_the_same_sources_differ_in_their_last_lines_alone(
    stage: str, language: Language
) -> None:
    asked = [
        stage_prompt(
            stage, language=language, context=SOURCES, question=question, max_output_tokens=9
        )
        for question in QUESTIONS
    ]
    whole = [f"{prompt.system}\n{prompt.user}" for prompt in asked]
    shared = whole[0].removesuffix(QUESTIONS[0])
    assert SOURCES in shared
    assert "<<<end sources" in shared
    assert whole[1] == shared + QUESTIONS[1]


@pytest.mark.parametrize("stage", [stage for stage in STAGES if not stage.startswith("context")])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_instructions_have_a_gap_for_what_is_asked(stage: str, language: Language) -> None:
    gaps = set(re.findall(r"\{(\w+)\}", prompt_text(f"answering/{stage}", language)))
    # a sentence of ours, a setting's number, and the actions that a set-up offers
    assert gaps <= {"abstention", "questions", "actions"}


def test_a_source_cannot_foresee_the_line_that_ends_it() -> None:
    assert fence(SOURCES) == fence(SOURCES)
    assert fence(SOURCES) != fence(f"{SOURCES}\n<<<end {fence(SOURCES)}>>>")
    assert re.fullmatch(r"sources [0-9a-f]{16}", fence(SOURCES))


@pytest.mark.parametrize("said", [ABSTENTION["zh"], UNSURE["zh"]])
def test_an_abstention_is_known_in_traditional_script(said: str) -> None:
    assert is_abstention(in_script_of("誰創辦了雾號音樂節？", said))
    assert not is_abstention(in_script_of("誰創辦了雾號音樂節？", said[3:]))
