from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chunking.llm import AgenticNodeParser, BoundaryProposals, read_numbers, validation_error
from engine.chunking.recursive import RecursiveNodeParser
from engine.chunking.span_parser import ContextSource, Measure
from engine.embeddings.tokenizer import SimpleTokeniser
from engine.errors import ModelUnavailable

TOKENISER = SimpleTokeniser()
SENTENCES = [f"This is sentence {n:02} of it." for n in range(12)]
TEXT = " ".join(SENTENCES)
EACH = TOKENISER.count(SENTENCES[0])
RECURSIVE = RecursiveNodeParser(size_tokens=5 * EACH, overlap_tokens=0, tokeniser=TOKENISER)


class Scripted:
    """Answers in turn; raises where nothing more was expected."""

    def __init__(self, answers: Iterable[str]) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0)


def parser(complete: Callable[[str], str] | None, **given: int) -> AgenticNodeParser:
    options = {"atom_tokens": 1, "prompt_tokens": 10_000, **given}
    return AgenticNodeParser(
        size_tokens=5 * EACH, overlap_tokens=0, tokeniser=TOKENISER, complete=complete, **options
    )


def cut(given_parser: AgenticNodeParser, text: str = TEXT) -> list[str]:
    return [text[span.start : span.end] for span in given_parser.spans(ContextSource(text=text))]


def joined(*sizes: int) -> list[str]:
    sentences = iter(SENTENCES)
    return [" ".join(next(sentences) for _ in range(size)) for size in sizes]


def test_chunks_begin_where_the_model_says() -> None:
    given_parser = parser(Scripted(['{"starts": [4, 6, 10]}']))
    assert cut(given_parser) == joined(3, 2, 4, 3)
    assert given_parser.proposals == BoundaryProposals(asked=1)


def test_parts_stand_numbered_with_their_sizes_inside_the_fence() -> None:
    model = Scripted(['{"starts": [4, 6, 10]}'])
    cut(parser(model))
    inside = re.split(r"<<<data \w+>>>\n|\n<<<end data", model.prompts[0])
    assert inside[-2].splitlines() == [
        f"[{number}] ({EACH}) {sentence}" for number, sentence in enumerate(SENTENCES, start=1)
    ]


def test_no_part_runs_over_the_end_of_a_paragraph() -> None:
    model = Scripted(['{"starts": [3]}'])
    text = "\n\n".join([" ".join(SENTENCES[:3]), " ".join(SENTENCES[3:6])])
    chunks = cut(parser(model, atom_tokens=2 * EACH), text)
    assert chunks == joined(3, 3)


def test_a_chinese_text_is_asked_about_in_chinese() -> None:
    text = "".join(f"这是第{n}句话，写得不长也不短。" for n in range(40))
    model = Scripted(["不知道", "不知道"])
    cut(parser(model), text)
    assert model.prompts[0].startswith("下面是一篇")


def test_a_text_that_fits_is_not_asked_about() -> None:
    assert cut(parser(Scripted([])), "Short. And sweet.") == ["Short. And sweet."]


def test_without_a_model_it_is_the_default_strategy() -> None:
    subject = ContextSource(text=TEXT)
    assert parser(None).spans(subject) == RECURSIVE.spans(subject)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("I cannot do that.", id="no numbers"),
        pytest.param('{"starts": [4, 6, 40]}', id="out of range"),
        pytest.param('{"starts": [6, 4, 10]}', id="not ascending"),
        pytest.param('{"starts": [4, 4, 10]}', id="twice the same"),
        pytest.param('{"starts": [4]}', id="too long"),
        pytest.param('{"starts": []}', id="nothing cut"),
    ],
)
def test_a_proposal_that_cannot_be_used_is_corrected_once(bad: str) -> None:
    model = Scripted([bad, '{"starts": [4, 6, 10]}'])
    given_parser = parser(model)
    assert cut(given_parser) == joined(3, 2, 4, 3)
    assert given_parser.proposals == BoundaryProposals(asked=1, retried=1)
    assert "cannot be used" not in model.prompts[0]
    assert "cannot be used" in model.prompts[1]


