"""The question encoder: a vector for question and text, or none without its file."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from engine.embeddings.question_encoder import QuestionEncoder, load_question_encoder

QUESTION = "怎么把软件包从系统里去掉？"
TEXTS = (
    "要卸载一个程序，请运行 apt remove。",
    "周一有邮船开往岛上。",
    "To uninstall a program, run apt remove.",
)


def test_a_text_that_answers_is_nearer_in_either_language() -> None:
    encoder = QuestionEncoder()

    near = encoder.texts(TEXTS) @ encoder.questions([QUESTION])[0]

    assert min(near[0], near[2]) > near[1] + 0.03


def test_vectors_have_unit_length_and_depend_on_their_text_alone() -> None:
    encoder = QuestionEncoder()

    vectors = encoder.texts(TEXTS)

    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vectors[1:], encoder.texts(TEXTS[1:]))


def test_no_texts_give_no_vectors() -> None:
    assert QuestionEncoder().texts([]).shape == (0, 384)


def test_a_long_text_is_read_to_the_window() -> None:
    encoder = QuestionEncoder()

    assert np.array_equal(encoder.texts([TEXTS[0] * 40]), encoder.texts([TEXTS[0] * 60]))


def test_no_encoder_is_loaded_where_none_is_wanted() -> None:
    assert load_question_encoder("none") is None


def test_a_missing_file_leaves_the_choice_to_rules_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="loregraph.models"):
        assert load_question_encoder("bundled", {"LOREGRAPH_MODELS": str(tmp_path)}) is None

    assert "multilingual-e5-small" in caplog.text
    assert "loregraph models fetch" in caplog.text
