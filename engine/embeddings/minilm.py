"""MiniLM on onnxruntime, built from bare tensors or read from the model hub's export.

Both graphs take `ids` (int32, texts × tokens, without padding) and give `vectors` (float32, texts ×
384): the mean over the tokens, L2-normalised. The architecture is BERT (Devlin et al. 2019, section
3) with post-layer-norm and exact GELU. Each text is run by itself, unpadded: on two cores that
costs less CPU than padded batches, and a vector depends on its text alone, not on its batch, their
order or the number of threads (int8 activations are scaled per run).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from .tokenizer import (
    MODEL_NAME,
    ModelFiles,
    cache_folder,
    cached_file,
    find_model_files,
    read_weights,
    weights_key,
)

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_DIMENSION = 384
MODEL_WINDOW_TOKENS = 254
"""Of the 256 that it was trained on, [CLS] and [SEP] take two."""
_FORMAT = 1
"""Part of the cached file's name: raise it when the graph that is built changes."""
_MAX_THREADS = 4
_VOCABULARY = 30_522


class MiniLmEncoder:
    """all-MiniLM-L6-v2 on onnxruntime; loaded on first use, thread-safe.

    Args:
        quantise: int8 weights: a quarter of the size, about 2.5 times as fast, cosine about .994
            to the exact vector; the two kinds must never be compared with one another.
        threads: threads of one run; by default the processors of this process, four at most.
        environment: where to look for `LOREGRAPH_MINILM` and `LOREGRAPH_CACHE`.
    """

    dimension = MODEL_DIMENSION
    window_tokens = MODEL_WINDOW_TOKENS

    def __init__(
        self,
        *,
        quantise: bool = False,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._quantise = quantise
        self._threads = threads
        self._environment = environment
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    @cached_property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared.

        Raises:
            ModelUnavailable: the model is not installed.
        """
        files = find_model_files(self._environment)
        name = f"{MODEL_NAME}/{self._precision}"
        return name if files.kind == "safetensors" else f"{name}/{weights_key(files)[:12]}"

    @property
    def _precision(self) -> str:
        return "int8" if self._quantise else "fp32"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 384), in input order.

        Only the first 254 tokens of a text are read: cut longer ones with `tokeniser.windows`.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if texts:
            tokeniser, session = self._parts()
            for row, text in enumerate(texts):
                ids = np.array([tokeniser.encode(text).ids], dtype=np.int32)
                vectors[row] = session.run(["vectors"], {"ids": ids})[0][0]
        return vectors

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                files = find_model_files(self._environment)
                self._loaded = (_load_tokeniser(files), self._session(files))
            return self._loaded

    def _session(self, files: ModelFiles) -> InferenceSession:
        key = weights_key(files)[:16]
        name = f"minilm-{key}-v{_FORMAT}-{self._precision}.onnx"
        folder = cache_folder(self._environment)
        model = cached_file(name, lambda: _model_bytes(files, self._quantise), folder=folder)
        return _open_session(model if isinstance(model, bytes) else str(model), self._threads)


def _load_tokeniser(files: ModelFiles) -> Tokenizer:
    from .tokenizer import read_tokeniser

    tokeniser = read_tokeniser(files.tokeniser)
    if tokeniser.get_vocab_size() != _VOCABULARY:
        raise ModelUnavailable(
            f"tokeniser of another model: {str(files.tokeniser)!r} has "
            f"{tokeniser.get_vocab_size()} words, {MODEL_NAME} has {_VOCABULARY}; "
            f"install the files of {MODEL_NAME}"
        )
    tokeniser.enable_truncation(MODEL_WINDOW_TOKENS + 2)
    return tokeniser


def _open_session(model: str | bytes, threads: int | None) -> InferenceSession:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or min(_processors(), _MAX_THREADS)
    options.inter_op_num_threads = 1
    # A spinning worker burns a core while it waits and makes CPU seconds lie.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (
        failures.Fail,
        failures.InvalidGraph,
        failures.InvalidProtobuf,
        failures.NoSuchFile,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        where = "the model built in memory" if isinstance(model, bytes) else repr(model)
        raise ModelUnavailable(
            f"onnxruntime cannot load {where}: {error}; if it is a cached file, delete it"
        ) from error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _model_bytes(files: ModelFiles, quantise: bool) -> bytes:
    model = _build(files)
    return _quantised(model) if quantise else bytes(model.SerializeToString(deterministic=True))


def _build(files: ModelFiles) -> ModelProto:

    content = read_weights(files)
    if files.kind == "safetensors":
        from safetensors.numpy import load

        return graph_from_tensors(load(content))
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # no stubs

    try:
        return graph_from_export(onnx.load_model_from_string(content))
    except (DecodeError, IndexError, ValueError) as error:
        raise ModelUnavailable(
            f"not the ONNX export of {MODEL_NAME}: {str(files.weights)!r} ({error}); "
            "install the official files"
        ) from error


def _quantised(model: ModelProto) -> bytes:
    """Weights as int8, one scale a column (one scale a matrix ranks measurably worse)."""
    import tempfile
    from pathlib import Path

    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # The mark says that shapes need no inference; unmarked, the quantiser configures root logging.
    mark = model.metadata_props.add()
    mark.key, mark.value = "onnx.quant.pre_process", "onnxruntime.quant"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "int8.onnx"
        quantize_dynamic(
            model,
            path,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        return path.read_bytes()


if TYPE_CHECKING:
    Tensors = Mapping[str, NDArray[np.float32]]

DIMENSION = 384
_LAYERS = 6
_HEADS = 12
_LAYER_NORM_EPSILON = 1e-12
_FUSED = "com.microsoft"
_OPSET = 18
_IR_VERSION = 9


class _GraphBuilder:
    """Builder of ONNX nodes and constants; outputs are named by operator order."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weight(self, name: str, *, transposed: bool = False) -> str:
        values = self.tensors[name]
        return self.constant(name, values.T if transposed else values)

    def apply(
        self,
        operator: str,
        inputs: list[str],
        *,
        domain: str = "",
        output: str = "",
        **attributes: float | int,
    ) -> str:
        from onnx import helper

        output = output or f"{operator}_{len(self.nodes)}"
        node = helper.make_node(operator, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(*item) for item in sorted(attributes.items()))
        self.nodes.append(node)
        return output


def graph_from_tensors(tensors: Tensors) -> ModelProto:
    """Build the whole encoder from the tensors of `model.safetensors`."""
    from onnx import TensorProto, helper

    builder = _GraphBuilder(tensors)
    hidden = _embeddings(builder)
    for layer in range(_LAYERS):
        hidden = _layer(builder, f"encoder.layer.{layer}.", hidden=hidden)
    _pooled(builder, hidden)
    graph = helper.make_graph(
        builder.nodes,
        "minilm",
        [helper.make_tensor_value_info("ids", TensorProto.INT32, ["texts", "tokens"])],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSION])],
        builder.constants,
    )
    operators = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=operators, ir_version=_IR_VERSION)


