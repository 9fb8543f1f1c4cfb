"""Short answers by a reader: its sight decides between spans of the asked kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.answering.extractive.answer import extractive_answer
from engine.answering.extractive.evidence import right_probability
from engine.answering.extractive.read_spans import type_match
from engine.answering.packing import Draft
from engine.embeddings.span_reading import LEAST, Reading
from engine.types import SURE, Passage, ShortAnswer

TEXT = "The Vey Station was founded by Maren Holt and led by Jon Abara."
QUESTION = "Who founded the Vey Station?"


class SeeingReader:
    """Reader that sees the answer at the words given, with a logit."""

    def __init__(self, seen: str, logit: float) -> None:
        self._seen, self._logit = seen, logit

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.full(len(texts), self._logit)

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        return [self._reading(text) for text in texts]

    def _reading(self, text: str) -> Reading:
        place = text.find(self._seen)
        at = np.arange(len(text), dtype=np.int64)
        begins, ends = np.full(len(text), LEAST), np.full(len(text), LEAST)
        if place >= 0:
            begins[place] = ends[place + len(self._seen) - 1] = -0.01
        return Reading(logit=self._logit, starts=at, stops=at + 1, begins=begins, ends=ends)


def ask(
    reader: SeeingReader,
    question: str = QUESTION,
    text: str = TEXT,
    *,
    types: Mapping[str, str] | None = None,
    one_excerpt: bool = False,
) -> Draft:
    found = Passage(
        text=text, score=1.0, relevance=0.9, document_id="a", chunk_id="a", title="Vey Station",
        start=0, end=len(text),
    )  # fmt: skip
    return extractive_answer(
        question, [found], weight=lambda _: 1.0, read=reader, types=types or {},
        one_excerpt=one_excerpt,
    )  # fmt: skip


def short_of(draft: Draft) -> ShortAnswer:
    assert draft.short is not None
    return draft.short


@pytest.mark.parametrize("name", ["Maren Holt", "Jon Abara"])
def test_the_span_that_the_reader_sees_is_the_short_answer(name: str) -> None:
    assert short_of(ask(SeeingReader(name, 6.0))).text == name


def test_a_text_that_answers_makes_the_short_answer_surer() -> None:
    sure = [short_of(ask(SeeingReader("Maren Holt", logit))).confidence for logit in (0.0, 8.0)]
    assert sure == sorted(sure)
    assert sure[0] < sure[1]


def test_a_place_is_no_person_where_the_graph_knows_it() -> None:
    blind = SeeingReader("nowhere", 8.0)
    first = short_of(ask(blind)).text
    assert short_of(ask(blind, types={first: "PERSON"})).text == first
    assert short_of(ask(blind, types={first: "PLACE"})).text != first


def test_a_name_answers_no_question_for_a_date() -> None:
    draft = ask(SeeingReader("Maren Holt", 8.0), "When was the Vey Station founded?")
    assert "Maren Holt" in draft.text
    assert draft.short is None


@pytest.mark.parametrize(
    ("heading", "asked", "is_shown"),
    [
        ("26 June", "When was the glider lost?", True),
        ("26 June", "Who lost the glider?", False),
        ("The glider", "When was the glider lost?", False),
        ("Opening Hours", "Who lost the glider?", False),
    ],
)
def test_the_heading_stands_above_that_says_when(heading: str, asked: str, is_shown: bool) -> None:
    told = f"## {heading}\n\nThe Hallam lost its glider, and that was that."
    draft = ask(SeeingReader("Hallam", 8.0), asked, told, one_excerpt=True)
    assert (f"### {heading}" in draft.text) == is_shown
    assert (heading in draft.citations[0].quote) == is_shown
    assert "lost its glider" in draft.citations[0].quote
    assert told[draft.citations[0].start : draft.citations[0].end] == draft.citations[0].quote


@pytest.mark.parametrize(
    ("kind", "type_", "worth"),
    [
        ("person", "PERSON", 1.0),
        ("person", "PLACE", -1.0),
        ("person", "ORGANISATION", 0.0),
        ("place", "PLACE", 1.0),
        ("place", "PERSON", -1.0),
        ("place", "ORGANISATION", -1.0),
        ("place", "NAME", 0.0),
        ("time", "PERSON", 0.0),
        ("person", "", 0.0),
    ],
)
def test_a_type_speaks_for_or_against_a_name(kind: str, type_: str, worth: float) -> None:
    assert type_match(kind, type_) == worth


def test_a_short_answer_is_confident_only_where_it_is_all_but_certain() -> None:
    assert SURE == 0.9
    assert ShortAnswer(text="x", kind="person", confidence=0.9).is_confident
    assert not ShortAnswer(text="x", kind="person", confidence=0.89).is_confident


def test_evidence_grows_with_what_the_reader_says() -> None:
    held = {"held": 0.8, "decided": 0.0}
    right = [right_probability({**held, "logit": logit}) for logit in (-8.0, 0.0, 8.0)]
    assert all(a < b for a, b in pairwise(right))


def test_the_reader_has_no_say_in_what_dates_decide() -> None:
    decided = {"held": 0.8, "decided": 1.0}
    assert right_probability({**decided, "logit": -8.0}) == right_probability(
        {**decided, "logit": 8.0}
    )


@pytest.mark.parametrize(
    ("sentence", "is_told"),
    [
        pytest.param("The institute has 130 staff and a wave basin.", False, id="another-page"),
        pytest.param("The station has 130 staff and a wave basin.", True, id="names-it"),
    ],
)
def test_what_another_page_says_of_itself_is_no_short_answer(
    sentence: str, *, is_told: bool
) -> None:
    pages = {"Hallam Institute": sentence, "Vey Station": "It lies on a cape and has a boat."}
    found = [
        Passage(
            text=text, score=1.0, relevance=0.9, document_id=title, chunk_id=title, title=title,
            start=0, end=len(text),
        )
        for title, text in pages.items()
    ]  # fmt: skip

    draft = extractive_answer(
        "How many staff does the Vey Station have?",
        found,
        weight=lambda _: 1.0,
        read=SeeingReader("130", 8.0),
        min_evidence=0.0,
    )

    assert (draft.short is not None and draft.short.text == "130") is is_told
