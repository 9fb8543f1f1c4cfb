"""MiniLM as an ONNX graph: from bare tensors, or from the model hub's export.

Both graphs take `ids` (int32, texts × tokens, without padding) and give `vectors` (float32,
texts × 384): the mean over the tokens, L2-normalised. There is no mask, because texts of unlike
length are never run together.

The architecture is BERT (Devlin et al. 2019, section 3) with post-layer-norm and exact GELU; the
fused operators of `com.microsoft` are part of every onnxruntime build for CPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

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
        raise ValueError(f"its inputs are {names}, expected input_ids among them")
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
