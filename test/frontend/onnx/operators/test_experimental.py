"""Operators that were experimental against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_functions():
    cases, x = Cases(opset=8), _floats(3, 5)
    cases.add("Affine", x, alpha=2.0, beta=-0.5)
    cases.add("Scale", x, scale=3.0)
    cases.add("ScaledTanh", x, alpha=1.5, beta=0.5)
    cases.add("ParametricSoftplus", x, alpha=1.5, beta=0.5)
    cases.add("ThresholdedRelu", x, alpha=0.5)
    cases.add("ThresholdedRelu", x)
    cases.compare_with_onnxruntime()


def test_images():
    cases, x = Cases(opset=8), _floats(2, 3, 6, 7)
    cases.add("ImageScaler", x, bias=[1.0, -2.0, 0.5], scale=0.25)
    cases.add("ImageScaler", Feed(x, ["n", 3, "h", "w"]), bias=[1.0, -2.0, 0.5])
    cases.add("Crop", x, border=[1, 2, 3, 0])
    cases.add("Crop", Feed(x, ["n", 3, "h", "w"]), border=[1, 0, 2, 3])
    cases.add("Crop", x, border=[1, 2, 0, 0], scale=[4, 3])
    for across in (0, 1):
        for normalize in (0, 1):
            cases.add("MeanVarianceNormalization", x, across_channels=across,
                      normalize_variance=normalize, tolerance=1e-5)  # fmt: skip
    cases.add("DynamicSlice", x, const([1, -4]), const([100, -1]), const([2, 3]))
    cases.add("DynamicSlice", x[0, 0], np.array([0, 1]), np.array([-1, 5]))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("ImageScaler", {"bias": [1.0, 2.0]}, "2 biases for the channels of 2x3x6x7xf32"),
        ("ImageScaler", {}, "missing a required argument: 'bias'"),
        ("Crop", {"border": [1, 2]}, r"a border of \[1, 2\]"),
        ("Crop", {"border": [0, 0, 0, -1]}, r"a border of \[0, 0, 0, -1\]"),
        ("Crop", {"border": [4, 0, 4, 0]}, "a size of -1"),
        ("Crop", {"border": [4, 4, 0, 0], "scale": [6, 1]}, r"axis 2: 4..9 is outside 0..5"),
    ],
)
def test_what_does_not_fit(op_type, attributes, message):
    cases = Cases(opset=8)
    cases.add(op_type, _floats(2, 3, 6, 7), **attributes)
    with pytest.raises(InvalidModelError, match=message):
        import_onnx(cases.model())
