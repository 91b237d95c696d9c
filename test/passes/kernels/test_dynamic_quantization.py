"""The kernels that quantize over the range of a tensor, against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.kernels.dynamic_quantization import ELEMENTS
from graphc.passes.pipelines import graph_pipeline

LENGTHS = (1, 7, 31, 32, 33, 1000, 2 * ELEMENTS - 1, 2 * ELEMENTS, 5 * ELEMENTS + 13, 20 * ELEMENTS)


def _model(shape):
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    return build_model([node], {"x": (np.float32, shape)}, list(node.output), opset=21)


def _check(compiled, model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for found, wanted in zip(
        compiled.run(None, {"x": x}), session.run(None, {"x": x}), strict=True
    ):
        np.testing.assert_array_equal(found, wanted, err_msg=str(x.shape), strict=True)


def _values(rng, length):
    """Some with one sign, with halves to round, and with outliers."""
    x = rng.standard_normal(length).astype(np.float32)
    yield x
    yield np.abs(x) + 1
    yield -np.abs(x) - 3
    yield (rng.integers(-510, 511, length) / 4).astype(np.float32)
    yield np.where(np.arange(length) == length - 1, np.float32(1e6), x)
    yield np.zeros(length, np.float32)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
def test_named_sizes(vector_bits):
    model, rng = _model(["n"]), np.random.default_rng(0)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        for length in LENGTHS:
            for x in _values(rng, length):
                _check(compiled, model, x)


@pytest.mark.parametrize("shape", [(5,), (3, 40, 70), (64, ELEMENTS // 16 + 1)])
def test_static_sizes(shape):
    model, rng = _model(shape), np.random.default_rng(1)
    with graphc.compile(model, threads=2) as compiled:
        for x in _values(rng, int(np.prod(shape))):
            _check(compiled, model, x.reshape(shape))


def test_no_elements():
    with graphc.compile(_model(["n"]), threads=2) as compiled:
        quantized, scale, zero = compiled(np.zeros(0, np.float32))
        assert (quantized.size, scale, zero) == (0, 1, 0)


def test_nan():
    """NaN anywhere makes the scale NaN, and integers 0, compiled and interpreted."""
    x = np.array([1, np.nan, -2, *np.arange(50)], np.float32)
    for target in ("cpu", "interpret"):
        with graphc.compile(_model([len(x)]), target) as compiled:
            quantized, scale, zero = compiled(x)
            assert np.isnan(scale)
            assert not zero
            assert not quantized.any()
