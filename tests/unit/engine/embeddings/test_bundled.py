from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.embeddings.bundled import BundledEmbedding, OnnxEncoder, open_session
from engine.embeddings.model_files import EMBEDDING, models_folder
from engine.embeddings.wrappers import with_prefixes
from engine.errors import ModelUnavailable

TEXTS = (
    "Maeve Tolland founded the marine station in 1961.",
    "The marine station was established by Maeve Tolland.",
    "A storm broke the cable off Port Ansgar.",
    "",
    "托兰海洋站",
    "word " * 700,
)


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder(threads=2)


def test_vectors_are_unit_float32_of_384_in_the_order_given(encoder: OnnxEncoder) -> None:
    vectors = encoder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encoder.embed([]).shape == (0, 384)


def test_vectors_are_the_same_in_every_process_and_version(encoder: OnnxEncoder) -> None:
    vector = encoder.embed(["Debian is a free operating system."])[0]
    again = OnnxEncoder(threads=1).embed(["Debian is a free operating system."])[0]
    assert vector.tobytes() == again.tobytes()
    first = [-0.0481, 0.0125, 0.0266, -0.0704, 0.0069, -0.0678, -0.039, 0.0103]
    np.testing.assert_allclose(vector[:8], first, atol=2e-3)


def test_a_vector_depends_on_its_text_alone(encoder: OnnxEncoder) -> None:
    together = encoder.embed(TEXTS)
    backwards = encoder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    assert together.tobytes() == backwards.tobytes() == alone.tobytes()


def test_a_question_is_embedded_once_for_scope_and_search(monkeypatch: pytest.MonkeyPatch) -> None:
    model = BundledEmbedding()
    embed, asked = model.embed, list[str]()

    def counted(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.extend(texts)
        return embed(texts)

    monkeypatch.setattr(model, "embed", counted)
    first = model.get_query_embedding(TEXTS[0])
    kept = list(first)
    first[0] = 9.0
    assert model.get_query_embedding(TEXTS[0]) == kept == model.get_text_embedding(TEXTS[0])
    assert asked == [TEXTS[0], TEXTS[0]]  # once as a question, once as a passage


def test_near_texts_are_nearer_than_others(encoder: OnnxEncoder) -> None:
    founded, established, other = encoder.embed(
        [TEXTS[0], TEXTS[1], "Bake the bread until the crust is brown."]
    )
    assert founded @ established > 0.75 > 0.6 > founded @ other


def test_only_the_first_510_tokens_are_read(encoder: OnnxEncoder) -> None:
    whole, more = encoder.embed(["word " * 510, "word " * 510 + "cable " * 50])
    assert whole.tobytes() == more.tobytes()


def test_threads_share_one_encoder() -> None:
    shared = OnnxEncoder(threads=1)
    results: dict[int, bytes] = {}

    def embed(number: int) -> None:
        results[number] = shared.embed(TEXTS[:3]).tobytes()

    threads = [threading.Thread(target=embed, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results.values())) == 1


def test_missing_files_name_the_command(tmp_path: Path) -> None:
    environment = {"LOREGRAPH_MODELS": str(tmp_path)}
    with pytest.raises(ModelUnavailable, match=r"not installed.*run `loregraph models fetch`"):
        OnnxEncoder(environment=environment).embed(["text"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda data: data[: len(data) // 2], "is damaged.*bytes, expected", id="cut"),
        pytest.param(lambda data: data[:-1] + b"?", "is another file.*SHA-256", id="changed"),
    ],
)
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, damage, words: str) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / EMBEDDING.name
    shutil.copytree(models_folder() / EMBEDDING.name, folder)
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(ModelUnavailable, match=words):
        OnnxEncoder(environment={"LOREGRAPH_MODELS": str(tmp_path)}).embed(["text"])


def test_a_file_that_is_no_graph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"\x00damaged")
    with pytest.raises(ModelUnavailable, match="onnxruntime cannot load"):
        open_session(str(tmp_path / "model.onnx"))


def test_llama_index_gets_the_same_vectors_by_every_door(encoder: OnnxEncoder) -> None:
    embedding = BundledEmbedding(threads=2)
    texts = list(TEXTS[:3])
    expected = encoder.embed(texts).tolist()
    assert embedding.get_text_embedding_batch(texts) == expected
    assert embedding.get_text_embedding(texts[0]) == expected[0]
    assert embedding.get_query_embedding(texts[1]) == expected[1]
    assert asyncio.run(embedding.aget_text_embedding_batch(texts)) == expected
    assert asyncio.run(embedding.aget_query_embedding(texts[2])) == expected[2]
    assert embedding.embed(texts).tolist() == expected
    assert (embedding.model_name, embedding.dimension, embedding.window_tokens) == (
        "bge-small-en-v1.5",
        384,
        510,
    )
    assert embedding.identity == encoder.identity == "bge-small-en-v1.5/int8"


def test_questions_get_the_models_prefix_and_passages_none(encoder: OnnxEncoder) -> None:
    embedding = with_prefixes(BundledEmbedding(threads=2))
    prefix = "Represent this sentence for searching relevant passages: "
    assert embedding.get_query_embedding("cable") == encoder.embed([f"{prefix}cable"])[0].tolist()
    assert embedding.get_text_embedding("cable") == encoder.embed(["cable"])[0].tolist()
