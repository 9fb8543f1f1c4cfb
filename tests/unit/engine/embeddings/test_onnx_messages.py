"""ONNX models that are written without the onnx package."""

from __future__ import annotations

import numpy as np
import pytest

from engine.embeddings.bundled import open_session
from engine.embeddings.onnx_messages import model, node, read_tensors, tensor, with_output


def test_a_written_model_computes_what_its_nodes_say() -> None:
    by = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    parts = [
        tensor("by", by),
        node("MatMul", ["given", "by"], "product"),
        node("LeakyRelu", ["product"], "result", attributes={"alpha": 0.5}),
    ]
    session = open_session(model(parts, source="given", result="result", shape=(1, "length", 2)))
    given = np.array([[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]], dtype=np.float32)

    (result,) = session.run(None, {"given": given})

    product = given @ by
    assert np.array_equal(result, np.where(product > 0, product, 0.5 * product))


def test_an_inner_value_becomes_an_output() -> None:
    assert with_output(b"model", "x") == b"model" + bytes([58, 5, 98, 3, 10, 1]) + b"x"


def _written() -> bytes:
    by, small = np.eye(2, dtype=np.float32), np.array([[-3, 5]], dtype=np.int8)
    parts = [
        tensor("by", by),
        tensor("small", small),
        node("MatMul", ["given", "by"], "result"),
    ]
    return model(parts, source="given", result="result", shape=(1, "length", 2))


def test_constants_are_read_by_name() -> None:
    found = read_tensors(_written(), ["small", "by", "absent"])

    assert set(found) == {"small", "by"}
    assert found["small"].tolist() == [[-3, 5]]
    assert np.array_equal(found["by"], np.eye(2))


def test_a_constant_that_is_written_to_changes_the_model() -> None:
    buffer = bytearray(_written())
    read_tensors(buffer, ["by"])["by"][...] *= 3

    (result,) = open_session(bytes(buffer)).run(None, {"given": np.ones((1, 1, 2), np.float32)})

    assert result.tolist() == [[[3.0, 3.0]]]


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(ValueError, match="not an ONNX model"):
        read_tensors(b"\x0f\x01\x02", ["by"])
    with pytest.raises(ValueError, match="ends within a number"):
        read_tensors(b"\x08\xff", ["by"])
