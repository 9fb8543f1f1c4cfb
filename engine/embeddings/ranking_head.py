"""Second head of the bundled cross-encoder, which ranks what stands on the same pages.

The model's own logit tells whether a text answers at all. Which of several texts of a page answers
a question in other words is told by a copy of its last three layers, whose weights are changed by
products of low rank (Hu et al., "LoRA", 2021), fitted by `tests/benchmarks/fit_cross_encoder.py` to
questions on manuals. `ranking_head.npz` (Apache-2.0, as the model) holds for each constant of the
model's graph `<name>/a` and `<name>/b`, whose product is added, or `<name>` itself, which is.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bundled import open_session
from .onnx_messages import CONTRIBUTED, model, node, read_tensors, tensor

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FIRST, LAYERS, HEADS, WIDTH = 9, 12, 12, 384
"""First changed layer, number of layers, attention heads, and length of a state."""
EPSILON = 1e-12
LARGEST = 127
"""Largest int8 weight; weights lie evenly around 0."""
PRODUCTS = {
    "attention.self.query": 0,
    "attention.self.key": 10,
    "attention.self.value": 11,
    "attention.output.dense": 13,
    "intermediate.dense": 14,
    "output.dense": 15,
}
"""Products of a layer, and where each one's constant stands behind the first of its layer."""

Floats = NDArray[np.float64]


def product_name(layer: int, part: str) -> str:
    """Return the name in the graph of the weights of a product, without `_quantized`."""
    return f"onnx::MatMul_{1662 + 16 * layer + PRODUCTS[part]}"


class RankingHead:
    """Head that ranks texts by the states of the layers below it; thread-safe.

    Args:
        encoder: the bundled cross-encoder's ONNX graph.

    Raises:
        ValueError: it is no ONNX graph, or another one.
    """

    def __init__(self, encoder: bytes) -> None:
        constants = _Constants(encoder)
        parts = [part for layer in range(FIRST, LAYERS) for part in _layer(constants, layer)]
        graph = model(parts, source=str(FIRST), result=str(LAYERS), shape=(1, "length", WIDTH))
        self._session: InferenceSession = open_session(graph)
        self._pool = constants.weights("bert.pooler.dense.weight")
        self._pool_bias = constants.plain("bert.pooler.dense.bias")
        self._classify = constants.weights("classifier.weight")
        self._classify_bias = constants.plain("classifier.bias")

    def __call__(self, states: NDArray[np.float32]) -> float:
        """Return the logit of a pair by all its states (tokens, 384), the first one's leading."""
        (last,) = self._session.run(None, {str(FIRST): states[None]})
        pooled = np.tanh(last[0, 0].astype(np.float64) @ self._pool + self._pool_bias)
        return float((pooled @ self._classify + self._classify_bias)[0])


class _Constants:
    """Constants of the graph with what is added to them."""

    def __init__(self, encoder: bytes) -> None:
        self._changes = _changes()
        names = [product_name(layer, part) for layer in range(FIRST, LAYERS) for part in PRODUCTS]
        names += ["bert.pooler.dense.weight", "classifier.weight"]
        quantised = [f"{name}{end}" for name in names for end in ("_quantized", "_scale")]
        plain = [
            f"bert.encoder.layer.{layer}.{part}"
            for layer in range(FIRST, LAYERS)
            for part in (*(f"{each}.bias" for each in PRODUCTS), *_NORMS)
        ]
        heads = ["bert.pooler.dense.bias", "classifier.bias"]
        self._of: Mapping[str, NDArray[np.generic]] = read_tensors(
            encoder, [*quantised, *plain, *heads]
        )

    def weights(self, name: str) -> Floats:
        """Return weights, inputs × outputs."""
        whole = self._at(f"{name}_quantized") * self._at(f"{name}_scale")
        return np.asarray(whole + self._added(name))

    def plain(self, name: str) -> Floats:
        """Return a constant of floats."""
        return np.asarray(self._at(name) + self._added(name))

    def _added(self, name: str) -> Floats | float:
        if f"{name}/a" in self._changes:
            return np.asarray(self._changes[f"{name}/a"] @ self._changes[f"{name}/b"])
        return self._changes.get(name, 0.0)

    def _at(self, name: str) -> Floats:
        if name not in self._of:
            raise ValueError(f"the cross-encoder has no constant {name!r}")
        return self._of[name].astype(np.float64)


_NORMS = tuple(
    f"{part}.LayerNorm.{end}"
    for part in ("attention.output", "output")
    for end in ("weight", "bias")
)


def _layer(constants: _Constants, number: int) -> list[bytes]:
    """Return the parts of a layer from the value named `number` to that of the next number."""
    name, before, after = f"bert.encoder.layer.{number}", str(number), str(number + 1)
    seen, first, wide, gelu = (f"{number}.{value}" for value in ("seen", "first", "wide", "gelu"))
    asked = [f"attention.self.{part}" for part in ("query", "key", "value")]
    bias = np.concatenate([constants.plain(f"{name}.{part}.bias") for part in asked])
    plain = [*_NORMS, *(f"{part}.bias" for part in list(PRODUCTS)[3:])]

    def product(part: str, source: str, output: str) -> list[bytes]:
        weights = constants.weights(product_name(number, part))
        step = np.abs(weights).max() / LARGEST
        own = f"{number}.{part}"
        return [
            tensor(f"{own}.w", np.rint(weights / step).astype(np.int8)),
            tensor(f"{own}.step", np.float32(step).reshape(1)),
            _contributed("DynamicQuantizeMatMul", [source, f"{own}.w", f"{own}.step"], output),
        ]

    def normed(part: str, source: str, beside: str, output: str) -> bytes:
        by = [f"{number}.{part}.LayerNorm.{end}" for end in ("weight", "bias")]
        inputs = [source, beside, *by, f"{number}.{part}.dense.bias"]
        return _contributed("SkipLayerNormalization", inputs, output, epsilon=EPSILON)

    told = [f"{number}.{part}.out" for part in asked]
    return [
        tensor(f"{number}.bias", bias.astype(np.float32)),
        *(
            tensor(f"{number}.{part}", constants.plain(f"{name}.{part}").astype(np.float32))
            for part in plain
        ),
        *(
            part
            for each, out in zip(asked, told, strict=True)
            for part in product(each, before, out)
        ),
        _contributed("MultiHeadAttention", [*told, f"{number}.bias"], seen, num_heads=HEADS),
        *product("attention.output.dense", seen, f"{number}.joined"),
        normed("attention.output", f"{number}.joined", before, first),
        *product("intermediate.dense", first, wide),
        _contributed("BiasGelu", [wide, f"{number}.intermediate.dense.bias"], gelu),
        *product("output.dense", gelu, f"{number}.narrow"),
        normed("output", f"{number}.narrow", first, after),
    ]


def _contributed(operator: str, inputs: list[str], output: str, **attributes: float) -> bytes:
    return node(operator, inputs, output, domain=CONTRIBUTED, attributes=attributes)


def _changes() -> dict[str, Floats]:
    """Read the file, as float64: products of the same bits round to the same weights anywhere."""
    data = (files(__package__) / "ranking_head.npz").read_bytes()
    with np.load(BytesIO(data), allow_pickle=False) as held:
        return {name: held[name].astype(np.float64) for name in held.files}
