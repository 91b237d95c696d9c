"""Products of bytes in pairs (VPMADDUBSW): only where their sums cannot saturate."""

import numpy as np
import pytest
from int8_pipeline import pipeline_of
from numerics import build_model
from onnx import helper

import graphc
from graphc.passes.kernels.group_dot import exceeds_pairs
from graphc.runtime.targets import cpu_features

SHAPES = [(1, 64, 64), (17, 64, 40), (33, 192, 100)]


def test_lines_that_exceed_pairs():
    lines = [[[64, 64, -64, -64]], [[65, 64, 0, 0]], [[0, 0, -64, -65]], [[127, -128, 1, 1]],
             [[1, 2, 3, 4], [100, 29, 0, 0]], [[64, 1, 127, 1]]]  # fmt: skip
    found = [bool(exceeds_pairs(np.array(line, np.int8))) for line in lines]
    assert found == [False, True, True, False, True, False]


def _weights(random, shape, outliers):
    """Weights at the ends of what pairs allow, but for the first rows of a few columns."""
    w = random.integers(-64, 64, shape, np.int8, endpoint=True)
    w[random.random(shape) < 0.5] = 64
    if outliers:
        w[4, 0] = w[5, 0] = 127
        w[20, -1] = w[21, -1] = -128
    return w


@pytest.mark.parametrize(("outliers", "in_pairs"), [(False, 4), (True, 4), (None, 1)])
def test_compiled(outliers, in_pairs):
    """Without outliers, with few, and matmuls with so many that no line is multiplied in pairs."""
    if "avx2" not in cpu_features.host_features():
        pytest.skip("this CPU lacks avx2")
    random, nodes, inputs, weights, feeds, truths = np.random.default_rng(0), [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SHAPES):
        w = _weights(random, (k, columns), outliers)
        if outliers is None:
            w = random.integers(-128, 127, w.shape, np.int8, endpoint=True)
        x = random.integers(0, 255, (rows, k), np.uint8, endpoint=True)
        x[:, random.random(k) < 0.7] = 255
        feeds[f"x{i}"], weights[f"w{i}"], inputs[f"x{i}"] = x, w, (np.uint8, [f"r{i}", k])
        nodes.append(helper.make_node("MatMulInteger", [f"x{i}", f"w{i}"], [f"y{i}"]))
        truths.append(x.astype(np.int64) @ w.astype(np.int64))
    # a convolution, whose image is padded with its zero point
    w = _weights(random, (3 * 3 * 16, 24), outliers).reshape(3, 3, 16, 24).transpose(3, 2, 0, 1)
    weights["v"], weights["zero"] = np.ascontiguousarray(w), np.uint8(200)
    feeds["image"] = np.full((2, 16, 9, 11), 255, np.uint8)
    inputs["image"] = (np.uint8, ["n", 16, "h", 11])
    nodes.append(helper.make_node("ConvInteger", ["image", "v", "zero"], ["y"], pads=[1] * 4))
    image = np.pad(feeds["image"].astype(np.int64) - 200, [(0, 0)] * 2 + [(1, 1)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
    truths.append(np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.int64)))

    outputs = [node.output[0] for node in nodes]
    model = build_model(nodes, inputs, outputs, weights)
    with graphc.compile(model, pipeline=pipeline_of("avx2"), threads=2) as compiled:
        assert compiled.report.rewrites["byte-pairs"].count == in_pairs
        for found, truth in zip(compiled.run(None, feeds), truths, strict=True):
            np.testing.assert_array_equal(found, truth)
