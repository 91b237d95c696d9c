"""Matrices as such, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _matrices(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_inverse():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(x, tolerance=1e-4):
        cases.add("Inverse", x, domain=DOMAIN, tolerance=tolerance)

    add(_matrices(1, 1))
    add(_matrices(3, 2, 2))
    add(_matrices(2, 3, 4, 4))
    add(_matrices(9, 9))
    add(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 4]], np.float32))
    add(_matrices(3, 3).astype(np.float64), 1e-10)
    add((np.eye(3) + 0.1 * _matrices(3, 3)).astype(np.float16), 4e-3)
    add(Feed(_matrices(2, 5, 5), ["b", "n", "n"]))
    cases.compare_with_onnxruntime()


def test_inverse_of_rows_that_are_not_columns():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("Inverse", _matrices(2, 3), domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="square matrices"):
        import_onnx(cases.model())
