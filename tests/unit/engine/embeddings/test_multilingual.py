from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from engine.embeddings.multilingual import MultilingualEmbedding
from engine.errors import ModelUnavailable

PAIRS = (
    ("Where is the marine station?", "海洋站在哪里？"),
    ("How do I install a package?", "如何安装软件包？"),
    ("The storm broke the cable.", "风暴弄断了海缆。"),
    ("Who won the election?", "谁赢得了选举？"),
)


@pytest.fixture(scope="module")
def model() -> MultilingualEmbedding:
    return MultilingualEmbedding()


def test_a_sentence_is_nearest_to_its_translation(model: MultilingualEmbedding) -> None:
    english = model.embed([pair[0] for pair in PAIRS])
    chinese = model.embed([pair[1] for pair in PAIRS])
    assert (english @ chinese.T).argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert (chinese @ english.T).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_vectors_are_unit_float32_of_384_and_depend_on_their_text_alone(
    model: MultilingualEmbedding,
) -> None:
    texts = [*(text for pair in PAIRS for text in pair), "", " ", "🌊" * 2000]
    vectors = model.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
    assert vectors.tobytes() == np.stack([model.embed([t])[0] for t in texts]).tobytes()
    assert model.embed([]).shape == (0, 384)


def test_llama_index_gets_the_same_vectors_by_every_door(model: MultilingualEmbedding) -> None:
    texts = [pair[1] for pair in PAIRS]
    expected = model.embed(texts).tolist()
    assert model.get_text_embedding_batch(texts) == expected
    asked = np.array(model.get_query_embedding(texts[1]))
    assert int((np.array(expected) @ asked).argmax()) == 1
    assert asyncio.run(model.aget_text_embedding_batch(texts)) == expected
    assert (model.identity, model.dimension) == ("multilingual-e5-small/int8", 384)


def test_a_missing_model_names_the_command(tmp_path: Path) -> None:
    model = MultilingualEmbedding(environment={"LOREGRAPH_MODELS": str(tmp_path)})
    with pytest.raises(ModelUnavailable, match="run `loregraph models fetch`"):
        model.embed(["text"])
