"""ONNX models as serialised messages: nodes, tensors and graphs, without the onnx package.

Field numbers are those of onnx.proto. Messages of one kind merge where they are joined.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
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


Given = Mapping[str, Sequence[int | str]]
"""Inner values of a graph that are given to a part of it, float32, with their shapes."""
_GRAPH, _NODE, _CONSTANT, _INPUT, _OUTPUT, _INNER = 7, 1, 5, 11, 12, 13
_CONSTANT_NAME, _NAME = 8, 1


def part(model: bytes, results: Sequence[str], *, given: Given | None = None) -> bytes:
    """Return the part of an ONNX model that makes `results`, outputs or inner values.

    It begins with the model's inputs and the inner values that are `given`; what it does not need
    is left out.
    """
    given = given or {}
    whole = memoryview(model)
    fields = list(_fields(next(value for number, value, _ in _fields(whole) if number == _GRAPH)))
    needed, nodes = set(results), list[memoryview]()
    for number, value, field_ in reversed(fields):
        if number == _NODE and any(name in needed - given.keys() for name in _texts(value, 2)):
            nodes.append(field_)
            needed.update(_texts(value, 1))
    kept: list[bytes | memoryview] = [*reversed(nodes)]
    known = dict[str, memoryview]()
    for number, value, field_ in fields:
        if number == _OUTPUT:
            known[_texts(value, _NAME)[0]] = field_
        elif number in (_CONSTANT, _INPUT):
            name = _texts(value, _NAME if number == _INPUT else _CONSTANT_NAME)[0]
            if name in needed - given.keys():
                kept.append(field_)
        elif number not in (_NODE, _INNER):
            kept.append(field_)
    kept += [field(_INPUT, _value(name, given[name])) for name in given]
    kept += [known.get(name) or field(_OUTPUT, field(_NAME, name)) for name in results]
    rest = [field_ for number, _, field_ in _fields(whole) if number != _GRAPH]
    return b"".join((*rest, field(_GRAPH, b"".join(kept))))


def _texts(message: memoryview, number: int) -> list[str]:
    """Return the texts of a field of a message."""
    return [str(value, "utf8") for key, value, _ in _fields(message) if key == number]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Give number, value and whole of each field of a message; plain numbers have no value."""
    place = 0
    while place < len(message):
        begin = place
        key, place = _read_varint(message, place)
        size = {_FLOAT: 4, _DOUBLE: 8}.get(key & 7, 0)
        if key & 7 == _BYTES:
            size, place = _read_varint(message, place)
        elif key & 7 == _VARINT:
            _, place = _read_varint(message, place)
        yield key >> 3, message[place : place + size], message[begin : place + size]
        place += size


def _read_varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return the whole number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
