"""Products of bytes in pairs (VPMADDUBSW): only where their sums cannot saturate."""

import numpy as np
import pytest
from int8_pipeline import pipeline_of
from numerics import build_model
from onnx import helper

import graphc
from graphc.passes.kernels.balanced_blocks import BLOCK, balance
from graphc.passes.kernels.group_dot import exceeds_pairs
from graphc.runtime.targets import cpu_features
from harness.marks import long

SHAPES = [(1, 64, 64), (17, 64, 40), (33, 199, 100)]

IMAGES = [(16, "h", 11), (24, 9, "w"), (36, 9, 11)]


def test_lines_that_exceed_pairs():
    lines = [[[64, 64, -64, -64]], [[65, 64, 0, 0]], [[0, 0, -64, -65]], [[127, -128, 1, 1]],
             [[1, 2, 3, 4], [100, 29, 0, 0]], [[64, 1, 127, 1]]]  # fmt: skip
    found = [bool(exceeds_pairs(np.array(line, np.int8))) for line in lines]
    assert found == [False, True, True, False, True, False]


@pytest.mark.parametrize(
    ("shape", "lines", "blocks"),
    [
        ((3, 8, 5, 4), 8, [slice(0, 4), slice(4, 8)]),
        ((2, 3, 7, 16, 4), 6, [slice(0, 4), slice(4, 6)]),
        ((1, 5, 8, 4), 5, [slice(0, 4), slice(4, 5)]),
    ],
)
def test_balanced_blocks(shape, lines, blocks):
    """The same factors by the same weights, in an order with hardly any pair that exceeds 16
    bits."""
    w = _bell_shaped(np.random.default_rng(0), shape)
    found = balance(w, lines)
    np.testing.assert_array_equal(found.weights[..., lines:, :, :], w[..., lines:, :, :])
    for lines_of_block in blocks:
        given, weights, order = (
            np.swapaxes(each[..., lines_of_block, :, :], -2, -3).reshape(
                -1, 4 * _size(lines_of_block)
            )
            for each in (w, found.weights, found.order)
        )
        # the last block begins in that before it
        order = order - (BLOCK - given.shape[-1])
        np.testing.assert_array_equal(np.sort(order), np.arange(given.shape[-1])[None] + 0 * order)
        np.testing.assert_array_equal(np.take_along_axis(given, order, -1), weights)
    assert exceeds_pairs(w).mean() > 0.4
    assert found.exact[..., :4].mean() == 0


def _size(lines):
    return lines.stop - lines.start


def test_blocks_that_no_order_balances():
    w = _bell_shaped(np.random.default_rng(0), (2, 12, 8, 4))
    w[1, 4:7, 3] = 127
    assert np.argwhere(balance(w, 12).exact).tolist() == [[1, n] for n in range(4, 8)]


def _bell_shaped(random, shape):
    """Weights as trained ones are distributed, with more large ones."""
    return np.clip(random.normal(0, 50, shape).round(), -127, 127).astype(np.int8)


def _weights(random, shape, outliers):
    """Weights at the ends of what pairs allow, but for the first rows of a few columns; or all of
    one sign and large; or bell-shaped, but for a column that no order balances."""
    if outliers == "bell":
        w = _bell_shaped(random, shape)
        w[:16, 3] = 127
        return w
    if outliers == "large":
        return random.integers(100, 127, shape, np.int8, endpoint=True)
    w = random.integers(-64, 64, shape, np.int8, endpoint=True)
    w[random.random(shape) < 0.5] = 64
    if outliers == "few":
        w[4, 0] = w[5, 0] = 127
        w[20, -1] = w[21, -1] = -128
    return w


@pytest.mark.parametrize(
    ("outliers", "in_pairs"), [long("none", 6), ("few", 6), ("bell", 6), ("large", 0)]
)
def test_compiled(outliers, in_pairs):
    """Without outliers, with few, with so many that blocks are balanced, and with so many that no
    line is multiplied in pairs."""
    if "avx2" not in cpu_features.host_features():
        pytest.skip("this CPU lacks avx2")
    random, nodes, inputs, weights, feeds, truths = np.random.default_rng(0), [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SHAPES):
        w = _weights(random, (k, columns), outliers)
        x = random.integers(0, 255, (rows, k), np.uint8, endpoint=True)
        x[:, random.random(k) < 0.7] = 255
        feeds[f"x{i}"], weights[f"w{i}"], inputs[f"x{i}"] = x, w, (np.uint8, [f"r{i}", k])
        nodes.append(helper.make_node("MatMulInteger", [f"x{i}", f"w{i}"], [f"y{i}"]))
        truths.append(x.astype(np.int64) @ w.astype(np.int64))
    # convolutions, whose images are padded with their zero point
    weights["zero"] = np.uint8(200)
    for i, (channels, *sizes) in enumerate(IMAGES):
        w = _weights(random, (3 * 3 * channels, 24), outliers)
        w = w.reshape(3, 3, channels, 24).transpose(3, 2, 0, 1)
        weights[f"v{i}"] = np.ascontiguousarray(w)
        feeds[f"image{i}"] = np.full((2, channels, 9, 11), 255, np.uint8)
        feeds[f"image{i}"][:, ::3] = 9
        inputs[f"image{i}"] = (np.uint8, [2, channels, *sizes])
        names = [f"image{i}", f"v{i}", "zero"]
        nodes.append(helper.make_node("ConvInteger", names, [f"z{i}"], pads=[1] * 4))
        image = np.pad(feeds[f"image{i}"].astype(np.int64) - 200, [(0, 0)] * 2 + [(1, 1)] * 2)
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
        truths.append(np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.int64)))

    outputs = [node.output[0] for node in nodes]
    model = build_model(nodes, inputs, outputs, weights)
    with graphc.compile(model, pipeline=pipeline_of("avx2"), threads=2) as compiled:
        assert compiled.report.rewrites["byte-pairs"].count == in_pairs
        for found, truth in zip(compiled.run(None, feeds), truths, strict=True):
            np.testing.assert_array_equal(found, truth)
