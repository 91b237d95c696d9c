"""Tests of the reference for measurements of rounding."""

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from graphc.debugging.onnx.nodes import EVALUATOR, RUNTIME, evaluate_node
from graphc.debugging.onnx.reference import true_values
from graphc.errors import ReferenceRunError


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


def _evaluated(op_type: str, feeds: dict[str, np.ndarray], opset: int, **attributes):
    node = helper.make_node(op_type, list(feeds), ["y", "z"], **attributes)
    opsets = [helper.make_opsetid("", opset)]
    around = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=opsets)
    around.ir_version = 10
    return evaluate_node(node, feeds, around)


@pytest.mark.parametrize(("dtype", "by"), [(np.float32, RUNTIME), (ml_dtypes.bfloat16, EVALUATOR)])
def test_the_evaluator_does_not_take_what_onnxruntime_refuses(dtype, by):
    """Not even in types that ONNX Runtime lacks, or cannot take from numpy."""
    sizes = np.array([25, 7])
    found, evaluated_by = _evaluated("Split", {"x": np.ones((32, 1), dtype), "sizes": sizes}, 15)
    assert evaluated_by == by
    assert [found[name].shape for name in "yz"] == [(25, 1), (7, 1)]
    few = np.ones((26, 1), dtype)
    with pytest.raises(ReferenceRunError, match="exceeds the remaining size"):
        _evaluated("Split", {"x": few, "sizes": sizes}, 15)
    with pytest.raises(ReferenceRunError, match="ShapeInferenceError"):
        _evaluated("Split", {"x": few}, 12, split=[25, 7])