def _embeddings(builder: _GraphBuilder) -> str:
    """Word + position + the one token type, normalised.

    There is only ever one sentence, so its token type's row is added to the positions here.
    """
    part = "embeddings."
    positions = builder.tensors[f"{part}position_embeddings.weight"]
    types = builder.tensors[f"{part}token_type_embeddings.weight"]
    inputs = [
        "ids",
        "",
        builder.weight(f"{part}word_embeddings.weight"),
        builder.constant("positions", positions + types[0]),
        "",
        builder.weight(f"{part}LayerNorm.weight"),
        builder.weight(f"{part}LayerNorm.bias"),
    ]
    builder.apply(
        "EmbedLayerNormalization",
        inputs,
        domain=_FUSED,
        output="embedded",
        epsilon=_LAYER_NORM_EPSILON,
    )
    builder.nodes[-1].output.append("unused_mask_index")
    return "embedded"


def _layer(builder: _GraphBuilder, part: str, *, hidden: str) -> str:
    attended = _attention(builder, part, hidden=hidden)
    projected = _matmul(builder, attended, weight=f"{part}attention.output.dense.weight")
    hidden = _add_and_normalise(builder, projected, residual=hidden, part=f"{part}attention.output")
    widened = _matmul(builder, hidden, weight=f"{part}intermediate.dense.weight")
    bias = builder.weight(f"{part}intermediate.dense.bias")
    activated = builder.apply("BiasGelu", [widened, bias], domain=_FUSED)
    narrowed = _matmul(builder, activated, weight=f"{part}output.dense.weight")
    return _add_and_normalise(builder, narrowed, residual=hidden, part=f"{part}output")


