from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from engine.embeddings.minilm import MiniLmEncoder
from engine.embeddings.tokenizer import (
    INSTALL_COMMAND,
    WEIGHTS_SHA256,
    ModelFiles,
    find_model_files,
)
from engine.errors import ModelUnavailable

TEXTS = (
    "Maeve Tolland founded the marine station at Port Ansgar in 1961.",
    "The station was established by a marine biologist.",
    "灯笼海缆 connects the island to the mainland.",
    "",
    "tide " * 400,
)


def _files() -> ModelFiles:
    try:
        return find_model_files({})
    except ModelUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache of this module's own, so that the first test builds and the others reuse."""
    return {"LOREGRAPH_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def encoder(environment: dict[str, str]) -> MiniLmEncoder:
    _files()
    return MiniLmEncoder(threads=2, environment=environment)


def _reference_vector(ids: list[int], tensors: dict[str, np.ndarray]) -> np.ndarray:
    """BERT's forward pass as the paper writes it, in float64, one head at a time."""
    weights = {name: values.astype(np.float64) for name, values in tensors.items()}

    def linear(values: np.ndarray, name: str) -> np.ndarray:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normalise(values: np.ndarray, name: str) -> np.ndarray:
        centred = values - values.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    part = "embeddings"
    hidden = weights[f"{part}.word_embeddings.weight"][ids]
    hidden = hidden + weights[f"{part}.position_embeddings.weight"][: len(ids)]
    hidden = normalise(
        hidden + weights[f"{part}.token_type_embeddings.weight"][0], f"{part}.LayerNorm"
    )
    for layer in range(6):
        part = f"encoder.layer.{layer}"
        sides = [linear(hidden, f"{part}.attention.self.{side}") for side in ("query", "key")]
        values = linear(hidden, f"{part}.attention.self.value")
        heads = []
        for head in range(12):
            columns = slice(head * 32, head * 32 + 32)
            scores = sides[0][:, columns] @ sides[1][:, columns].T / np.sqrt(32)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            heads.append(scores / scores.sum(axis=-1, keepdims=True) @ values[:, columns])
        attended = linear(np.concatenate(heads, axis=1), f"{part}.attention.output.dense")
        hidden = normalise(hidden + attended, f"{part}.attention.output.LayerNorm")
        wide = linear(hidden, f"{part}.intermediate.dense")
        wide = 0.5 * wide * (1 + erf(wide / np.sqrt(2)))
        narrow = linear(wide, f"{part}.output.dense")
        hidden = normalise(hidden + narrow, f"{part}.output.LayerNorm")
    mean = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_vectors_are_those_of_a_plain_bert_forward_pass(encoder: MiniLmEncoder) -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    files = _files()
    tensors = load_file(files.weights)
    tokeniser = Tokenizer.from_file(str(files.tokeniser))
    tokeniser.no_padding()
    tokeniser.enable_truncation(256)
    expected = [_reference_vector(tokeniser.encode(text).ids, tensors) for text in TEXTS]
    np.testing.assert_allclose(encoder.embed(TEXTS), expected, atol=1e-6)


def test_vectors_are_unit_float32_of_384_in_the_order_given(encoder: MiniLmEncoder) -> None:
    vectors = encoder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), encoder.dimension), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encoder.embed([]).shape == (0, 384)


def test_a_vector_depends_on_its_text_alone(encoder: MiniLmEncoder) -> None:
    together = encoder.embed(TEXTS)
    backwards = encoder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    assert together.tobytes() == backwards.tobytes() == alone.tobytes()


def test_near_texts_are_nearer_than_others(encoder: MiniLmEncoder) -> None:
    founded, established, other = encoder.embed(
        [TEXTS[0], TEXTS[1], "Bake the bread until the crust is brown."]
    )
    assert founded @ established > 0.4 > 0.2 > founded @ other


def test_threads_share_one_encoder(environment: dict[str, str]) -> None:
    _files()
    shared = MiniLmEncoder(threads=1, environment=environment)
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


def test_int8_is_near_and_of_another_identity(
    encoder: MiniLmEncoder, environment: dict[str, str]
) -> None:
    quantised = MiniLmEncoder(quantise=True, threads=2, environment=environment)
    cosines = (quantised.embed(TEXTS[:3]) * encoder.embed(TEXTS[:3])).sum(axis=1)
    assert cosines.min() > 0.97
    assert quantised.identity != encoder.identity


