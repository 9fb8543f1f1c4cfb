"""The bundled cross-encoder: a logit for question and text, or none without its file."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.embeddings.cross_encoder import CrossEncoder, load_reader
from engine.embeddings.early_reading import STAGES, STATES
from engine.embeddings.span_reading import LEAST

QUESTION = "What is a virtual package?"
TEXTS = (
    "A virtual package is a generic name for packages with the same function.",
    "The mail boat sails on Mondays.",
)


def test_a_text_that_answers_has_the_higher_logit() -> None:
    logits = CrossEncoder()(QUESTION, TEXTS)

    assert logits[0] > 5 > -5 > logits[1]


NEAR = TEXTS[0].replace("generic", "general")


def test_the_logit_of_a_text_that_is_read_depends_on_its_pair_alone() -> None:
    near = (TEXTS[0], NEAR)

    together = CrossEncoder()(QUESTION, (*near, TEXTS[1]))

    alone = [CrossEncoder()(QUESTION, [text])[0] for text in near]
    assert together[:2].tolist() == alone


def test_a_text_far_below_the_best_is_left_with_the_logit_that_is_foretold() -> None:
    encoder = CrossEncoder()

    best, left = encoder.read(QUESTION, TEXTS)

    assert left.begins.size == 0
    assert left.span(0, 4) == left.best() == 2 * LEAST
    assert left.logit <= best.logit - max(stage.far for stage in STAGES)


def test_a_text_that_was_left_is_read_where_it_is_the_best() -> None:
    encoder = CrossEncoder()
    encoder(QUESTION, TEXTS)

    (reading,) = encoder.read(QUESTION, TEXTS[1:])

    assert reading.begins.size > 0
    assert reading.logit == CrossEncoder()(QUESTION, TEXTS[1:])[0]


def test_an_empty_text_is_read() -> None:
    assert np.isfinite(CrossEncoder()(QUESTION, ["", TEXTS[0]])).all()


def test_nothing_is_read_of_no_texts() -> None:
    assert CrossEncoder().read(QUESTION, []) == []


def test_the_states_and_the_logit_are_those_of_a_pair_that_is_read() -> None:
    encoder = CrossEncoder()

    features, logit = encoder.early(QUESTION, TEXTS[0])

    assert [row.shape for row in features] == [(3 * STATES,)] * len(STAGES)
    assert logit == encoder(QUESTION, TEXTS[:1])[0]
    assert encoder.states(QUESTION, TEXTS[0])[0].shape[1] == STATES


def test_a_long_text_is_read_to_the_window() -> None:
    encoder = CrossEncoder(window_tokens=64)

    assert encoder(QUESTION, [TEXTS[0] * 20]) == encoder(QUESTION, [TEXTS[0] * 40])


def test_a_question_longer_than_the_window_is_read_beside_a_part_of_the_text() -> None:
    logits = CrossEncoder()(" ".join([QUESTION] * 100), TEXTS)

    assert logits[0] > logits[1]


def test_no_reader_is_loaded_where_none_is_wanted() -> None:
    assert load_reader("none") is None


def test_a_missing_file_leaves_the_choice_to_rules_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="loregraph.models"):
        assert load_reader("bundled", {"LOREGRAPH_MODELS": str(tmp_path)}) is None

    assert "ms-marco-MiniLM-L-12-v2" in caplog.text
    assert "loregraph models fetch" in caplog.text


def test_questions_that_are_asked_at_once_are_each_read() -> None:
    encoder = CrossEncoder(threads=1)
    questions = [f"{QUESTION} {number}" for number in range(8)]

    with ThreadPoolExecutor(max_workers=8) as pool:
        logits = list(pool.map(lambda question: encoder(question, TEXTS), questions))

    assert np.array_equal(logits, [CrossEncoder()(question, TEXTS) for question in questions])
