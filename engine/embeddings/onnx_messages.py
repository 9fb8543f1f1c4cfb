"""ONNX models as serialised messages: nodes, tensors and graphs, without the onnx package.

Field numbers are those of onnx.proto. Messages of one kind merge where they are joined.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_VARINT, _BYTES, _FLOAT = 0, 2, 5
_TYPES = {"float32": 1, "int8": 3}
_IR_VERSION, _OPSET = 8, 17
CONTRIBUTED = "com.microsoft"
"""Domain of onnxruntime's own operators."""


def field(number: int, value: bytes | str | int | float) -> bytes:
    """Return a field of a message."""
    match value:
        case int():
            return _varint(number << 3 | _VARINT) + _varint(value)
        case float():
            return _varint(number << 3 | _FLOAT) + struct.pack("<f", value)
        case str():
            return field(number, value.encode())
        case bytes():
            return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    head = b""
    while value > 0x7F:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def node(
    operator: str,
    inputs: Sequence[str],
    output: str,
    *,
    domain: str = "",
    attributes: Mapping[str, int | float] | None = None,
) -> bytes:
    """Return a node of a graph, with one output."""
    parts = [field(1, name) for name in inputs]
    parts += [field(2, output), field(4, operator), field(7, domain)]
    for name, value in (attributes or {}).items():
        number, kind = (3, 2) if isinstance(value, int) else (2, 1)
        parts.append(field(5, field(1, name) + field(number, value) + field(20, kind)))
    return field(1, b"".join(parts))


def tensor(name: str, values: NDArray[np.generic]) -> bytes:
    """Return a constant of a graph."""
    dimensions = b"".join(field(1, size) for size in values.shape)
    kind = field(2, _TYPES[values.dtype.name])
    return field(5, dimensions + kind + field(8, name) + field(9, values.tobytes()))


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = (field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    kind = field(1, _TYPES["float32"]) + field(2, b"".join(sizes))
    return field(1, name) + field(2, field(1, kind))


def model(parts: Iterable[bytes], *, source: str, result: str, shape: Sequence[int | str]) -> bytes:
    """Return a model of nodes and tensors with one input and one output of the same shape."""
    graph = b"".join((field(2, "graph"), *parts))
    graph += field(11, _value(source, shape)) + field(12, _value(result, shape))
    own = field(8, field(1, "") + field(2, _OPSET))
    contributed = field(8, field(1, CONTRIBUTED) + field(2, 1))
    return field(1, _IR_VERSION) + field(7, graph) + own + contributed


def with_output(model: bytes, name: str) -> bytes:
    """Return an ONNX model that also gives the inner value `name`."""
    return model + field(7, field(12, field(1, name)))
