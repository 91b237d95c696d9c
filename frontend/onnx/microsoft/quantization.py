"""Arithmetic on quantized tensors, and quantization as ONNX Runtime had it before ONNX.

A quantized tensor comes as three inputs: the integers, their scale, and their zero point, which
is 0 where it is left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..operators.integer_convolution import integer_conv, per_filter
from ..operators.movement import concat
from ..operators.pooling import by_kernel, pool_window, window_means
from ..operators.quantization import (
    dequantize,
    dequantize_linear,
    per_tensor,
    quantize_linear,
    requantize,
)
from ..operators.shapes import normalize_axis
from .registry import microsoft_op


def floats(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
    """Dequantize a tensor with one scale."""
    return dequantize(x, per_tensor(scale), None if zero is None else per_tensor(zero))


def quantized(
    y: ir.Value, scale: ir.Value, zero: ir.Value | None, dtype: np.dtype | None = None
) -> ir.Value:
    """`y` quantized with one scale, to integers of `zero`'s type or `dtype`."""
    if zero is None:
        zero = graph.constant(value=np.zeros((), dtype))
    return graph.quantize(y, per_tensor(scale), per_tensor(zero))


def _dtype(x: ir.Value) -> np.dtype:
    return graph.type_of(x).dtype


@microsoft_op("QuantizeLinear")
def quantize_linear_(x, scale, zero_point=None, *, axis=1):
    return quantize_linear(x, scale, zero_point, axis=axis)


@microsoft_op("DequantizeLinear")
def dequantize_linear_(x, scale, zero_point=None, *, axis=1):
    return dequantize_linear(x, scale, zero_point, axis=axis)


@microsoft_op("QLinearAdd")
def qlinear_add(a, a_scale, a_zero, b, b_scale, b_zero=None, y_scale=None, y_zero=None):
    total = graph.add(floats(a, a_scale, a_zero), floats(b, b_scale, b_zero))
    return quantized(total, _required(y_scale), y_zero, _dtype(a))


@microsoft_op("QLinearMul")
def qlinear_mul(a, a_scale, a_zero, b, b_scale, b_zero=None, y_scale=None, y_zero=None):
    """The product is of integers, scaled once."""
    y_scale = _required(y_scale)
    y_zero = graph.constant(value=np.zeros((), _dtype(a))) if y_zero is None else y_zero
    product = graph.mul(_difference(a, a_zero), _difference(b, b_zero))
    return requantize(product, [per_tensor(a_scale), per_tensor(b_scale)], y_scale, y_zero)


def _required(scale: ir.Value | None) -> ir.Value:
    if scale is None:
        raise graph.TypeRuleError("the scale of the result is left out")
    return scale


def _difference(x: ir.Value, zero: ir.Value | None) -> ir.Value:
    wide = graph.cast(x, to=np.int32)
    return wide if zero is None else graph.sub(wide, graph.cast(per_tensor(zero), to=np.int32))


def _unary(op_type: str, function: Callable[..., ir.Value]) -> None:
    def convert(x, x_scale, x_zero=None, y_scale=None, y_zero=None, **attributes: Any) -> ir.Value:
        y = function(floats(x, x_scale, x_zero), **attributes)
        return quantized(y, _required(y_scale), y_zero, _dtype(x))

    microsoft_op(op_type)(convert)


def _leaky_relu(x: ir.Value, alpha: float = 0.01) -> ir.Value:
    return graph.leaky_relu(x, alpha=alpha)


_unary("QLinearSigmoid", graph.sigmoid)
_unary("QLinearLeakyRelu", _leaky_relu)


@microsoft_op("QLinearSoftmax")
def qlinear_softmax(x, x_scale, x_zero=None, y_scale=None, y_zero=None, *, opset, axis=-1):
    """Before opset 13 the softmax is over all axes from `axis` on."""
    y = floats(x, x_scale, x_zero)
    shape = graph.type_of(x).shape
    axis = axis + len(shape) if axis < 0 else axis
    if opset >= 13:
        y = graph.softmax(y, axis=axis)
    else:
        flat = [graph.element_count(shape[:axis]), graph.element_count(shape[axis:])]
        y = graph.reshape(graph.softmax(graph.reshape(y, shape=flat), axis=1), shape=shape)
    return quantized(y, _required(y_scale), y_zero, _dtype(x))


