"""Operators as opsets 1 to 6 spelled them, against numpy."""

import numpy as np
import onnx
import pytest
from numerics import Cases, compare, const, evaluate, output_names, run_compiled

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _compare(cases: Cases, expected: list[np.ndarray]) -> None:
    model = cases.model()
    compare(evaluate(model, cases.feeds), expected, output_names(model), what="evaluated")
    compare(run_compiled(model, cases.feeds), expected, output_names(model))


def test_limited_broadcasting():
    cases, expected = Cases(opset=6), []
    x = _normal(2, 3, 4, 5)
    for shape, axis in (((3, 4), 1), ((5,), None), ((4, 5), None), ((2,), 0), ((2,), -4), ((), 0)):
        b = _normal(*shape)
        cases.add("Sub", x, b, broadcast=1, **({} if axis is None else {"axis": axis}))
        first = 4 - len(shape) if axis is None else axis % 4
        expected.append(x - b.reshape(*shape, *[1] * (4 - len(shape) - first)))
    cases.add("Mul", x, x, broadcast=0)
    expected.append(x * x)
    mask = x > 0
    cases.add("And", mask, mask[0, :, 0, 0], broadcast=1, axis=1)
    expected.append(mask & mask[0, :, 0, 0].reshape(3, 1, 1))
    cases.add("PRelu", x, _slope := _normal(3))
    expected.append(np.where(x < 0, x * _slope.reshape(3, 1, 1), x))
    cases.add("PRelu", x, np.array([0.5], np.float32))
    expected.append(np.where(x < 0, x * np.float32(0.5), x))
    _compare(cases, expected)


def test_attributes_that_became_inputs():
    cases, expected = Cases(opset=1), []
    x = _normal(2, 4, 6)
    cases.add("Reshape", x, shape=[0, -1], consumed_inputs=[0])
    expected.append(x.reshape(2, 24))
    cases.add("Pad", x, paddings=[0, 1, 0, 0, 0, 2], value=3.0)
    expected.append(np.pad(x, [(0, 0), (1, 0), (0, 2)], constant_values=3))
    cases.add("Clip", x, min=-0.5, consumed_inputs=[0])
    expected.append(np.maximum(x, np.float32(-0.5)))
    cases.add("Clip", x, max=0.5)
    expected.append(np.minimum(x, np.float32(0.5)))
    cases.add("Concat", x, x)
    expected.append(np.concatenate([x, x], axis=1))
    cases.add("Tile", x, const(np.array([3.0])), const(np.array([1.0])))
    expected.append(np.tile(x, (1, 3, 1)))
    cases.add("Cast", x, to="INT32")
    expected.append(x.astype(np.int32))
    cases.add("Split", x, const([1, 3]), axis=1, outputs=2)
    expected += np.split(x, [1], axis=1)
    cases.add("Split", x, split=[2, 4], axis=2, outputs=2)
    expected += np.split(x, [2], axis=2)
    cases.add("GlobalLpPool", x, p=1.0)
    expected.append(np.abs(x).sum(axis=2, keepdims=True))
    cases.add("Selu", x, consumed_inputs=[0])
    expected.append(np.float32(1.0507) * np.where(x > 0, x, np.float32(1.6732) * np.expm1(x)))
    cases.add("Relu", x, consumed_inputs=[0])
    expected.append(np.maximum(x, 0))
    a, b, c = _normal(3, 4), _normal(4, 5), _normal(5)
    cases.add("Gemm", a, b, c, broadcast=1, alpha=0.5)
    expected.append(np.float32(0.5) * (a @ b) + c)
    scale, bias, mean, variance = (_normal(4) for _ in range(4))
    variance = np.abs(variance)
    cases.add("BatchNormalization", x, scale, bias, mean, variance, is_test=1,
              consumed_inputs=[0, 0, 0, 1, 1])  # fmt: skip
    normal = (x - mean[:, None]) / np.sqrt(variance[:, None] + np.float32(1e-5))
    expected.append(normal * scale[:, None] + bias[:, None])
    _compare(cases, expected)


def _import_one(opset: int, op_type: str, *inputs, **attributes) -> onnx.ModelProto:
    cases = Cases(opset=opset)
    cases.add(op_type, *inputs, **attributes)
    return import_onnx(cases.model())


def test_what_is_refused():
    x = _normal(2, 3)
    with pytest.raises(InvalidModelError, match=r"2x3xf32 and 3xf32 need broadcast=1"):
        _import_one(6, "Add", x, x[0])
    with pytest.raises(InvalidModelError, match=r"2x3xf32 does not fit 2x3xf32 at 1"):
        _import_one(6, "Add", x, x, broadcast=1, axis=1)
    with pytest.raises(InvalidModelError, match="'HALF' is not an element type"):
        _import_one(1, "Cast", x, to="HALF")
    with pytest.raises(InvalidModelError, match="consumed_inputs"):
        _import_one(6, "Relu", x, consumed_inputs=[0])
