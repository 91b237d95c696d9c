"""Values of layers that share a kernel, which reads what differs between them."""

import numpy as np
import onnxruntime
import pytest
from node_list import NodeList
from numerics import build_model

import graphc

ROWS, WIDTH = 5, 64
KERNEL = "func.func @int8_matmul_"


def _layers(zeros, dtype: type, activation: str | None):
    """A layer for each three of `zeros`: a matmul, a bias and an activation, each with a
    quantization. Scales are powers of two, by which f32 loses nothing."""
    net, random = NodeList(), np.random.default_rng(0)

    def quantized(x: str, scale: float, zero: int) -> str:
        parameters = [net.constant(np.float32(scale)), net.constant(dtype(zero))]
        return net.node(
            "DequantizeLinear", [net.node("QuantizeLinear", [x, *parameters]), *parameters]
        )

    x = quantized("x", 1 / 32, 3)
    for first, second, third in zeros:
        weights = net.constant(random.integers(-127, 128, (WIDTH, WIDTH), np.int8))
        scale, zero = net.constant(np.float32(1 / 256)), net.constant(np.int8(0))
        y = net.node("MatMul", [x, net.node("DequantizeLinear", [weights, scale, zero])])
        bias = net.constant(random.integers(-9, 9, WIDTH).astype(np.float32) / 8)
        y = net.node("Add", [quantized(y, 1 / 8, first), bias])
        x = quantized(y, 1 / 16, second)
        if activation:
            x = quantized(net.node(activation, [x]), 1 / 16, third)
    return net, x


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("activation", [None, "HardSwish"])
def test_layers_of_one_kernel(dtype, activation, tmp_path):
    low = np.iinfo(dtype).min
    zeros = [(low + a, low + b, low + c) for a, b, c in ((0, 128, 3), (117, 255, 9), (130, 90, 0))]
    net, y = _layers(zeros, dtype, activation)
    model = build_model(net.nodes, {"x": (np.float32, [ROWS, WIDTH])}, [y], net.constants, opset=21)
    feeds = {"x": np.random.default_rng(1).standard_normal((ROWS, WIDTH), np.float32)}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    compiled = graphc.compile(model, save_temps=tmp_path)
    np.testing.assert_array_equal(compiled.run(None, feeds)[0], session.run(None, feeds)[0])
    (lowered,) = tmp_path.glob("*.linalg.mlir")
    assert lowered.read_text().count(KERNEL) == 2  # the last layer stores floats
