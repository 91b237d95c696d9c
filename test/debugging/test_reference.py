"""Tests of the reference for measurements of rounding."""

import numpy as np
from onnx import helper

from graphc.debugging.onnx.reference import true_values


def test_functions_are_evaluated_in_float64():
    """Whose constants are float32."""
    x = np.random.default_rng(0).standard_normal((1, 3, 5), np.float32)
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[2])
    info = helper.make_tensor_value_info("x", 1, x.shape)
    graph = helper.make_graph([node], "g", [info], [helper.make_tensor_value_info("y", 1, x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    y = true_values(model, {"x": x}, ["y"])["y"]
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(2, keepdims=True)) / wide.std(2, keepdims=True)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, expected, rtol=1e-7)
