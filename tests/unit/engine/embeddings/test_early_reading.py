"""Early reading: of texts that are read together only those near the best are read whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from engine.embeddings.early_reading import STATES, Begun, features, foretold, read_near
from engine.embeddings.span_reading import Reading, unread_text

FAR = (4.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Begun):
    """A text with the logit behind each stage, the last that of the whole."""

    logits: tuple[float, float, float]


Known = dict[str, "Text | Reading"]


@pytest.fixture
def runs() -> list[tuple[float, ...]]:
    return []


@pytest.fixture
def read_on(runs: list[tuple[float, ...]]) -> Callable[[Text], Text | Reading]:
    def next_of(text: Text) -> Text | Reading:
        runs.append(text.logits[: text.stages + 1])
        if text.stages == len(FAR):
            return unread_text(text.logits[-1])
        return replace(text, stages=text.stages + 1, logit=text.logits[text.stages])

    return next_of


def logits(known: Known, read_on: Callable[[Text], Text | Reading], *texts: str) -> list[float]:
    return [each.logit for each in read_near(texts, known, read_on, far=FAR, threads=1)]


def test_a_text_is_left_at_the_stage_that_finds_it_far_below(
    read_on: Callable[[Text], Text | Reading], runs: list[tuple[float, ...]]
) -> None:
    known: Known = {
        "best": Text(logits=(5, 5, 6)),
        "middle": Text(logits=(3, 2, 5)),
        "far": Text(logits=(0, 4, 7)),
    }

    assert logits(known, read_on, "best", "middle", "far") == [6, 2, 0]
    assert len(runs) == 3 + 2 + 1


def test_a_text_that_is_left_lies_as_far_below_the_best_as_that_stage_says(
    read_on: Callable[[Text], Text | Reading],
) -> None:
    known: Known = {"best": Text(logits=(5, 5, -3)), "left": Text(logits=(5, 2, 0))}

    assert logits(known, read_on, "best", "left") == [-3, -5]


def test_a_text_is_compared_with_those_that_were_read_before(
    read_on: Callable[[Text], Text | Reading], runs: list[tuple[float, ...]]
) -> None:
    known: Known = {"best": Text(logits=(5, 5, 6)), "next": Text(logits=(1, 1, 9))}
    logits(known, read_on, "best")
    runs.clear()

    assert logits(known, read_on, "best", "next") == [6, 1]
    assert len(runs) == 1


def test_a_text_that_was_left_is_read_on_among_others(
    read_on: Callable[[Text], Text | Reading], runs: list[tuple[float, ...]]
) -> None:
    known: Known = {
        "best": Text(logits=(5, 5, 6)),
        "left": Text(logits=(0, 3, 1)),
        "lower": Text(logits=(-1, -2, -8)),
    }
    logits(known, read_on, "best", "left", "lower")
    runs.clear()

    assert logits(known, read_on, "left", "lower") == [1, -2]
    assert len(runs) == 2 + 1


def test_one_text_is_read_once_wherever_it_stands(
    read_on: Callable[[Text], Text | Reading], runs: list[tuple[float, ...]]
) -> None:
    known: Known = {"one": Text(logits=(1, 2, 3))}

    assert logits(known, read_on, "one", "one") == [3, 3]
    assert logits(known, read_on, "one") == [3]
    assert len(runs) == 3


def test_a_logit_is_foretold_of_the_whole_the_question_and_the_text() -> None:
    states = np.zeros((4, STATES), dtype=np.float32)
    states[:, 0] = (1.0, 3.0, 5.0, 7.0)
    types = np.array([0, 0, 1, 1])

    row = features(states, types)

    assert row[[0, STATES, 2 * STATES]].tolist() == [1.0, 2.0, 6.0]
    assert foretold(0, states, types) != foretold(1, states, types)
