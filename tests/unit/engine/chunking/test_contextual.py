from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chunking.llm import add_context, context_spans
from engine.chunking.span_parser import ContextSource, Span
from engine.embeddings.tokenizer import SimpleTokeniser
from engine.errors import ModelUnavailable

TOKENISER = SimpleTokeniser()
TEXT = """# Handbook

The handbook tells crews of the Aurora what to do. It has three parts.

## Fire

Close the doors. Call the bridge.

## Flood

Close the valves. Call the engine room.
"""
SUBJECT = ContextSource(text=TEXT, shape="markdown", title="Handbook")
FIRE, FLOOD = TEXT.index("## Fire"), TEXT.index("## Flood")
SPANS = [
    Span(start=0, end=FIRE - 2, path=("Handbook",)),
    Span(start=FIRE, end=FLOOD - 2, path=("Handbook", "Fire")),
    Span(start=FLOOD, end=len(TEXT) - 1, path=("Handbook", "Flood")),
]
PLAIN = [
    "Handbook",
    "Handbook › Fire. The handbook tells crews of the Aurora what to do.",
    "Handbook › Flood. The handbook tells crews of the Aurora what to do.",
]


def given_contexts(
    complete: Callable[[str], str] | None = None, *, budget: int = 64, document: int = 6_000
) -> list[str]:
    found = context_spans(
        SUBJECT,
        SPANS,
        complete=complete,
        budget_tokens=budget,
        tokeniser=TOKENISER,
        document_tokens=document,
    )
    return [span.context for span in found]


def failing(prompt: str) -> str:
    raise ModelUnavailable("no endpoint")


def test_without_a_model_it_is_title_headings_and_lead_sentence() -> None:
    assert given_contexts() == PLAIN


def test_only_the_context_of_a_span_changes() -> None:
    found = context_spans(SUBJECT, SPANS, budget_tokens=64, tokeniser=TOKENISER)
    assert [(s.start, s.end, s.path) for s in found] == [(s.start, s.end, s.path) for s in SPANS]


def test_what_a_strategy_said_of_a_span_stays_behind() -> None:
    span = Span(start=SPANS[1].start, end=SPANS[1].end, context="| a | b |")
    found = context_spans(SUBJECT, [span], budget_tokens=4, tokeniser=TOKENISER)
    assert found[0].context == "Handbook. | a | b |"


def test_a_chinese_text_has_its_own_lead() -> None:
    text = "第一章 总则\n\n本法规定数据的使用。其他从略。\n\n第二章 罚则\n\n违反者处罚款。"
    subject = ContextSource(text=text, title="数据法")
    spans = [Span(start=text.index("违反"), end=len(text), path=("第二章 罚则",))]
    found = context_spans(subject, spans, budget_tokens=64, tokeniser=TOKENISER)
    assert found[0].context == "数据法 › 第二章 罚则. 本法规定数据的使用。"


@given(st.text(max_size=200), st.text(max_size=300), st.integers(0, 40))
def test_a_context_is_one_line_within_its_budget(title: str, text: str, budget: int) -> None:
    subject = ContextSource(text=f"{text}\n\nThe end.", title=title)
    span = Span(start=len(text) + 2, end=len(text) + 10, path=(title, "Part"))
    (found,) = context_spans(subject, [span], budget_tokens=budget, tokeniser=TOKENISER)
    assert TOKENISER.count(found.context) <= budget
    assert len(found.context.splitlines()) <= 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("The Aurora's drill against fire.", id="plain"),
        pytest.param('"The Aurora\'s drill against fire."\n\nI hope this helps.', id="talkative"),
        pytest.param("Context: The Aurora's drill against fire.", id="label"),
    ],
)
def test_the_models_line_is_the_context(answer: str) -> None:
    assert given_contexts(lambda prompt: answer) == ["The Aurora's drill against fire."] * 3


def test_the_models_line_is_cut_to_the_budget() -> None:
    assert given_contexts(lambda prompt: "one two six ten", budget=2) == ["one two"] * 3


def test_a_prompt_shows_document_and_passage_inside_a_fence() -> None:
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "A line."

    given_contexts(complete)
    assert len(prompts) == 3
    for prompt, span in zip(prompts, SPANS, strict=True):
        inside = prompt.split(">>>\nTitle:")[1].split("\n<<<end data ")[0]
        assert TEXT in inside
        assert inside.rstrip().endswith(TEXT[span.start : span.end])


def test_prompts_of_one_document_begin_alike_so_that_a_server_can_keep_it() -> None:
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "A line."

    given_contexts(complete)
    beginning = prompts[0][: prompts[0].index(TEXT) + len(TEXT)]
    assert all(prompt.startswith(beginning) for prompt in prompts)


def test_a_model_that_is_gone_is_soon_left_alone() -> None:
    calls: list[str] = []

    def gone(prompt: str) -> str:
        calls.append(prompt)
        raise ModelUnavailable("no endpoint")

    result = add_context(SUBJECT, SPANS * 4, complete=gone, budget_tokens=64, tokeniser=TOKENISER)
    assert len(calls) == 3
    assert (result.asked, result.refused) == (12, 12)
    assert [span.context for span in result.spans] == PLAIN * 4


def test_a_long_document_is_shown_around_the_passage_only() -> None:
    lines = [f"Line {n} of the text." for n in range(2_000)]
    text = " ".join(lines)
    subject = ContextSource(text=text, title="Long")
    start = text.index(lines[1_000])
    spans = [Span(start=0, end=20), Span(start=start, end=start + 20)]
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "A line."

    context_spans(subject, spans, complete=complete, tokeniser=TOKENISER, document_tokens=200)
    assert lines[0] in prompts[1]
    assert lines[999] in prompts[1]
    assert lines[1_001] in prompts[1]
    assert lines[500] not in prompts[1]
    assert max(map(TOKENISER.count, prompts)) < 700


def test_text_in_a_document_cannot_fill_a_gap_of_the_prompt() -> None:
    text = "Say {fence} and {words}. More is here. And more."
    spans = [Span(start=0, end=24), Span(start=25, end=len(text))]
    seen: list[str] = []

    def complete(prompt: str) -> str:
        seen.append(prompt)
        return "A line."

    context_spans(ContextSource(text=text), spans, complete=complete, tokeniser=TOKENISER)
    assert all("Say {fence} and {words}." in prompt for prompt in seen)


@pytest.mark.parametrize(
    "complete",
    [pytest.param(failing, id="fails"), pytest.param(lambda prompt: " \n ", id="says nothing")],
)
def test_without_an_answer_the_plain_context_stands_and_is_counted(
    complete: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="loregraph.chunk"):
        assert given_contexts(complete) == PLAIN
    assert "3 of 3 chunks of 'Handbook'" in caplog.text
    result = add_context(SUBJECT, SPANS, complete=complete, budget_tokens=64, tokeniser=TOKENISER)
    assert (result.asked, result.refused) == (3, 3)


def test_a_chunk_alone_in_its_document_is_not_asked_about() -> None:
    subject = ContextSource(text="One line.", title="T")
    spans = [Span(start=0, end=9)]
    found = context_spans(subject, spans, complete=failing, tokeniser=TOKENISER)
    assert [span.context for span in found] == ["T"]
