"""The kernel for pools of channels-first images, against ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import helper

import graphc

WINDOWS = (
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [5, 3], "pads": [2, 0, 1, 1]},
    {"kernel_shape": [3, 2], "dilations": [2, 3], "strides": [1, 2], "pads": [1, 1, 0, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1},
    {"kernel_shape": [1, 4], "strides": [1, 4], "pads": [0, 3, 0, 3]},
    {"kernel_shape": [13, 17], "pads": [6, 8, 6, 8]},
)
PADS_COUNT = WINDOWS[1:4:2]
SEQUENCES = ({"kernel_shape": [3], "strides": [2], "pads": [1, 1]}, {"kernel_shape": [5]})


def _pools(windows, kinds=("MaxPool", "AveragePool")):
    for window in windows:
        if "MaxPool" in kinds:
            yield "MaxPool", window
        if "AveragePool" in kinds and "dilations" not in window:
            yield "AveragePool", window
            if window in PADS_COUNT:
                yield "AveragePool", {**window, "count_include_pad": 1}


def _model(pools, dtype, shape):
    nodes = [
        helper.make_node(op, ["x"], [f"y{n}"], **window) for n, (op, window) in enumerate(pools)
    ]
    outputs = [node.output[0] for node in nodes]
    return build_model(nodes, {"x": (dtype, shape)}, outputs, opset=22), len(nodes)


def _drawn(sizes, dtype):
    drawn = np.random.default_rng(sum(sizes)).standard_normal(sizes) * 50
    return np.clip(drawn, 0, None).astype(dtype) if dtype == np.uint8 else drawn.astype(dtype)


def _check(built, *images, **tolerance):
    model, count = built
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["pooling-kernel"].count == count
        assert b"_planes" in compiled._measured[0].contents.tobytes()
        for x in images:
            expected = run_onnxruntime(model, {"x": x})
            for found, wanted in zip(compiled.run(None, {"x": x}), expected, strict=True):
                bounds = {"rtol": 2e-5, "atol": 2e-5, **tolerance}
                np.testing.assert_allclose(found, wanted, **bounds)


def test_fixed_sizes():
    x = _drawn((2, 5, 19, 53), np.float32)
    _check(_model(_pools(WINDOWS), np.float32, x.shape), x)


def test_named_sizes():
    """Rows that fill several vectors, one, or a part of one, and those of several tiles; the
    last row has nothing behind it."""
    pools = [(op, w) for op, w in _pools(WINDOWS[:7]) if "ceil_mode" not in w and "pads" in w]
    pools += list(_pools(WINDOWS[:1], ["MaxPool"]))
    sizes = [
        (2, 3, 20, 60),
        (1, 4, 7, 8),
        (3, 2, 5, 6),
        (1, 1, 4, 5),
        (1, 2, 6, 900),
        (2, 3, 9, 13),
    ]
    images = [_drawn(each, np.float32) for each in sizes]
    _check(_model(pools, np.float32, ("n", "c", "h", "w")), *images)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8])
def test_other_types(dtype):
    x = _drawn((2, 3, 9, 71), dtype)
    _check(
        _model(_pools(WINDOWS[:6], ["MaxPool"]), dtype, ("n", 3, "h", "w")),
        x,
        x[:, :, :7, :9].copy(),
    )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_compared_as_they_are(dtype):
    x = _drawn((1, 4, 10, 40), dtype)
    model, _ = _model([("MaxPool", WINDOWS[1]), ("AveragePool", WINDOWS[0])], dtype, x.shape)
    wide, _ = _model([("MaxPool", WINDOWS[1]), ("AveragePool", WINDOWS[0])], np.float32, x.shape)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        assert b"_planes" in compiled._measured[0].contents.tobytes()
        largest, mean = compiled(x)
    expected = run_onnxruntime(wide, {"x": x.astype(np.float32)})
    np.testing.assert_array_equal(largest.astype(np.float32), expected[0])
    np.testing.assert_array_equal(mean, expected[1].astype(dtype))


@pytest.mark.parametrize("sizes", [(1, 1, 20_000), (3, 5, 50)])
def test_sequences(sizes):
    """Threads share the tiles of one long row."""
    pools = list(_pools(SEQUENCES[:1])) + list(_pools(SEQUENCES[1:], ["MaxPool"]))
    x = _drawn(sizes, np.float32)
    _check(_model(pools, np.float32, ("n", sizes[1], "t")), x)


def test_nan_wins_and_padding_does_not():
    x = np.full((1, 2, 9, 40), -np.inf, np.float32)
    x[0, 0, 4, 20], x[0, 1, 0, 0] = np.nan, np.nan
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1] * 4)
    with graphc.compile(build_model([node], {"x": (np.float32, x.shape)}, ["y"])) as compiled:
        found = np.argwhere(np.isnan(compiled(x)))
        finite = compiled(x)[~np.isnan(compiled(x))]
    near = [[0, 0, h, w] for h in (3, 4, 5) for w in (19, 20, 21)]
    corner = [[0, 1, h, w] for h in (0, 1) for w in (0, 1)]
    np.testing.assert_array_equal(found, near + corner)
    assert (finite == -np.inf).all()


def test_elementwise_ops_behind_a_pool():
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Mul", ["p", "scale"], ["q"]),
        helper.make_node("Relu", ["q"], ["y"]),
    ]
    scale = np.linspace(-1, 1, 6, dtype=np.float32).reshape(1, 6, 1, 1)
    model = build_model(nodes, {"x": (np.float32, (2, 6, 20, 70))}, ["y"], {"scale": scale})
    x = _drawn((2, 6, 20, 70), np.float32)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        assert b"transpose" not in compiled._measured[0].contents.tobytes()
        np.testing.assert_allclose(compiled(x), run_onnxruntime(model, {"x": x})[0], rtol=1e-6)


SUMS = {
    "image": ([16, 8, 3, 3], {"pads": [1, 1, 1, 1]}, [(1, 8, 10, 40), (2, 8, 5, 7)]),
    "strides": (
        [16, 8, 3, 2],
        {"pads": [1, 0, 1, 1], "strides": [2, 3], "dilations": [2, 1]},
        [(1, 8, 11, 43)],
    ),
    "pixels": ([16, 8, 1, 1], {"strides": [2, 2]}, [(1, 8, 9, 50)]),
    "groups": ([8, 2, 3, 3], {"group": 4}, [(2, 8, 6, 30)]),
    "sequence": ([16, 4, 5], {"pads": [2, 2]}, [(2, 4, 70), (1, 4, 3)]),
    "volume": ([16, 4, 3, 1, 2], {}, [(1, 4, 5, 3, 20)]),
}
"""Shapes of weights, attributes of the convolution, and shapes of images."""


@pytest.mark.parametrize("name", SUMS)
def test_sums_that_a_zero_point_of_weights_takes_off(name):
    weights, attributes, shapes = SUMS[name]
    rng = np.random.default_rng(5)
    node = helper.make_node("ConvInteger", ["x", "w", "x_zero", "w_zero"], ["y"], **attributes)
    names = ["n", weights[1] * attributes.get("group", 1), *"dhw"[3 - len(shapes[0][2:]) :]]
    model = build_model(
        [node],
        {"x": (np.uint8, names), "x_zero": (np.uint8, [])},
        ["y"],
        {
            "w": rng.integers(0, 256, weights).astype(np.uint8),
            "w_zero": np.array(77, np.uint8),
        },
    )
    with graphc.compile(model, threads=2, cache=False) as compiled:
        for shape in shapes:
            x = rng.integers(0, 256, shape).astype(np.uint8)
            feeds = {"x": x, "x_zero": np.array(13, np.uint8)}
            (found,), (wanted,) = compiled.run(None, feeds), run_onnxruntime(model, feeds)
            np.testing.assert_array_equal(found, wanted)
