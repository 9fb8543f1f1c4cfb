"""Compression: the sentences that matter, shown where they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answering.compression import (
    read_numbers,
    render_selection,
    select_key_sentences,
    sentences_by_model,
)
from engine.answering.packing import pack_context
from engine.errors import ModelUnavailable
from engine.storage.graph_api import Prompt
from engine.types import Passage

TEXT = (
    "The quay was built of granite. Ada Brine lit the lamp in 1901. She used whale oil. "
    "Gulls nest on the roof. The ferry runs on Sundays."
)


def passage(text: str, name: str = "d", start: int = 0) -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id=name,
        chunk_id=f"{name}{start}",
        title="Notes",
        start=start,
        end=start + len(text),
    )


def compressed(question: str, *passages: Passage, near_best: float = 0.5) -> Callable:
    key = select_key_sentences(question, passages, weight=lambda _: 1.0, near_best=near_best)
    return render_selection(key, passages)


def test_only_the_sentences_that_matter_are_shown_with_signs_for_gaps() -> None:
    assert compressed("Who lit the lamp?", passage(TEXT))(passage(TEXT)) == (
        "… Ada Brine lit the lamp in 1901. …"
    )


def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    assert compressed("Which whale oil?", passage(TEXT))(passage(TEXT)) == (
        "… Ada Brine lit the lamp in 1901. She used whale oil. …"
    )


def test_of_every_passage_something_is_shown() -> None:
    other = passage("Nothing of the kind. Nor this.", "e")
    excerpt = compressed("Who lit the lamp?", passage(TEXT), other)

    assert excerpt(other) in {"Nothing of the kind. …", "… Nor this."}


def test_a_passage_stays_whole_in_the_pack_whatever_is_shown_of_it() -> None:
    found = [passage(TEXT)]
    packed = pack_context(
        found,
        budget_tokens=12,
        count=lambda text: len(text.split()),
        shown=compressed("Who lit the lamp?", *found),
    )

    assert packed.passages == (found[0],)
    assert packed.text == "[1] Notes\n… Ada Brine lit the lamp in 1901. …"


def test_neighbours_that_share_a_sentence_show_it_once() -> None:
    cut = TEXT.index("She")
    first, second = passage(TEXT[: cut + 19]), passage(TEXT[cut:], start=cut)
    excerpt = compressed("Which whale oil?", first, second)
    packed = pack_context(
        [first, second],
        budget_tokens=99,
        count=len,
        text=lambda _, start, end: TEXT[start:end],
        shown=excerpt,
    )

    assert packed.text.count("She used whale oil.") <= 1
    assert excerpt(passage(TEXT)).count("She used whale oil.") == 1


@given(st.lists(st.text(max_size=120), max_size=5), st.text(min_size=1, max_size=40))
def test_what_is_shown_are_pieces_of_the_passage_in_their_order(
    texts: list[str], question: str
) -> None:
    found = [passage(text, f"d{number}") for number, text in enumerate(texts)]
    excerpt = compressed(question, *found)
    for one in found:
        place = 0
        for piece in re.split(r"(?:^|\s)…(?:\s|$)", excerpt(one)):
            at = one.text.find(piece.strip(), place)
            assert at >= 0 or "…" in one.text
            place = max(at, place)


# --- by a model ---------------------------------------------------------------------------------


def by_model(reply: str | Exception) -> tuple[object, str]:
    def ask(prompt: Prompt) -> str:
        assert "[2] Ada Brine lit the lamp in 1901." in prompt.user
        if isinstance(reply, Exception):
            raise reply
        return reply

    return sentences_by_model("Who?", [passage(TEXT)], ask=ask)


def test_a_model_names_the_sentences_by_number() -> None:
    key, why = by_model(json.dumps({"keep": [2, 3, 99, 0, -1]}))

    assert why == ""
    assert render_selection(key, [passage(TEXT)])(passage(TEXT)) == (  # type: ignore[arg-type]
        "… Ada Brine lit the lamp in 1901. She used whale oil. …"
    )


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        pytest.param('{"keep": []}', "the model selected no sentence", id="none"),
        pytest.param("I cannot say.", "the model selected no sentence", id="prose"),
        pytest.param('{"keep": [700]}', "the model selected no sentence", id="unknown"),
        pytest.param(ModelUnavailable("gone"), "the model failed: gone", id="the-model-is-away"),
    ],
)
def test_a_model_that_names_none_says_why(reply: str | Exception, why: str) -> None:
    assert by_model(reply) == (None, why)


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        pytest.param('Sure: {"keep": [1, "2", "[3]"]} done', [1, 2, 3], id="wrapped"),
        pytest.param('{"keep": [4, 5', [4, 5], id="cut-off"),
        pytest.param("[6, 7]", [6, 7], id="bare-list"),
        pytest.param("Sentences [8] and [9] help.", [8, 9], id="marks"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_numbers_are_read_from_whatever_a_model_says(reply: str, numbers: list[int]) -> None:
    assert read_numbers(reply) == numbers
