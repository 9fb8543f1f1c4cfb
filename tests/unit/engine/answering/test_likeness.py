"""The reader that weighs texts by their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.answering.extractive.likeness import LOGITS, UNLIKE, LikenessReader, likeness_reader
from engine.embeddings.question_encoder import QuestionEncoder

_ASKED = "什么是缆？"


class _Near(QuestionEncoder):
    """Vectors by whether a text holds the question's word."""

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0] if "缆" in text else [0.0, 1.0] for text in texts], np.float32)


def test_a_text_weighs_by_its_cosine() -> None:
    read = LikenessReader(_Near())

    near, other = read(_ASKED, ["书: 站\n缆在海底。", "书: 站\n人。"])

    assert near == pytest.approx(LOGITS * (1 - UNLIKE))
    assert other == pytest.approx(-LOGITS * UNLIKE)


def test_a_heading_counts_like_the_text_below_it() -> None:
    read = LikenessReader(_Near())

    above, within = read(_ASKED, ["书: 缆\n人。", "书: 站\n缆在海底。"])

    assert above == pytest.approx(within)


def test_of_a_long_text_the_nearest_sentences_are_read() -> None:
    read = LikenessReader(_Near())
    long = "人在岸上走来走去，船在港里停着不动，海风吹着灯塔。" * 5

    among, alone = read(
        _ASKED, [f"书: 站\n{long}这是缆，在海底。{long}", "书: 站\n这是缆，在海底。"]
    )

    assert among == pytest.approx(alone)


def test_nothing_reads_without_the_encoder() -> None:
    assert likeness_reader(None) is None
    assert likeness_reader(_Near()) is not None
