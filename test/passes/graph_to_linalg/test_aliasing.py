"""Tests that arrays of the caller are not modified: nothing is computed in their memory."""

import numpy as np
from numerics import build_model
from onnx import helper

import graphc

ROWS = 200
"""Enough that an array is used where it lies."""


def aligned(array):
    """`array` in memory that a device of this process takes as it is."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def test_inputs_stay_as_they_are():
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("ScatterND", ["x", "indices", "updates"], ["y"]),
    ]
    inputs = {
        "x": (np.float32, ["n", 64]), "indices": (np.int64, [2, 1]),
        "updates": (np.float32, [2, 64]),
    }  # fmt: skip
    x = np.arange(ROWS * 64, dtype=np.float32).reshape(ROWS, 64)
    feeds = {"indices": np.array([[3], [7]]), "updates": np.ones((2, 64), np.float32)}
    expected = x.copy()
    expected[[3, 7]] = 1
    with graphc.compile(build_model(nodes, inputs, ["same", "y"]), threads=1) as model:
        for given in (aligned(x), model.to_device(x)):
            same, y = model.run(None, {"x": given, **feeds})
            np.testing.assert_array_equal(same, x)
            np.testing.assert_array_equal(y, expected)
            after = given if isinstance(given, np.ndarray) else given.numpy()
            np.testing.assert_array_equal(after, x)


def test_what_is_read_elsewhere_stays_as_it_is():
    """Beside a scatter and a constant, which have the backend turn the order round."""
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["x"]),
        helper.make_node("Add", ["x", "b"], ["sum"]),
        helper.make_node("ScatterND", ["x", "indices", "updates"], ["y"]),
        helper.make_node("Pad", ["zero", "none"], ["constant"]),
    ]
    inputs = {"a": (np.float32, [3]), "b": (np.float32, [3])}
    known = {
        "indices": [[0]], "updates": np.array([-2], np.float32),
        "zero": np.zeros(1, np.float32), "none": [0, 0],
    }  # fmt: skip
    feeds = {name: np.full(3, 2, np.float32) for name in inputs}
    outputs = ["constant", "sum", "y"]
    with graphc.compile(build_model(nodes, inputs, outputs, known), threads=1) as model:
        _, total, y = model.run(None, feeds)
    np.testing.assert_array_equal(total, [6, 6, 6])
    np.testing.assert_array_equal(y, [-2, 4, 4])


def test_two_scatters_to_equal_constants():
    """The backend merges the equal constants into one."""
    nodes = [
        helper.make_node("Shape", ["updates"], ["size"]),
        helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
        helper.make_node("ScatterElements", ["zeros", "indices", "updates"], ["y"]),
        helper.make_node(
            "ScatterElements", ["zeros", "indices", "updates"], ["z"], reduction="add"
        ),
    ]
    inputs = {"indices": (np.int64, ["n"]), "updates": (np.float32, ["n"])}
    feeds = {"indices": np.array([1, 1, 0]), "updates": np.float32([3, 2, 1])}
    with graphc.compile(build_model(nodes, inputs, ["y", "z"], opset=18), threads=1) as model:
        y, z = model.run(None, feeds)
    np.testing.assert_array_equal(y, [1, 2, 0])
    np.testing.assert_array_equal(z, [1, 5, 0])
