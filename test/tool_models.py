"""Small ONNX models for tests of the driver and the tools."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17)]
WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
BIAS = np.array([0.5, -0.25, 0.125], np.float32)


def dense(batch: int | str = "batch") -> onnx.ModelProto:
    """``y = relu(x @ w + b)``, x ``[batch, 4]``, in nodes called product, sum and activation."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"], name="product"),
        helper.make_node("Add", ["xw", "b"], ["xwb"], name="sum"),
        helper.make_node("Relu", ["xwb"], ["y"], name="activation"),
    ]
    weights = [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(BIAS, "b")]
    return model(nodes, {"x": [batch, 4]}, {"y": [batch, 3]}, weights)


def dense_result(x: np.ndarray) -> np.ndarray:
    """The expected result of `dense`."""
    return np.maximum(x @ WEIGHTS + BIAS, 0)


def unsupported() -> onnx.ModelProto:
    """Two nodes that are supported nowhere, and one that is supported."""
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="first", domain="example"),
        helper.make_node("Relu", ["a"], ["b"], name="fine"),
        helper.make_node("Frobnicate", ["b"], ["y"], name="second", domain="example"),
    ]
    made = model(nodes, {"x": [4]}, {"y": [4]})
    made.opset_import.append(helper.make_opsetid("example", 1))
    return made


def model(nodes, inputs, outputs, initializers=()) -> onnx.ModelProto:
    """A model of f32 tensors with the given nodes."""

    def infos(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10)


def write(made: onnx.ModelProto, path: Path) -> Path:
    """Write a model to `path`, which is also the result."""
    onnx.save(made, path)
    return path
