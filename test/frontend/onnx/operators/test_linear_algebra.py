"""Det against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, evaluate

from graphc.errors import InvalidModelError

_random = np.random.default_rng(0)


def test_det():
    cases = Cases(opset=11)
    matrices = _random.standard_normal((2, 3, 4, 4)).astype(np.float32)
    cases.add("Det", Feed(matrices, ["n", 3, 4, 4]), tolerance=1e-5)
    cases.add("Det", np.array([[0, 2], [3, 0]], np.float32))
    cases.add("Det", np.array([[1, 2], [2, 4]], np.float32))
    cases.add("Det", np.array([[7]], np.float32))
    cases.compare_with_onnxruntime()


def test_refused():
    cases = Cases(opset=11)
    cases.add("Det", np.ones((2, 3), np.float32))
    with pytest.raises(InvalidModelError, match="needs square matrices"):
        evaluate(cases.model(), cases.feeds)
