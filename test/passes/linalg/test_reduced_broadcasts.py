"""Counts of booleans along axes that they are broadcast over: no failure of the backend."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc


def _nodes(last):
    return [
        helper.make_node("Expand", ["x", "shape"], ["wide"]),
        helper.make_node("Greater", ["wide", "half"], ["found"]),
        *last,
    ]


COUNT = _nodes([
    helper.make_node("Cast", ["found"], ["ones"], to=7),
    helper.make_node("ReduceSum", ["ones", "axes"], ["y"], keepdims=0),
])  # fmt: skip
PLACES = _nodes([helper.make_node("NonZero", ["found"], ["y"])])
X = np.random.default_rng(0).random((5, 1), np.float32)


def _compile(nodes, size, axes, caplog):
    constants = {"half": np.float32(0.5), "axes": np.array(axes)}
    inputs = {"x": (np.float32, (size, 1)), "shape": (np.int64, (3,))}
    compiled = graphc.compile(build_model(nodes, inputs, ["y"], constants, opset=18), cache=False)
    assert "in a dispatch of its own" not in caplog.text
    return compiled


@pytest.mark.parametrize("size", [5, "n"])
@pytest.mark.parametrize("axes", [[0], [2], [0, 1, 2]])
def test_counts(size, axes, caplog):
    compiled = _compile(COUNT, size, axes, caplog)
    for shape in ([3, 5, 4], [1, 5, 9], [0, 5, 1]):
        wanted = (np.broadcast_to(X, shape) > 0.5).sum(axis=tuple(axes))
        (found,) = compiled.run(None, {"x": X, "shape": np.array(shape)})
        np.testing.assert_array_equal(found, wanted)


def test_places(caplog):
    compiled = _compile(PLACES, 5, [0], caplog)
    for shape in ([3, 5, 4], [1, 5, 9]):
        wanted = np.array(np.nonzero(np.broadcast_to(X, shape) > 0.5))
        (found,) = compiled.run(None, {"x": X, "shape": np.array(shape)})
        np.testing.assert_array_equal(found, wanted)