def test_the_second_start_reads_the_cache_and_not_the_weights(
    encoder: MiniLmEncoder, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = encoder.embed(TEXTS[:1]).tobytes()

    def refuse(files: ModelFiles) -> bytes:
        raise AssertionError(f"{files.weights} was read again")

    monkeypatch.setattr("engine.embeddings.minilm.read_weights", refuse)
    again = MiniLmEncoder(threads=2, environment=environment)
    assert again.embed(TEXTS[:1]).tobytes() == expected
    assert not list(Path(environment["LOREGRAPH_CACHE"]).glob("*.part"))


def test_an_unwritable_cache_builds_in_memory(
    encoder: MiniLmEncoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    uncached = MiniLmEncoder(threads=2, environment={"LOREGRAPH_CACHE": str(blocked)})
    assert uncached.embed(TEXTS[:1]).tobytes() == encoder.embed(TEXTS[:1]).tobytes()
    assert "cannot cache" in caplog.text


def test_a_folder_with_the_hubs_export_gives_the_same_vectors(
    encoder: MiniLmEncoder, environment: dict[str, str], tmp_path: Path
) -> None:
    import onnx

    (tmp_path / "onnx").mkdir()
    (tmp_path / "tokenizer.json").write_bytes(_files().tokeniser.read_bytes())
    onnx.save(_hub_like_export(), tmp_path / "onnx" / "model.onnx")
    folder = environment | {"LOREGRAPH_MINILM": str(tmp_path)}
    exported = MiniLmEncoder(threads=2, environment=folder)
    np.testing.assert_allclose(exported.embed(TEXTS), encoder.embed(TEXTS), atol=1e-6)
    assert re.fullmatch(r"all-MiniLM-L6-v2/fp32/[0-9a-f]{12}", exported.identity)


def _hub_like_export() -> object:
    """Our graph with the hub's inputs and output: three int64 inputs, the last hidden state.

    The two inputs that ours does not need enter as zeros, so that wrong fills would show.
    """
    from onnx import TensorProto, helper
    from safetensors.numpy import load_file

    from engine.embeddings.minilm import graph_from_tensors

    model = graph_from_tensors(load_file(_files().weights))
    graph = model.graph
    pooling = [node for node in graph.node if node.op_type in ("ReduceMean", "LpNormalization")]
    hidden = pooling[0].input[0]
    for node in pooling:
        graph.node.remove(node)
    names = ("input_ids", "attention_mask", "token_type_ids")
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["narrow_ids"], to=TensorProto.INT32),
        helper.make_node("Sub", ["attention_mask", "one"], ["no_mask"]),
        helper.make_node("Add", ["no_mask", "token_type_ids"], ["zeros"]),
        helper.make_node("Cast", ["zeros"], ["zeros_float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["zeros_float", "last_axis"], ["zeros_wide"]),
    ]
    end = helper.make_node("Add", [hidden, "zeros_wide"], ["last_hidden_state"])
    graph.node[0].input[0] = "narrow_ids"
    body = list(graph.node)
    del graph.node[:], graph.input[:], graph.output[:]
    graph.node.extend([*nodes, *body, end])
    graph.initializer.append(helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    graph.initializer.append(helper.make_tensor("last_axis", TensorProto.INT64, [1], [2]))
    shape = ["batch", "sequence"]
    graph.input.extend(helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in names)
    graph.output.append(
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, 384])
    )
    return model


def test_missing_weights_name_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match=re.escape(INSTALL_COMMAND)):
        MiniLmEncoder(environment={}).embed(["text"])


def test_a_folder_that_lacks_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=re.escape(str(tmp_path))):
        MiniLmEncoder(environment={"LOREGRAPH_MINILM": str(tmp_path)}).embed(["text"])


def test_other_weights_under_the_same_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(_files().tokeniser.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not the weights")
    folder = {"LOREGRAPH_MINILM": str(tmp_path), "LOREGRAPH_CACHE": str(tmp_path / "cache")}
    with pytest.raises(ModelUnavailable, match=WEIGHTS_SHA256):
        MiniLmEncoder(environment=folder).embed(["text"])


def test_a_damaged_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "tokenizer.json").write_bytes(_files().tokeniser.read_bytes())
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"\x00damaged")
    folder = {"LOREGRAPH_MINILM": str(tmp_path), "LOREGRAPH_CACHE": str(tmp_path / "cache")}
    with pytest.raises(ModelUnavailable, match="ONNX export"):
        MiniLmEncoder(environment=folder).embed(["text"])


def test_an_export_of_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["height", "width"])
    edges = helper.make_tensor_value_info("edges", TensorProto.FLOAT, ["height", "width"])
    graph = helper.make_graph(
        [helper.make_node("Abs", ["pixels"], ["edges"])], "g", [pixels], [edges]
    )
    (tmp_path / "onnx").mkdir()
    (tmp_path / "tokenizer.json").write_bytes(_files().tokeniser.read_bytes())
    onnx.save(helper.make_model(graph, ir_version=9), tmp_path / "onnx" / "model.onnx")
    folder = {"LOREGRAPH_MINILM": str(tmp_path), "LOREGRAPH_CACHE": str(tmp_path / "cache")}
    with pytest.raises(ModelUnavailable, match=r"ONNX export.*pixels"):
        MiniLmEncoder(environment=folder).embed(["text"])


def test_llama_index_gets_the_same_vectors_by_every_door(
    encoder: MiniLmEncoder, environment: dict[str, str]
) -> None:
    from engine.embeddings.local import BundledEmbedding

    embedding = BundledEmbedding(threads=2, environment=environment)
    texts = list(TEXTS[:3])
    expected = encoder.embed(texts).tolist()
    assert embedding.get_text_embedding_batch(texts) == expected
    assert embedding.get_text_embedding(texts[0]) == expected[0]
    assert embedding.get_query_embedding(texts[1]) == expected[1]
    assert asyncio.run(embedding.aget_text_embedding_batch(texts)) == expected
    assert asyncio.run(embedding.aget_query_embedding(texts[2])) == expected[2]
    assert embedding.embed(texts).tolist() == expected
    assert (embedding.model_name, embedding.dimension, embedding.window_tokens) == (
        "all-MiniLM-L6-v2",
        384,
        254,
    )
    assert embedding.identity == encoder.identity == "all-MiniLM-L6-v2/fp32"
