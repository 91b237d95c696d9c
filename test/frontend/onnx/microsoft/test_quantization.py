"""Operators of com.microsoft on quantized tensors against ONNX Runtime.

Scales are powers of two where the order of roundings is open, so that all orders agree.
"""

from typing import Any

import numpy as np
import pytest
from numerics import Cases, Feed, compare, const, evaluate, summable

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _bytes(dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return summable(_random.integers(info.min, info.max, shape, dtype, endpoint=True))


def _new_cases() -> tuple[Cases, Any]:
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, **attributes)

    return cases, add


def test_elementwise():
    cases, add = _new_cases()
    for dtype, zero in ((np.uint8, 120), (np.int8, -8)):
        a, b = _bytes(dtype, 2, 3, 8), _bytes(dtype, 3, 1)
        z = const(zero, dtype)
        wide = Feed(a, ["n", 3, 8])
        add("QLinearAdd", wide, const(0.5), z, b, const(0.25), const(3, dtype), const(0.5), z)
        add("QLinearMul", a, const(0.5), z, b, const(0.25), const(3, dtype), const(4.0), z)
        add("QLinearSigmoid", a, const(0.04), z, const(1 / 256), z)
        add("QLinearLeakyRelu", a, const(0.5), z, const(0.25), z, alpha=0.25)
        choice = a[:1] > 0
        three = const(3, dtype)
        add("QLinearWhere", choice, a, const(0.5), z, b, const(0.25), three, const(0.5), z)
        add("QLinearConcat", const(0.5), z, a, const(0.25), three, a[:, :2], const(0.5), z, axis=1)
    x = _random.standard_normal((2, 3, 4)).astype(np.float32)
    add("QuantizeLinear", x, const([0.03, 0.02, 0.05]), const([3, 0, 9], np.uint8), axis=1)
    add("QuantizeLinear", x, const(0.02), const(99, np.uint16))
    add("DequantizeLinear", _bytes(np.int8, 2, 3), const(0.02), const(9, np.int8))
    cases.compare_with_onnxruntime()


def test_pooling():
    cases, add = _new_cases()
    x = _bytes(np.uint8, 1, 4, 6, 8)
    scale, zero = const(0.5), const(120, np.uint8)
    window = {"kernel_shape": [2, 3], "strides": [2, 1]}
    add("QLinearAveragePool", x, scale, zero, const(0.25), zero, **window)
    add(
        "QLinearAveragePool", Feed(x, ["n", 4, 6, 8]), scale, zero, const(0.5), zero, **window,
        count_include_pad=1, channels_last=1,
    )  # fmt: skip
    for given in (x, Feed(x, ["n", 4, "height", "width"])):
        for pads, ceil_mode in (([1, 0, 0, 0], 1), ([0, 0, 0, 1], 0)):
            add(
                "QLinearAveragePool", given, scale, zero, const(0.5), zero, kernel_shape=[7, 4],
                strides=[5, 3], pads=pads, ceil_mode=ceil_mode, count_include_pad=1,
            )  # fmt: skip
    add("QLinearGlobalAveragePool", x, scale, zero, const(0.25), zero, channels_last=0)
    add("QLinearGlobalAveragePool", x, scale, zero, const(0.25), zero, channels_last=1)
    w = const(_bytes(np.int8, 8, 8, 3, 3))
    rest = (scale, zero, w, const(0.02), const(0, np.int8), const(64.0), zero)
    add("QLinearConv", x, *rest, channels_last=1, pads=[1, 1, 1, 1])
    cases.compare_with_onnxruntime()


def test_softmax():
    """Near: ONNX Runtime sums exponentials of a table in integers."""
    cases, add = _new_cases()
    x = _bytes(np.uint8, 3, 4, 16)
    for attributes in ({"opset": 13, "axis": -1}, {"opset": 9, "axis": 1}):
        near = {"tolerance": 1.0} | attributes
        add(
            "QLinearSoftmax",
            x,
            const(0.04),
            const(9, np.uint8),
            const(1 / 256),
            const(0, np.uint8),
            **near,
        )
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "reason"),
    [
        ("QLinearConcat", (1.0, np.uint8(0), np.zeros(2, np.uint8)), {"axis": 0}, "not threes"),
        ("QLinearSigmoid", (np.zeros(2, np.uint8), 1.0), {}, "scale of the result is left out"),
    ],
)
def test_what_is_refused(op_type, inputs, attributes, reason):
    cases, add = _new_cases()
    add(op_type, *[const(value) for value in inputs], **attributes)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())


def test_products_and_sums_in_32_bits():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    a, b = _bytes(np.uint8, 3, 4), _bytes(np.uint8, 4)
    cases.add("MulInteger", a, np.array(7, np.uint8), b, np.array([200], np.uint8), domain=DOMAIN)
    cases.add("MulInteger", a, None, b, domain=DOMAIN)
    cases.add("ReduceSumInteger", a, axes=[-1], keepdims=0, domain=DOMAIN)
    cases.add("ReduceSumInteger", a.view(np.int8), axes=[1, 0], keepdims=1, domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    wide, other = a.astype(np.int32), b.astype(np.int32)
    expected = [
        (wide - 7) * (other - 200),
        wide * other,
        a.sum(1, dtype=np.uint32),
        a.view(np.int8).sum(keepdims=True, dtype=np.int32),
    ]
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs)
