"""Quantization behind contractions of integers, and of sums of dequantized integers."""

import numpy as np
import onnxruntime
import pytest
from node_list import NodeList
from numerics import build_model
from onnx import helper

import graphc
from graphc.dialects import graph
from graphc.runtime.targets import cpu_features

UNIT = cpu_features.int8_unit("host")
pytestmark = pytest.mark.skipif(UNIT == "none", reason="this CPU multiplies no 8-bit integers")


def _reference(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)


def _typed(model, element):
    for output in model.graph.output:
        output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    return model


@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_sums_of_all_pairs(precision):
    """The bytes are those of the division, whatever the scales: also where sums lie on the edge
    between two steps, as those of scales that are powers of two do."""
    random, net, outputs = np.random.default_rng(0), NodeList(), []
    scales = [(0.5, 0.25, 2.0), (0.75, 0.125, 0.5), *random.uniform(0.01, 0.1, (4, 3))]
    for i, (left, right, scale) in enumerate(scales):
        parts = []
        for name, each in (("a", left), ("b", right)):
            zero = np.uint8(random.integers(90, 160))
            parameters = [net.constant(np.float32(each)), net.constant(zero)]
            parts.append(net.node("DequantizeLinear", [name, *parameters]))
        total = net.node("Add", parts)
        total = net.node("Relu", [total]) if i % 2 else total
        parameters = [net.constant(np.float32(scale)), net.constant(np.uint8(random.integers(99)))]
        outputs.append(net.node("QuantizeLinear", [total, *parameters]))
    every = np.arange(256, dtype=np.uint8)
    inputs = {"a": (np.uint8, (256, 1)), "b": (np.uint8, (1, 256))}
    model = _typed(build_model(net.nodes, inputs, outputs, net.constants), np.uint8)
    feeds = {"a": every[:, None], "b": every[None, :]}
    compiled = graphc.compile(model, threads=1, precision=precision)
    assert compiled.report.rewrites["quantize-sum"].count == len(scales)
    for ours, truth in zip(compiled.run(None, feeds), _reference(model, feeds), strict=True):
        np.testing.assert_array_equal(ours, truth)


@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_products_of_all_integers(precision):
    """The bytes are those of the division, by factors that differ along an axis, of which some are
    zero, negative or saturate."""
    random, net, outputs = np.random.default_rng(0), NodeList(), []
    weights = [random.uniform(-3, 3, 96), np.tile([0, 1, -1, 1e-9, 1e9, 0.7], 16)]
    factors = [net.constant(each.astype(np.float32)) for each in [*weights, np.arange(4100)]]
    parameters = [np.arange(-48, 48, dtype=np.int8), np.float32(0.03), np.int8(5)]
    factors.append(net.node("DequantizeLinear", [net.constant(each) for each in parameters]))
    for each in factors:
        parameters = [net.constant(np.float32(0.37)), net.constant(np.uint8(131))]
        x = net.node("DequantizeLinear", ["x", *parameters])
        y = net.node("Mul", [each, x])
        parameters = [net.constant(np.float32(0.41)), net.constant(np.uint8(77))]
        outputs.append(net.node("QuantizeLinear", [y, *parameters]))
    inputs = {"x": (np.uint8, (256, 1))}
    model = _typed(build_model(net.nodes, inputs, outputs, net.constants), np.uint8)
    feeds = {"x": np.arange(256, dtype=np.uint8)[:, None]}
    compiled = graphc.compile(model, threads=1, precision=precision)
    fired = compiled.report.rewrites["quantize-product"]
    assert fired.count == len(factors) - 1
    assert list(fired.declined) == ["it has more than 4096 factors"]
    for ours, truth in zip(compiled.run(None, feeds), _reference(model, feeds), strict=True):
        np.testing.assert_array_equal(ours, truth)


@pytest.mark.parametrize(("activations", "known"), [(np.uint8, True), (np.int8, False)])
def test_saturation(activations, known):
    """Sums beyond the range of 8 bits, and of 32 bits, saturate; rows and columns do not fill
    vectors. (ONNX Runtime does not saturate what exceeds 32 bits.)"""
    random, net, expected = np.random.default_rng(1), NodeList(), []
    zero, limits, outputs = activations(17), np.iinfo(activations), []
    parameters = [net.constant(np.float32(0.5)), net.constant(activations(3))]
    a, b = (net.node("DequantizeLinear", [name, *parameters]) for name in "xr")
    sizes = {"x": 48, "r": 70}
    feeds = {
        name: random.integers(limits.min, limits.max, (5, size), activations, endpoint=True)
        for name, size in sizes.items()
    }
    x, residual = (0.5 * (feeds[name].astype(np.float64) - 3) for name in "xr")
    for scale in (3.7, 1e-3, 1e-9):
        weights = random.integers(-127, 127, (48, 70), np.int8, endpoint=True)
        scales, bias = random.uniform(0.1, 0.3, (2, 70)).astype(np.float32)
        held = [net.constant(each) for each in (weights, scales, np.zeros(70, np.int8))]
        w = net.node("DequantizeLinear", held, axis=1)
        y = net.node("Add", [net.node("MatMul", [a, w]), net.constant(bias)])
        to = [net.constant(np.float32(scale)), net.constant(zero)]
        y = net.node("QuantizeLinear", [y, *to])
        total = net.node("Add", [net.node("DequantizeLinear", [y, *to]), b])
        outputs += [y, net.node("QuantizeLinear", [total, *to])]
        product = x @ (weights * scales.astype(np.float64)) + bias
        product = np.clip(np.rint(product / scale) + 17, limits.min, limits.max)
        total = np.rint(product - 17 + residual / scale) + 17
        expected += [product, np.clip(total, limits.min, limits.max)]
    inputs = {name: (activations, (5 if known else "n", size)) for name, size in sizes.items()}
    model = _typed(build_model(net.nodes, inputs, outputs, net.constants), activations)
    compiled = graphc.compile(model, threads=1)
    assert compiled.report.rewrites["fold-rescaling"].count == 3
    for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
        assert {limits.min, limits.max} <= set(truth.ravel().tolist())
        steps = np.abs(ours.astype(int) - truth)
        assert steps.max() <= 1
        assert (steps > 0).mean() <= 0.01


def test_fma_is_rounded_once():
    """``a * b + c`` whose product is not an f32."""
    a = np.float32(1 + 2**-12)
    assert graph.FmaOp.evaluate(a, a, np.float32(-1 - 2**-11)) == np.float32(2**-24)


def test_dequantization_joins_the_sum():
    """A shortcut is stored as bytes, whichever contraction comes first; powers of two are exact."""
    random, net = np.random.default_rng(2), NodeList()
    byte = [net.constant(np.float32(0.125)), net.constant(np.uint8(120))]

    def quantized(y):
        return net.node("DequantizeLinear", [net.node("QuantizeLinear", [y, *byte]), *byte])

    def product(y):
        held = net.constant(random.integers(-99, 99, (32, 32)).astype(np.int8))
        scale = [net.constant(np.float32(2**-6)), net.constant(np.int8(0))]
        return quantized(net.node("MatMul", [y, net.node("DequantizeLinear", [held, *scale])]))

    x = quantized("x")
    total = quantized(net.node("Add", [product(x), product(product(x))]))
    model = build_model(net.nodes, {"x": (np.float32, (40, 32))}, [total], net.constants)
    compiled = graphc.compile(model, threads=1)
    feeds = {"x": random.standard_normal((40, 32), np.float32)}
    np.testing.assert_array_equal(compiled.run(None, feeds)[0], _reference(model, feeds)[0])