def test_a_proposal_refused_twice_leaves_the_default_cut_and_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given_parser = parser(Scripted(["no", "still no"]))
    with caplog.at_level(logging.WARNING, logger="loregraph.chunk"):
        found = given_parser.spans(ContextSource(text=TEXT, title="Talk"))
    assert found == RECURSIVE.spans(ContextSource(text=TEXT))
    assert given_parser.proposals == BoundaryProposals(asked=1, retried=1, refused=1)
    assert "1 of 1 stretches of 'Talk'" in caplog.text


def test_a_model_that_fails_is_not_asked_again() -> None:
    prompts: list[str] = []

    def failing(prompt: str) -> str:
        prompts.append(prompt)
        raise ModelUnavailable("no endpoint")

    given_parser = parser(failing)
    assert given_parser.spans(ContextSource(text=TEXT)) == RECURSIVE.spans(ContextSource(text=TEXT))
    assert len(prompts) == 1
    assert given_parser.proposals == BoundaryProposals(asked=1, refused=1)


def test_a_model_that_is_gone_is_soon_left_alone() -> None:
    prompts: list[str] = []

    def gone(prompt: str) -> str:
        prompts.append(prompt)
        raise ModelUnavailable("no endpoint")

    text = " ".join(SENTENCES * 5)
    given_parser = parser(gone, prompt_tokens=10 * EACH)
    given_parser.spans(ContextSource(text=text))
    assert len(prompts) == 3
    assert given_parser.proposals == BoundaryProposals(asked=6, refused=6)


def test_the_last_passage_of_a_prompt_opens_the_next_prompt() -> None:
    model = Scripted(['{"starts": [4, 6]}', '{"starts": [4]}'])
    assert cut(parser(model, prompt_tokens=10 * EACH)) == joined(3, 2, 3, 4)
    assert "[1] (8) This is sentence 05" in model.prompts[1].replace(f"({EACH})", "(8)")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param('{"starts": [3, 7]}', [3, 7], id="object"),
        pytest.param("[3, 7]", [3, 7], id="list"),
        pytest.param('```json\n{"starts": ["3", "7"]}\n```', [3, 7], id="fenced, as strings"),
        pytest.param('First [1], then: {"cuts": [3, 7]}', [3, 7], id="the last of several"),
        pytest.param("The passages begin at:\n3, 7", [3, 7], id="a bare list"),
        pytest.param('{"starts": []}', [], id="none"),
        pytest.param('{"starts": [3.5]}', None, id="no whole number"),
        pytest.param('{"starts": [-3]}', None, id="negative"),
        pytest.param('{"a": [1], "b": [2]}', None, id="which list"),
        pytest.param("There are 3 of them and 7 too.", None, id="numbers in prose"),
        pytest.param("", None, id="empty"),
    ],
)
def test_numbers_are_read_tolerantly(answer: str, expected: list[int] | None) -> None:
    assert read_numbers(answer) == expected


def test_a_single_part_may_be_as_large_as_it_is() -> None:
    assert validation_error([2], [90, 10], size_tokens=50) == ""


FRAGMENTS = st.one_of(
    st.sampled_from(["\n\n", "# H\n\n", "A sentence of some words. ", "中文的一句话。", "👩‍👩‍👧"]),
    st.text(max_size=30),
)


@given(
    st.lists(FRAGMENTS, max_size=40).map("".join),
    st.lists(st.one_of(st.text(max_size=20), st.lists(st.integers(-2, 30)).map(json.dumps))),
)
def test_whatever_a_model_answers_chunks_cover_the_text_and_keep_the_limit(
    text: str, answers: Sequence[str]
) -> None:
    left = [*answers]
    given_parser = parser(lambda prompt: left.pop() if left else "", prompt_tokens=64)
    measure = Measure(text, TOKENISER)
    covered = 0
    for span in given_parser.spans(ContextSource(text=text, shape="markdown")):
        assert not text[covered : span.start].strip()
        assert span.end > covered
        assert measure.tokens(span.start, span.end) <= given_parser.size_tokens
        covered = span.end
    assert not text[covered:].strip()