def _attention(builder: _GraphBuilder, part: str, *, hidden: str) -> str:
    prefix = f"{part}attention.self."
    sides = ("query", "key", "value")
    weights = [builder.tensors[f"{prefix}{side}.weight"].T for side in sides]
    biases = [builder.tensors[f"{prefix}{side}.bias"] for side in sides]
    inputs = [
        hidden,
        builder.constant(f"{prefix}weights", np.concatenate(weights, axis=1)),
        builder.constant(f"{prefix}biases", np.concatenate(biases)),
    ]
    return builder.apply("Attention", inputs, domain=_FUSED, num_heads=_HEADS)


def _matmul(builder: _GraphBuilder, values: str, *, weight: str) -> str:
    return builder.apply("MatMul", [values, builder.weight(weight, transposed=True)])


def _add_and_normalise(builder: _GraphBuilder, values: str, *, residual: str, part: str) -> str:
    inputs = [
        values,
        residual,
        builder.weight(f"{part}.LayerNorm.weight"),
        builder.weight(f"{part}.LayerNorm.bias"),
        builder.weight(f"{part}.dense.bias"),
    ]
    return builder.apply(
        "SkipLayerNormalization", inputs, domain=_FUSED, epsilon=_LAYER_NORM_EPSILON
    )


def _pooled(builder: _GraphBuilder, hidden: str) -> None:
    axis = builder.constant("token_axis", np.array([1], dtype=np.int64))
    mean = builder.apply("ReduceMean", [hidden, axis], keepdims=0)
    builder.apply("LpNormalization", [mean], output="vectors", axis=1, p=2)


def graph_from_export(model: ModelProto) -> ModelProto:
    """Adapt the hub's export to take `ids` alone, pool and normalise.

    Args:
        model: inputs `input_ids`, `attention_mask`, `token_type_ids` (int64, texts × tokens),
            first output the last hidden state (texts × tokens × 384). Changed in place.

    Raises:
        ValueError: another kind of model.
    """
    from onnx import TensorProto, helper

    graph = model.graph
    names = sorted(given.name for given in graph.input)
    if "input_ids" not in names or not graph.output:
        raise ValueError(f"inputs are {names}, expected input_ids among them")
    builder = _GraphBuilder({})
    builder.apply("Cast", ["ids"], output="input_ids", to=TensorProto.INT64)
    shape = builder.apply("Shape", ["input_ids"])
    fills = {"attention_mask": 1, "token_type_ids": 0}
    for name in sorted(fills.keys() & names):
        value = helper.make_tensor(f"{name}_fill", TensorProto.INT64, [1], [fills[name]])
        builder.nodes.append(helper.make_node("ConstantOfShape", [shape], [name], value=value))
    front = list(builder.nodes)
    builder.nodes.clear()
    hidden = graph.output[0].name
    mean = _export_mean(builder, hidden, opset=_default_opset(model))
    builder.apply("LpNormalization", [mean], output="vectors", axis=1, p=2)
    nodes = [*front, *graph.node, *builder.nodes]
    for field, values in (("node", nodes), ("input", []), ("output", [])):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    graph.initializer.extend(builder.constants)
    texts_tokens = ["texts", "tokens"]
    graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT32, texts_tokens))
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSION])
    graph.output.append(vectors)
    return model


def _export_mean(builder: _GraphBuilder, hidden: str, *, opset: int) -> str:
    """Add the mean over tokens; axes are an attribute before opset 18, an input after."""
    from onnx import helper

    if opset >= _OPSET:
        axis = builder.constant("pooling_axis", np.array([1], dtype=np.int64))
        return builder.apply("ReduceMean", [hidden, axis], keepdims=0)
    node = helper.make_node("ReduceMean", [hidden], ["pooled_mean"], axes=[1], keepdims=0)
    builder.nodes.append(node)
    return "pooled_mean"


def _default_opset(model: ModelProto) -> int:
    versions = [int(opset.version) for opset in model.opset_import if not opset.domain]
    return max(versions)
