"""The reader that weighs texts by their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.answering.extractive.likeness import LOGITS, LikenessReader, likeness_reader
from engine.embeddings.multilingual import MultilingualEmbedding

_ASKED = "什么是缆？"


class _Near(MultilingualEmbedding):
    """Vectors by whether a text holds the question's word."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 0.0] if "缆" in text else [0.0, 1.0] for text in texts], np.float32)


def test_a_text_weighs_by_its_cosine_and_its_heading_by_itself() -> None:
    read = LikenessReader(_Near())

    whole, below, other = read(_ASKED, ["书: 缆\n缆在海底。", "书: 站\n缆在海底。", "书: 站\n人。"])

    assert whole == pytest.approx(LOGITS)
    assert other == pytest.approx(0.0)
    assert other < below < whole


def test_a_text_weighs_by_the_sentence_that_is_nearest() -> None:
    read = LikenessReader(_Near())

    among, alone = read(_ASKED, ["书: 站\n人在岸上。缆在海底。船在港里。", "书: 站\n缆在海底。"])

    assert among == pytest.approx(alone)


def test_nothing_reads_without_the_multilingual_model_or_where_no_reader_is_wanted() -> None:
    assert likeness_reader("auto", ()) is None
    assert likeness_reader("none", (_Near(),)) is None
    assert likeness_reader("auto", (_Near(),)) is not None
