"""ONNX models that are written without the onnx package."""

from __future__ import annotations

import numpy as np

from engine.embeddings.bundled import open_session
from engine.embeddings.onnx_messages import model, node, tensor, with_output


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
