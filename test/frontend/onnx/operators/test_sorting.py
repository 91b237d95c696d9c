"""Unique elements and rows against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, evaluate

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _digits(*shape: int) -> np.ndarray:
    return _random.integers(0, 4, shape)


def test_unique():
    cases = Cases(opset=11)
    few = _digits(3, 7).astype(np.float32) - 2
    cases.add("Unique", few, outputs=4)
    cases.add("Unique", few, outputs=4, sorted=0)
    cases.add("Unique", Feed(_digits(40), ["n"]), outputs=4)
    cases.add("Unique", Feed(_digits(9).astype(np.int8), ["n"]), sorted=0)
    cases.add("Unique", np.array([0.0, -0.0, np.inf, -np.inf], np.float32), outputs=4)
    cases.add("Unique", _digits(1), outputs=4)
    cases.add("Unique", np.zeros((0, 3), np.float32), outputs=4)
    cases.compare_with_onnxruntime()


def test_unique_rows():
    cases = Cases(opset=11)
    cases.add("Unique", _digits(9, 2), outputs=4, axis=0)
    cases.add("Unique", _digits(9, 2), outputs=4, axis=0, sorted=0)
    cases.add("Unique", Feed(_digits(2, 12, 1), ["a", "b", 1]), outputs=4, axis=-2)
    cases.add("Unique", _digits(1, 5).astype(np.float64), outputs=4, axis=1)
    cases.compare_with_onnxruntime()


def test_unique_of_what_has_no_order():
    """NaN is the largest value, and one; of booleans there are two."""
    cases = Cases(opset=11)
    cases.add("Unique", np.array([np.nan, 1, np.nan, -np.inf], np.float32), outputs=4)
    cases.add("Unique", np.array([[True, False, True]]), outputs=4)
    cases.compare_compiled_with_evaluation()
    cases.compare_evaluation()


def test_unique_rows_of_nothing():
    cases = Cases(opset=11)
    for shape, axis in (((3, 0), 0), ((3, 0), 1), ((2, 0, 4), -1), ((0, 3), 1), ((0, 0), 0)):
        x = np.zeros(shape, np.float32)
        cases.add("Unique", x, outputs=4, axis=axis)
        cases.add("Unique", Feed(x, list("abc")[: x.ndim]), outputs=4, axis=axis, sorted=0)
    cases.compare_compiled_with_evaluation()
    expected = np.unique(np.zeros((2, 0, 4)), True, True, True, axis=-1)
    for have, want in zip(evaluate(cases.model(), cases.feeds)[16:20], expected, strict=True):
        assert have.tolist() == want.tolist()
        assert have.shape == want.shape


def test_axis_is_checked():
    cases = Cases(opset=11)
    cases.add("Unique", _digits(2), axis=1)
    with pytest.raises(InvalidModelError, match="axis 1 is outside a tensor of rank 1"):
        import_onnx(cases.model())
