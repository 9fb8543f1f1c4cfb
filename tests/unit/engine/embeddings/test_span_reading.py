"""Where in a text an answer stands: log-probabilities of tokens, and the model's inner output."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.embeddings.cross_encoder import CrossEncoder
from engine.embeddings.span_reading import (
    LEAST,
    LONGEST_TOKENS,
    Reading,
    read_states,
)


def reading(begins: list[float], ends: list[float]) -> Reading:
    """Reading of words of three letters with a blank between."""
    starts = np.arange(len(begins), dtype=np.int64) * 4
    return Reading(
        logit=0.0, starts=starts, stops=starts + 3, begins=np.array(begins), ends=np.array(ends)
    )


def test_a_span_has_the_probability_of_its_first_and_its_last_word() -> None:
    one = reading([-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0])
    assert one.span(0, 7) == -1.0 + -5.0
    assert one.span(4, 7) == -2.0 + -5.0


def test_a_span_that_was_not_read_is_least_likely() -> None:
    assert reading([-1.0], [-1.0]).span(8, 11) == 2 * LEAST


def test_the_best_span_does_not_end_before_it_begins() -> None:
    assert reading([-3.0, -0.1], [-0.1, -3.0]).best() == pytest.approx(-3.1)


def test_the_best_span_is_not_longer_than_an_answer() -> None:
    count = LONGEST_TOKENS + 1
    begins, ends = [-9.0] * count, [-9.0] * count
    begins[0] = ends[-1] = -0.1
    assert reading(begins, ends).best() == pytest.approx(-9.1)


def test_a_text_without_a_token_has_no_span() -> None:
    empty = read_states(0.0, np.zeros((0, 384), np.float32), np.zeros((0, 2), np.int64))
    assert empty.best() == 2 * LEAST
    assert empty.span(0, 1) == 2 * LEAST


def test_begins_and_ends_are_probabilities() -> None:
    states = np.random.default_rng(0).normal(size=(5, 384)).astype(np.float32)
    one = read_states(0.0, states, np.stack([np.arange(5), np.arange(5) + 1], axis=1))
    assert math.isclose(np.exp(one.begins).sum(), 1.0)
    assert math.isclose(np.exp(one.ends).sum(), 1.0)


def test_the_reader_sees_the_answer_in_a_sentence() -> None:
    text = "Vey Station: The station was founded by Maren Holt in 1974 in the harbour of Skerra."
    (one,) = CrossEncoder(threads=1).read("Who founded the Vey Station?", [text])
    place = text.index("Maren Holt")
    year, town = text.index("1974"), text.index("Skerra")
    who = one.span(place, place + len("Maren Holt"))
    assert who > one.span(year, year + 4)
    assert who > one.span(town, town + len("Skerra"))


def test_a_text_is_read_once_for_a_question() -> None:
    reader = CrossEncoder(threads=1)
    first = reader.read("Who?", ["Ada sang."])[0]
    assert reader.read("Who?", ["Ada sang."])[0] is first
    assert reader("Who?", ["Ada sang."])[0] == first.logit
    reader.read("When?", ["Ada sang."])
    assert reader.read("Who?", ["Ada sang."])[0] is not first
