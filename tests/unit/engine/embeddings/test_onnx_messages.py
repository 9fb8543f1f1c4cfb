"""ONNX models that are written without the onnx package."""

from __future__ import annotations

import numpy as np

from engine.embeddings.bundled import open_session
from engine.embeddings.onnx_messages import model, node, part, tensor


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


WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
STEPS = [
    tensor("by", WEIGHTS),
    node("MatMul", ["given", "by"], "product"),
    node("LeakyRelu", ["product"], "result", attributes={"alpha": 0.5}),
]
WHOLE = model(STEPS, source="given", result="result", shape=(1, "length", 2))
GIVEN = np.array([[[1.0, 0.0], [-1.0, 0.0]]], dtype=np.float32)


def test_an_inner_value_becomes_a_result() -> None:
    (product,) = open_session(part(WHOLE, ["product"])).run(None, {"given": GIVEN})

    assert np.array_equal(product, GIVEN @ WEIGHTS)


def test_a_part_of_a_model_goes_on_from_a_given_value() -> None:
    rest = open_session(part(WHOLE, ["result"], given={"product": (1, "length", 2)}))

    assert [each.name for each in rest.get_inputs()] == ["product"]
    (result,) = rest.run(None, {"product": GIVEN @ WEIGHTS})
    (whole,) = open_session(WHOLE).run(None, {"given": GIVEN})
    assert np.array_equal(result, whole)


def test_a_part_holds_only_the_constants_that_it_needs() -> None:
    rest = part(WHOLE, ["result"], given={"product": (1, "length", 2)})

    assert WEIGHTS.tobytes() in WHOLE
    assert WEIGHTS.tobytes() not in rest