@microsoft_op("QLinearReduceMean")
def qlinear_reduce_mean(
    x, x_scale, x_zero=None, y_scale=None, y_zero=None, *, axes=None, keepdims=1
):
    rank = graph.type_of(x).rank
    axes = range(rank) if axes is None else sorted(axis % rank for axis in axes)
    y = graph.reduce_mean(floats(x, x_scale, x_zero), axes=axes, keepdims=bool(keepdims))
    return quantized(y, _required(y_scale), y_zero, _dtype(x))


@microsoft_op("QLinearGlobalAveragePool")
def qlinear_global_average_pool(x, x_scale, x_zero, y_scale, y_zero, *, channels_last=0):
    rank = graph.type_of(x).rank
    axes = range(1, rank - 1) if channels_last else range(2, rank)
    y = graph.reduce_mean(floats(x, x_scale, x_zero), axes=axes, keepdims=True)
    return quantized(y, y_scale, y_zero)


@microsoft_op("QLinearAveragePool")
def qlinear_average_pool(
    x, x_scale, x_zero=None, y_scale=None, y_zero=None,
    *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, channels_last=0, count_include_pad=0,
    dilations=None, pads=None, strides=None,
):  # fmt: skip
    """As the kernel of ONNX Runtime, which divides by the size of the window if padding counts."""
    y = _channels_first(floats(x, x_scale, x_zero), channels_last)
    window = pool_window(y, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    window = by_kernel(window) if count_include_pad else window
    means = window_means(y, window, count_include_pad=bool(count_include_pad))
    y = _as_given(means, channels_last)
    return quantized(y, _required(y_scale), y_zero, _dtype(x))


def _channels_first(x: ir.Value, channels_last: int) -> ir.Value:
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[0, rank - 1, *range(1, rank - 1)]) if channels_last else x


def _as_given(x: ir.Value, channels_last: int) -> ir.Value:
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[0, *range(2, rank), 1]) if channels_last else x


@microsoft_op("QLinearConv")
def qlinear_conv_(
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None,
    *, channels_last=0, **attributes,
):  # fmt: skip
    """QLinearConv as in ONNX, also with channels last; weights are channels first in either
    form."""
    accumulators = integer_conv(_channels_first(x, channels_last), w, x_zero, w_zero, **attributes)
    spatial = graph.type_of(x).rank - 2
    if bias is not None:
        shape = [*graph.type_of(bias).shape, *[1] * spatial]
        accumulators = graph.add(accumulators, graph.reshape(bias, shape=shape))
    scales = [per_tensor(x_scale), per_filter(w_scale, spatial + 1)]
    return _as_given(requantize(accumulators, scales, y_scale, y_zero), channels_last)


@microsoft_op("QLinearConcat")
def qlinear_concat(y_scale, y_zero, *inputs, axis):
    """Operands come in threes."""
    if not inputs or len(inputs) % 3:
        raise graph.TypeRuleError(f"{len(inputs)} operands are not threes")
    parts = [floats(*inputs[i : i + 3]) for i in range(0, len(inputs), 3)]
    return quantized(concat(*parts, axis=axis), y_scale, y_zero)


@microsoft_op("QLinearWhere")
def qlinear_where(condition, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    parts = [
        quantized(floats(x, scale, zero), y_scale, y_zero)
        for x, scale, zero in ((a, a_scale, a_zero), (b, b_scale, b_zero))
    ]
    return graph.where(condition, *parts)


@microsoft_op("MulInteger")
def mul_integer(a, a_zero=None, b=None, b_zero=None):
    """``(a - a_zero) * (b - b_zero)`` in i32."""
    if b is None:
        raise graph.TypeRuleError("the second operand is left out")
    return graph.mul(_from_zero(a, a_zero), _from_zero(b, b_zero))


def _from_zero(x: ir.Value, zero: ir.Value | None) -> ir.Value:
    dtype = graph.type_of(x).dtype
    if dtype not in (np.int8, np.uint8):
        raise graph.TypeRuleError(f"needs integers of 8 bits, not {dtype}")
    wide = graph.cast(x, to=np.int32)
    if zero is None:
        return wide
    return graph.sub(wide, graph.reshape(graph.cast(zero, to=np.int32), shape=[]))


@microsoft_op("ReduceSumInteger")
def reduce_sum_integer(x, *, axes, keepdims):
    """In 32 bits."""
    type_ = graph.type_of(x)
    if type_.dtype not in (np.int8, np.uint8):
        raise graph.TypeRuleError(f"needs integers of 8 bits, not {type_.dtype}")
    wide = graph.cast(x, to=np.uint32 if type_.dtype == np.uint8 else np.int32)
    axes = sorted(normalize_axis(axis, type_.rank) for axis in axes)
    return graph.reduce_sum(wide, axes=axes, keepdims=bool(keepdims))
