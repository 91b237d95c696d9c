"""The kernel for pools of channels-last images, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

SQUARE = {"kernel_shape": [2, 2], "strides": [2, 2]}
WINDOWS = (
    SQUARE,
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [5, 3], "pads": [2, 0, 1, 1]},
    {"kernel_shape": [3, 2], "dilations": [2, 3], "strides": [1, 2], "pads": [1, 1, 0, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1},
    {"kernel_shape": [1, 4], "strides": [1, 3], "pads": [0, 3, 0, 3]},
)


def _model(nodes, dtype, shape):
    """A model of the pools `nodes` of one image, whose channels are last at both ends."""
    channels_first = (0, len(shape) - 1, *range(1, len(shape) - 1))
    channels_last = (0, *range(2, len(shape)), 1)
    around = [helper.make_node("Transpose", ["x"], ["image"], perm=channels_first)]
    outputs = []
    for index, (op, window) in enumerate(nodes):
        around.append(helper.make_node(op, ["image"], [f"p{index}"], **window))
        around.append(
            helper.make_node("Transpose", [f"p{index}"], [f"y{index}"], perm=channels_last)
        )
        outputs.append(f"y{index}")
    return build_model(around, {"x": (dtype, shape)}, outputs, opset=19)


def _pools(window):
    yield "MaxPool", window
    if "dilations" not in window:
        yield "AveragePool", window
        if "pads" in window:
            yield "AveragePool", {**window, "count_include_pad": 1}


def _drawn(sizes, dtype):
    drawn = np.random.default_rng(sum(sizes)).standard_normal(sizes) * 50
    return np.clip(drawn, 0, None).astype(dtype) if dtype == np.uint8 else drawn.astype(dtype)


def _check(model, count, *images, vector_bits=256):
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["pooling-kernel"].count == count
        for x in images:
            expected = run_onnxruntime(model, {"x": x})
            for found, wanted in zip(compiled.run(None, {"x": x}), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("vector_bits", "channels", "named"),
    [
        long(128, 6, False),
        (256, 37, True),
        (512, 48, False),
        long(256, 64, True),
        long(512, 5, True),
    ],
)
def test_windows(vector_bits, channels, named):
    """Channels that fill vectors, leave some, or fill a part of one."""
    nodes = [pool for window in WINDOWS for pool in _pools(window)]
    shape = ("n", "h", "w", channels) if named else (2, 9, 11, channels)
    images = [_drawn((2, 9, 11, channels), np.float32)]
    if named:
        images += [_drawn((*sizes, channels), np.float32) for sizes in ((1, 30, 7), (3, 5, 70))]
    # Of one mean of named sizes, a pool counts the elements.
    count = len(nodes) + named
    _check(_model(nodes, np.float32, shape), count, *images, vector_bits=vector_bits)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8])
def test_other_types(dtype):
    nodes = [("MaxPool", window) for window in WINDOWS]
    x = _drawn((2, 9, 11, 33), dtype)
    _check(_model(nodes, dtype, (2, "h", "w", 33)), len(nodes), x, x[:, :7])


@pytest.mark.parametrize("sizes", [(1, 20_000), (3, 50)])
def test_sequences(sizes):
    """Threads share the parts of one long row."""
    window = {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}
    nodes = [("MaxPool", window), ("AveragePool", window)]
    x = _drawn((*sizes, 8), np.float32)
    _check(_model(nodes, np.float32, ("n", "t", 8)), 2, x)


STEPS = (
    {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]},
    {"kernel_shape": [3, 2, 3], "strides": [2, 1, 2], "pads": [1, 0, 1, 2, 1, 1]},
    {"kernel_shape": [3, 3, 2], "strides": [2, 2, 3], "ceil_mode": 1},
    {"kernel_shape": [1, 9, 7], "strides": [1, 2, 1], "pads": [0, 4, 2, 0, 4, 3]},
)


def test_steps():
    """Windows over three axes, or of many taps, pool along some axes and then along another; the
    padding of named sizes is in each."""
    nodes = [pool for window in STEPS for pool in _pools(window)]
    images = [_drawn((*sizes, 6), np.float32) for sizes in ((2, 5, 6, 7), (1, 1, 2, 2))]
    _check(_model(nodes, np.float32, ("n", "d", "h", "w", 6)), 2 * len(nodes), *images)


def test_images_smaller_than_the_window():
    """The padding that named sizes may need is not written to memory: the kernel reads what is
    there."""
    model = _model([("MaxPool", SQUARE)], np.float32, (1, "h", "w", 16))
    images = [_drawn((1, height, width, 16), np.float32) for height, width in ((8, 9), (1, 6))]
    _check(model, 1, *images)


def test_the_largest_of_nan_is_nan():
    x = _drawn((1, 8, 8, 16), np.float32)
    x[0, 3, 3, 5] = np.nan
    with graphc.compile(_model([("MaxPool", SQUARE)], np.float32, x.shape)) as compiled:
        (found,) = compiled.run(None, {"x": x})
    assert np.isnan(found[0, 1, 1, 5])
    assert np.isnan(found).sum() == 1


@pytest.mark.parametrize(
    ("dtype", "shape", "reason"),
    [
        (np.float32, (1, 8, 8, 3), "its channels do not fill a vector"),
        (np.float16, (1, 8, 8, 16), "it has no kernel for the element type"),
    ],
)
def test_what_declines_has_a_reason(dtype, shape, reason):
    window = {"kernel_shape": [2] * (len(shape) - 2)}
    model = _model([("MaxPool", window)], dtype, shape)
    with graphc.compile(model, precision="strict") as compiled:
        assert reason in compiled.report.rewrites["pooling-kernel"].declined
        x = _drawn(shape, dtype)
        np.testing.assert_array_equal(
            compiled.run(None, {"x": x})[0], run_onnxruntime(model, {"x": x})[0]
        )
