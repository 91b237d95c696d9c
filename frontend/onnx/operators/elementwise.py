"""Elementwise operators: activations, arithmetic, comparison, logic, casts."""

from collections.abc import Callable

import numpy as np
import onnx

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from ..importing.tensors import dtype_of


def _unary(op_type: str, build: Callable[..., ir.Value]) -> None:
    onnx_op(op_type)(lambda x: build(x))


def _binary(op_type: str, build: Callable[..., ir.Value]) -> None:
    onnx_op(op_type, since=7)(lambda a, b: build(a, b))


_unary("Abs", graph.abs_)
_unary("Acos", graph.acos)
_unary("Acosh", graph.acosh)
_unary("Asin", graph.asin)
_unary("Asinh", graph.asinh)
_unary("Atan", graph.atan)
_unary("Atanh", graph.atanh)
_unary("BitwiseNot", graph.bitwise_not)
_unary("Ceil", graph.ceil)
_unary("Cos", graph.cos)
_unary("Cosh", graph.cosh)
_unary("Exp", graph.exp)
_unary("Floor", graph.floor)
_unary("IsNaN", graph.is_nan)
_unary("Log", graph.log)
_unary("Mish", graph.mish)
_unary("Neg", graph.neg)
_unary("Not", graph.not_)
_unary("Reciprocal", graph.reciprocal)
_unary("Relu", graph.relu)
_unary("Round", graph.round_)
_unary("Sigmoid", graph.sigmoid)
_unary("Sign", graph.sign)
_unary("Sin", graph.sin)
_unary("Sinh", graph.sinh)
_unary("Softplus", graph.softplus)
_unary("Softsign", graph.softsign)
_unary("Sqrt", graph.sqrt)
_unary("Tan", graph.tan)
_unary("Tanh", graph.tanh)

_binary("Add", graph.add)
_binary("And", graph.and_)
_binary("BitwiseAnd", graph.bitwise_and)
_binary("BitwiseOr", graph.bitwise_or)
_binary("BitwiseXor", graph.bitwise_xor)
_binary("Div", graph.div)
_binary("Equal", graph.equal)
_binary("Greater", graph.greater)
_binary("GreaterOrEqual", graph.greater_or_equal)
_binary("Less", graph.less)
_binary("LessOrEqual", graph.less_or_equal)
_binary("Mul", graph.mul)
_binary("Or", graph.or_)
_binary("PRelu", graph.prelu)
_binary("Sub", graph.sub)
_binary("Xor", graph.xor)


@onnx_op("Identity")
def identity(x):
    return x


@onnx_op("Pow", since=7)
def pow_(a, b):
    """The result is of the type of `a`; a fractional power of integers is computed in f64."""
    base, exponent = graph.type_of(a).dtype, graph.type_of(b).dtype
    if graph.is_integer(base) and graph.is_float(exponent):
        wide = graph.pow_(graph.cast(a, to=np.float64), graph.cast(b, to=np.float64))
        return graph.cast(_rounded_if_close(wide), to=base)
    return graph.pow_(a, b if exponent == base else graph.cast(b, to=base))


_POWER_ERROR = 2.0**-46
"""The relative error of powers in f64 is below this."""


def _rounded_if_close(x: ir.Value) -> ir.Value:
    """Powers `x` in f64, those whole that may be: the whole part of 7.999 would be 7."""
    whole = graph.round_(x)
    distance, size = graph.abs_(graph.sub(x, whole)), graph.abs_(x)
    close = graph.less_or_equal(distance, graph.mul(size, graph.splat_like(_POWER_ERROR, x)))
    return graph.where(close, whole, x)


@onnx_op("Mod", since=10)
def mod(a, b, *, fmod=0):
    return graph.fmod(a, b) if fmod else graph.mod(a, b)


@onnx_op("BitShift", since=11)
def bit_shift(a, b, *, direction):
    return graph.shift_left(a, b) if direction == "LEFT" else graph.shift_right(a, b)


def _fold_variadic(build: Callable[..., ir.Value], xs: tuple[ir.Value, ...]) -> ir.Value:
    result = xs[0]
    for x in xs[1:]:
        result = build(result, x)
    return result


