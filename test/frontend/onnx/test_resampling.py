"""GridSample and AffineGrid against ONNX Runtime and ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError, UnsupportedModelError

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


def test_points_that_are_no_numbers():
    """What is far outside, or no number, reads nothing outside of the image."""
    cases = Cases(opset=20)
    wild = np.array([[[[np.inf, 0], [-np.inf, 1e30], [np.nan, 0]]]], np.float32)
    for padding in PADDINGS:
        cases.add("GridSample", np.ones((1, 1, 3, 3), np.float32), wild, padding_mode=padding)
    cases.compare_compiled_with_evaluation()


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
