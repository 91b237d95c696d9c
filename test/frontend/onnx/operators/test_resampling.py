"""GridSample and AffineGrid against ONNX Runtime and ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate, run_compiled

from graphc.errors import ExecutionError, InvalidModelError, UnsupportedModelError

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


X = _floats(2, 3, 5, 4)
GRID = _random.uniform(-1.6, 1.6, (2, 3, 4, 2)).astype(np.float32)
PADDINGS = ("zeros", "border", "reflection")


def test_grid_sample():
    cases = Cases(opset=20)
    for i, padding in enumerate(PADDINGS):
        for align in (0, 1):
            form = {"padding_mode": padding, "align_corners": align}
            mode = "nearest" if (i + align) % 2 else "linear"
            cases.add("GridSample", X, GRID, tolerance=2e-5, mode=mode, **form)
        cases.add("GridSample", X[:, :1], GRID, tolerance=2e-5, mode="cubic", **form)
    named = Feed(X, ["batch", 3, "h", "w"]), Feed(GRID, ["batch", "oh", "ow", 2])
    cases.add("GridSample", *named, tolerance=1e-5)
    cases.compare_with_onnxruntime()


def test_grid_sample_of_volumes_and_empty_results():
    cases = Cases(opset=20)
    volume, grid = _floats(1, 2, 3, 4, 5), _random.uniform(-1.3, 1.3, (1, 2, 2, 3, 3))
    for mode, padding in (("nearest", "zeros"), ("linear", "reflection")):
        form = {"mode": mode, "padding_mode": padding}
        cases.add("GridSample", volume, grid.astype(np.float32), tolerance=1e-5, **form)
    cases.add("GridSample", X, np.zeros((2, 0, 4, 2), np.float32))
    cases.compare_with_onnxruntime()


def test_grid_sample_names_of_opset_16():
    cases = Cases(opset=16)
    for mode in ("bilinear", "bicubic"):
        cases.add("GridSample", X[:, :1], GRID, mode=mode, tolerance=2e-5)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("padding", PADDINGS)
def test_points_that_are_not_finite(padding):
    """An infinite coordinate is outside, by the operator's text: 0, or the element at that end.

    ONNX Runtime reads the first element for all of them, PyTorch gives NaN, 0 or that, by the mode.
    """
    x = np.arange(1, 16, dtype=np.float32).reshape(1, 1, 3, 5)
    points = [[np.inf, 0], [-np.inf, 0], [np.nan, 0], [0, np.inf], [1e30, -1e30], [0, 0]]
    wild = np.array([[points]], np.float32)
    cases = Cases(opset=20)
    for mode in ("nearest", "linear", "cubic"):
        cases.add("GridSample", x, wild, mode=mode, padding_mode=padding)
    cases.compare_compiled_with_evaluation()
    for y in evaluate(cases.model(), cases.feeds):
        ends = {"zeros": [0, 0, 0, 0, 0], "border": [10, 6, 6, 13, 5]}
        found = y.ravel()
        np.testing.assert_allclose(found[5], 8, rtol=1e-6)
        if padding == "reflection":  # no end is nearer than the other
            assert np.isfinite(found).all()
        else:
            np.testing.assert_allclose(found[:5], ends[padding], rtol=1e-6)


def test_grid_sample_at_borders_and_between_elements():
    """Coordinates on the borders, on elements and halfway between them.

    `nearest` takes halves to the even element before it mirrors, as ONNX Runtime does; PyTorch
    mirrors first.
    """
    halves = (np.arange(-9, 19) + 1) / 4 - 1
    grid = np.stack(np.meshgrid(halves, halves), -1)[None].astype(np.float32)
    volume, along_axis = (
        _floats(1, 1, 2, 4, 3),
        np.array([-1.75, -1, -0.25, 0.5, 1, 1.5], np.float32),
    )
    deep = np.stack(np.meshgrid(along_axis, along_axis, along_axis), -1)[None]
    cases = Cases(opset=20)
    for padding in PADDINGS:
        for align in (0, 1):
            form = {"padding_mode": padding, "align_corners": align}
            cases.add("GridSample", _floats(1, 1, 4, 4), grid, mode="nearest", **form)
            cases.add("GridSample", _floats(1, 1, 1, 4), grid, tolerance=1e-5, **form)
            cases.add("GridSample", volume, deep, mode="nearest", **form)
    cases.compare_with_onnxruntime()


def test_grid_sample_of_other_types():
    """Elements are copied as they are; a grid of f16 does not make coordinates of f16."""
    cases = Cases(opset=20)
    points = GRID.astype(np.float16)
    for dtype in (np.int8, np.uint16, np.bool_, np.int64, np.float64):
        cases.add("GridSample", (X * 20).astype(dtype), points, mode="nearest")
    row = np.arange(2000, dtype=np.float32).reshape(1, 1, 1, 2000)
    fine = np.array([[[[0.5, 0.0], [0.25, 0.0]]]], np.float16)
    cases.add("GridSample", row, fine)
    cases.compare_compiled_with_evaluation()
    *copies, coarse = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(coarse.ravel(), [1499.5, 1249.5])
    floats = Cases(opset=20)
    floats.add("GridSample", np.trunc(X * 20), points.astype(np.float32), mode="nearest")
    (expected,) = evaluate(floats.model(), floats.feeds)
    np.testing.assert_array_equal(expected, copies[0])
    np.testing.assert_array_equal(expected, copies[3])


def test_grid_of_unknown_sizes():
    cases = Cases(opset=18)
    image, grid = Feed(X, ["n", 3, "h", "w"]), Feed(GRID, ["a", "b", "c", "d"])
    cases.add("GridSample", image, grid, mode="bilinear", tolerance=1e-5)
    cases.compare_with_onnxruntime()
    (name,) = [name for name in cases.feeds if name.endswith("in1")]
    with pytest.raises(ExecutionError, match="GridSample_0"):
        run_compiled(cases.model(), cases.feeds | {name: GRID[..., :1]})


def test_affine_grid():
    cases = Cases(opset=20)
    for align in (0, 1):
        theta = _floats(2, 2, 3)
        cases.add("AffineGrid", theta, const([2, 3, 4, 5]), align_corners=align)
        cases.add("AffineGrid", _floats(1, 3, 4), const([1, 1, 2, 3, 4]), align_corners=align)
        fed = np.array([2, 3, 5, 2])
        cases.add("AffineGrid", Feed(theta, ["n", 2, 3]), fed, align_corners=align)
    cases.compare_evaluation()
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ((X, GRID[..., :1]), {}, "does not fit an image"),
        ((X, GRID[:1]), {}, "batches"),
        ((X, GRID), {"mode": "bent"}, "mode 'bent'"),
        ((X, GRID[0]), {}, "does not fit an image"),
    ],
)
def test_refused(inputs, attributes, message):
    cases = Cases(opset=20)
    cases.add("GridSample", *inputs, **attributes)
    with pytest.raises(InvalidModelError, match=message):
        evaluate(cases.model(), cases.feeds)


def test_integers_have_nothing_between_them():
    cases = Cases(opset=20)
    cases.add("GridSample", X.astype(np.int32), GRID)
    with pytest.raises(UnsupportedModelError, match="interpolation between elements of int32"):
        evaluate(cases.model(), cases.feeds)