@onnx_op("Sum")
def sum_(x, *xs):
    return _fold_variadic(graph.add, (x, *xs))


@onnx_op("Max")
def max_(x, *xs):
    return _fold_variadic(graph.max_, (x, *xs))


@onnx_op("Min")
def min_(x, *xs):
    return _fold_variadic(graph.min_, (x, *xs))


@onnx_op("Mean")
def mean(x, *xs):
    total = _fold_variadic(graph.add, (x, *xs))
    return graph.div(total, graph.splat_like(len(xs) + 1, total))


@onnx_op("Where", since=9)
def where(condition, a, b):
    return graph.where(condition, a, b)


@onnx_op("Clip", since=6)
def clip_6(x, *, min=-3.4028234663852886e38, max=3.4028234663852886e38):
    return clip(x, graph.splat_like(min, x), graph.splat_like(max, x))


@onnx_op("Clip", since=11)
def clip(x, min=None, max=None):
    if min is not None:
        x = graph.max_(x, min)
    if max is not None:
        x = graph.min_(x, max)
    return x


@onnx_op("LeakyRelu")
def leaky_relu(x, *, alpha=0.01):
    return graph.leaky_relu(x, alpha=alpha)


@onnx_op("Elu")
def elu(x, *, alpha=1.0):
    return graph.elu(x, alpha=alpha)


@onnx_op("Selu", since=6)
def selu(x, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return graph.selu(x, alpha=alpha, gamma=gamma)


@onnx_op("Celu", since=12)
def celu(x, *, alpha=1.0):
    return graph.celu(x, alpha=alpha)


@onnx_op("HardSigmoid")
def hard_sigmoid(x, *, alpha=0.2, beta=0.5):
    return graph.hard_sigmoid(x, alpha=alpha, beta=beta)


@onnx_op("HardSwish", since=14)
def hard_swish(x):
    return graph.mul(x, graph.hard_sigmoid(x, alpha=1 / 6, beta=0.5))


@onnx_op("Swish", since=24)
def swish(x, *, alpha=1.0):
    return graph.swish(x, alpha=alpha)


@onnx_op("ThresholdedRelu", since=10)
def thresholded_relu(x, *, alpha=1.0):
    return graph.thresholded_relu(x, alpha=alpha)


def _as_floats(x: ir.Value, function: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """A function of floats; integers are computed in f64 and cut towards zero."""
    dtype = graph.type_of(x).dtype
    if not graph.is_integer(dtype):
        return function(x)
    return graph.cast(function(graph.cast(x, to=np.float64)), to=dtype)


@onnx_op("Erf")
def erf(x):
    return _as_floats(x, graph.erf)


@onnx_op("Shrink", since=9)
def shrink(x, *, bias=0.0, lambd=0.5):
    return _as_floats(x, lambda x: graph.shrink(x, bias=bias, lambd=lambd))


@onnx_op("Gelu", since=20)
def gelu(x, *, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise UnsupportedError(f"approximate='{approximate}'")
    return graph.gelu(x, approximate=approximate)


@onnx_op("IsInf", since=10)
def is_inf(x, *, detect_negative=1, detect_positive=1):
    return graph.is_inf(x, negative=bool(detect_negative), positive=bool(detect_positive))


def _target_dtype(to: int) -> np.dtype:
    if to == onnx.TensorProto.STRING:
        raise UnsupportedError("conversion to strings")
    return dtype_of(to, "attribute 'to'")


def _cast(x: ir.Value, to: np.dtype, saturate: int, round_mode: str) -> ir.Value:
    if (saturate and round_mode == "up") or not graph.is_minifloat(to):
        return graph.cast(x, to=to)
    return graph.cast_float8(x, to=to, saturate=bool(saturate), round_mode=round_mode)


@onnx_op("Cast", since=6)
def cast(x, *, to, saturate=1, round_mode="up"):
    return _cast(x, _target_dtype(to), saturate, round_mode)


@onnx_op("CastLike", since=15)
def cast_like(x, target, *, saturate=1, round_mode="up"):
    return _cast(x, graph.type_of(target).dtype, saturate, round_mode)


@onnx_op("BitCast", since=26)
def bit_cast(x, *, to):
    return graph.bit_cast(x, to=_target_dtype(to))
