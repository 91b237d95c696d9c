"""Resizing by a kernel of our own: vectors behind the axis, and gathered ones along it."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import graphc

CASES = {
    "gathered, whole vectors": ([1, 2, 3, 16], [1, 2, 3, 32], "linear"),
    "gathered, with a rest": ([2, 3, 5, 7], [2, 3, 5, 19], "linear"),
    "gathered, channels behind": ([1, 9, 1, 3], [1, 23, 1, 3], "linear"),
    "lines, with a rest": ([2, 5, 18], [2, 12, 18], "linear"),
    "both axes": ([1, 2, 6, 20], [1, 2, 13, 33], "linear"),
    "four taps, smaller": ([1, 1, 21, 40], [1, 1, 9, 17], "cubic"),
    "several pieces": ([40, 30, 30], [40, 30, 45], "linear"),
    "several pieces of lines": ([3, 40, 100], [3, 90, 100], "linear"),
}


def _model(shape, operand, value, mode):
    """Resize of an image of `shape`, by an `operand` of this value: scales or sizes."""
    names = {"scales": ["x", "", "scales"], "sizes": ["x", "", "", "sizes"]}
    node = helper.make_node("Resize", names[operand], ["y"], mode=mode)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(value, operand)],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _check(model, compiled, shape):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("shape", "sizes", "mode"), CASES.values(), ids=CASES)
def test_compiled(shape, sizes, mode):
    model = _model(shape, "sizes", np.int64(sizes), mode)
    _check(model, graphc.compile(model), shape)


@pytest.mark.parametrize("channels", [3, 40])
def test_named_sizes(channels):
    """Images that become twice as high and wide, of any size, alone and between convolutions."""
    scales = np.float32([1, 1, 2, 2])
    model = _model(["n", channels, "h", "w"], "scales", scales, "linear")
    compiled = graphc.compile(model)
    for n, h, w in ((1, 5, 7), (2, 16, 32), (1, 33, 18), (3, 1, 1), (1, 5, 7)):
        _check(model, compiled, (n, channels, h, w))
