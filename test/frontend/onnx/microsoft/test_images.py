"""Operators of com.microsoft on images against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


X, WEIGHTS, BIAS = _floats(1, 3, 6, 6), _floats(4, 3, 3, 3), _floats(4)


def test_against_onnxruntime():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, tolerance=2e-5, **attributes)

    add("FusedConv", X, WEIGHTS, BIAS, activation="Relu")
    add("FusedConv", X, WEIGHTS, BIAS, _floats(1, 4, 4, 4), activation="Relu")
    add("FusedConv", X, WEIGHTS, activation="LeakyRelu", activation_params=[0.2], strides=[2, 2])
    add("FusedConv", X, WEIGHTS, activation="Clip", activation_params=[-0.5, 0.75])
    whole = _random.integers(0, 256, (1, 6, 5, 3)).astype(np.uint8)
    add("NhwcMaxPool", whole, kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 0, 1])
    pads = const([1, 0, 0, 2])
    add("ConvTransposeWithDynamicPads", X, _floats(3, 4, 3, 3), pads, BIAS, strides=[2, 2])
    cases.compare_with_onnxruntime()


def test_crops():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x = _floats(2, 3, 6, 5)
    rois = np.float32([[0, 0, 1, 1], [0.9, 0.1, 0.3, 0.8], [-0.4, 0.2, 0.5, 1.5]])
    images = np.int32([1, 0, 1])
    for size in ([4, 3], [1, 2]):
        for mode in ("bilinear", "nearest"):
            inputs = x, rois, images, const(size, np.int32)
            cases.add("CropAndResize", *inputs, domain=DOMAIN, mode=mode, tolerance=1e-5)
    named = Feed(x, ["n", 3, "h", "w"]), Feed(rois, ["r", 4]), Feed(images, ["r"])
    cases.add("CropAndResize", *named, const([3, 3], np.int32), domain=DOMAIN, tolerance=1e-5,
              extrapolation_value=-7.0)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_channels_last():
    """ONNX Runtime has them on other devices; the same as with channels first."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    z = _floats(1, 4, 4, 4)
    last, z_last = (np.ascontiguousarray(v.transpose(0, 2, 3, 1)) for v in (X, z))
    cases.add("FusedConv", X, WEIGHTS, BIAS, z, activation="Relu", domain=DOMAIN)
    cases.add("NhwcFusedConv", last, WEIGHTS, BIAS, z_last, activation="Relu", domain=DOMAIN)
    cases.add("Conv", X, WEIGHTS, pads=[1, 1, 1, 1])
    cases.add("NhwcConv", last, WEIGHTS, pads=[1, 1, 1, 1], domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    fused, fused_last, plain, plain_last = evaluate(cases.model(), cases.feeds)
    np.testing.assert_array_equal(fused_last.transpose(0, 3, 1, 2), fused)
    np.testing.assert_array_equal(plain_last.transpose(0, 3, 1, 2), plain)


def test_too_many_parameters_are_refused():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add(
        "FusedConv", X, WEIGHTS, domain=DOMAIN, activation="Clip", activation_params=[1.0] * 3
    )
    with pytest.raises(InvalidModelError, match="more than two"):
        evaluate(cases.model(), cases.feeds)
