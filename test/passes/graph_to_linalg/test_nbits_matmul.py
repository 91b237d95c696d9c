"""Results of few bits from matmuls by weights of few bits, whose kernels have several K blocks."""

import numpy as np
import onnxruntime
from node_list import NodeList
from numerics import build_model
from onnx import helper

import graphc

ROWS, K, COLUMNS = 16, 768, 64


def test_partial_sums_are_not_stored_in_8_bits():
    net, random = NodeList(), np.random.default_rng(0)
    parameters = [net.constant(np.float32(0.03)), net.constant(np.uint8(120))]
    x = net.node("DequantizeLinear", ["x", *parameters])
    weights = random.integers(-127, 128, (K, COLUMNS), np.int8)
    scales = random.uniform(0.01, 0.1, COLUMNS).astype(np.float32)
    held = [net.constant(each) for each in (weights, scales, np.zeros(COLUMNS, np.int8))]
    w = net.node("DequantizeLinear", held, axis=1)
    parameters = [net.constant(np.float32(3)), net.constant(np.uint8(130))]
    y = net.node("QuantizeLinear", [net.node("MatMul", [x, w]), *parameters])
    model = build_model(net.nodes, {"x": (np.uint8, (ROWS, K))}, [y], net.constants)
    model.graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(
        np.dtype(np.uint8)
    )
    feeds = {"x": random.integers(0, 256, (ROWS, K), np.uint8)}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    truth = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]
    result = graphc.compile(model, threads=1, precision="strict").run(None, feeds)[0]
    steps = np.abs(result.astype(int) - truth.astype(int))
    assert steps.max() <= 1  # sums on the edge between two steps
    assert steps.mean() < 1e-2
