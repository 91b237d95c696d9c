"""Quantization: integers that stand for floats, and arithmetic on them."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from ..importing.tensors import dtype_of
from .contraction import integer_matmul, matmul_of_any_rank
from .integer_convolution import integer_conv, per_filter
from .scales import require_quantized, require_scale

_F32 = np.dtype(np.float32)
_FLOATS = tuple(map(np.dtype, (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)))


@onnx_op("QuantizeLinear", since=10)
def quantize_linear(
    x, scale, zero_point=None, *, axis=1, saturate=1, block_size=0, output_dtype=0, precision=0
):
    """The quotient is of the scale's type, unless `precision` says otherwise."""
    target = _quantized_dtype(zero_point, output_dtype)
    require_quantized(target)
    require_scale(scale, divides=True)
    dtype = (
        dtype_of(precision, "attribute 'precision'") if precision else graph.type_of(scale).dtype
    )
    dtype = dtype if dtype in _FLOATS else _F32

    def quantized(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
        x, scale = graph.cast(x, to=dtype), graph.cast(scale, to=dtype)
        if graph.is_integer(target):
            return graph.quantize(x, scale, _zero(target) if zero is None else zero)
        quotient = graph.div(x, scale)
        if saturate:
            return graph.cast(quotient, to=target)
        return graph.cast_float8(quotient, to=target, saturate=False, round_mode="up")

    return _by_blocks(quantized, x, scale, zero_point, axis, block_size)


def _quantized_dtype(zero_point: ir.Value | None, output_dtype: int) -> np.dtype:
    stated = dtype_of(output_dtype, "attribute 'output_dtype'") if output_dtype else None
    if zero_point is None:
        return stated or np.dtype(np.uint8)
    dtype = graph.type_of(zero_point).dtype
    if stated not in (None, dtype):
        raise graph.TypeRuleError(f"output_dtype is {stated}, but the zero point is {dtype}")
    return dtype


@onnx_op("DequantizeLinear", since=10)
def dequantize_linear(x, scale, zero_point=None, *, axis=1, block_size=0, output_dtype=0):
    """A zero point of small floats is 0."""
    require_scale(scale)
    dtype = graph.type_of(scale).dtype
    target = dtype_of(output_dtype, "attribute 'output_dtype'") if output_dtype else dtype
    target = target if target in _FLOATS else _F32

    def dequantized(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
        return dequantize(x, scale, zero, target)

    return _by_blocks(dequantized, x, scale, zero_point, axis, block_size)


def dequantize(
    x: ir.Value, scale: ir.Value, zero: ir.Value | None, target: np.dtype = _F32
) -> ir.Value:
    """`x` as the floats it stands for; scale and zero point broadcast to it."""
    dtype = graph.type_of(x).dtype
    if graph.is_integer(dtype):
        zero = _zero(dtype) if zero is None else zero
        return graph.dequantize(x, graph.cast(scale, to=_wide(scale)), zero, to=target)
    return graph.cast(graph.mul(graph.cast(x, to=_F32), graph.cast(scale, to=_F32)), to=target)


def _wide(scale: ir.Value) -> np.dtype:
    dtype = graph.type_of(scale).dtype
    return dtype if dtype in _FLOATS else _F32


def _zero(dtype: np.dtype) -> ir.Value:
    return graph.constant(value=np.zeros((), dtype))


def _by_blocks(
    compute: Callable[[ir.Value, ir.Value, ir.Value | None], ir.Value],
    x: ir.Value,
    scale: ir.Value,
    zero: ir.Value | None,
    axis: int,
    block_size: int,
) -> ir.Value:
    """Call `compute` with scale and zero point in forms that broadcast to `x`.

    One scale serves all of `x`, or each position on `axis` has one, or each block of `block_size`
    positions. Blocks that fill the axis become an axis of their own.
    """
    scale = per_tensor(scale)
    zero = None if zero is None else per_tensor(zero)
    type_, scales = graph.type_of(x), graph.type_of(scale)
    if zero is not None and graph.type_of(zero).shape not in ((), scales.shape):
        raise graph.TypeRuleError(f"scale {scales} and zero point {graph.type_of(zero)} differ")
    if not scales.rank:
        return compute(x, scale, zero)
    axis = _axis(axis, type_.rank)
    if scales.rank == 1 and not block_size:
        count, size = scales.shape[0], type_.shape[axis]
        if isinstance(count, int) and isinstance(size, int) and count != size:
            raise graph.TypeRuleError(
                f"scale {scales} has {count} elements, but axis {axis} of {type_} has {size}"
            )
        shape: list = [1] * type_.rank
        shape[axis] = count
        return compute(x, _reshaped(scale, shape), _reshaped(zero, shape))
    if scales.rank != type_.rank or block_size < 1:
        raise graph.TypeRuleError(f"scale {scales} does not fit {type_} by axis or block")
    blocks, size = scales.shape[axis], type_.shape[axis]
    before, after = list(type_.shape[:axis]), list(type_.shape[axis + 1 :])
    ones = [*scales.shape[:axis], blocks, 1, *scales.shape[axis + 1 :]]
    if blocks * block_size == size:
        split = graph.reshape(x, shape=[*before, blocks, block_size, *after])
        y = compute(split, _reshaped(scale, ones), _reshaped(zero, ones))
        return graph.reshape(y, shape=type_.shape)

    def repeated(value: ir.Value) -> ir.Value:
        return _repeated(value, ones, axis, block_size, type_.shape)

    if zero is not None and graph.type_of(zero).rank:
        zero = repeated(zero)
    return compute(x, repeated(scale), zero)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise graph.TypeRuleError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def per_tensor(value: ir.Value) -> ir.Value:
    """One element as a scalar; others as they are."""
    return graph.reshape(value, shape=[]) if graph.type_of(value).shape == (1,) else value


def _reshaped(value: Any, shape: Sequence[Any]) -> Any:
    """A scale or a zero point in `shape`, if it is there and one of many."""
    if value is None or not graph.type_of(value).rank:
        return value
    return graph.reshape(value, shape=shape)


def _repeated(value: ir.Value, ones: list, axis: int, times: int, shape) -> ir.Value:
    """Each position on `axis` `times` in a row, up to the size that `shape` has there."""
    blocks = ones[axis]
    spread = graph.expand(
        graph.reshape(value, shape=ones), shape=[*ones[: axis + 1], times, *ones[axis + 2 :]]
    )
    joined = graph.reshape(spread, shape=[*ones[:axis], blocks * times, *ones[axis + 2 :]])
    sizes = [*ones[:axis], shape[axis], *ones[axis + 2 :]]
    return graph.slice_(joined, starts=[0] * len(sizes), sizes=sizes, steps=[1] * len(sizes))


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x):
    """To u8, over the range of `x` and 0. A range of nothing but 0 has scale 1."""
    return graph.dynamic_quantize(x)


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(a, a_scale: ir.Value, a_zero, b, b_scale: ir.Value, b_zero, y_scale, y_zero):
    """Scales and zero points have one element, or one per row of `a` and per column of `b`."""
    _require_scales(a=a_scale, b=b_scale, y=y_scale)
    a_scale, a_zero = per_row(a_scale), per_row(a_zero)
    b_scale, b_zero = per_column(b_scale), per_column(b_zero)
    if graph.is_minifloat(graph.type_of(a).dtype):
        y = matmul_of_any_rank(dequantize(a, a_scale, a_zero), dequantize(b, b_scale, b_zero))
        return quantize_linear(y, graph.cast(y_scale, to=_F32), y_zero)
    accumulators = matmul_of_any_rank(a, b, lambda a, b: integer_matmul(a, b, a_zero, b_zero))
    return requantize(accumulators, [a_scale, b_scale], y_scale, y_zero)


def _require_scales(*, y: ir.Value, **operands: ir.Value) -> None:
    """Check the scales of the operands, by name, and that of the result."""
    for name, scale in operands.items():
        require_scale(scale, f"scale of '{name}'")
    require_scale(y, "scale of the result", divides=True)


@onnx_op("QLinearConv", since=10)
def qlinear_conv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None, **attributes):
    """The bias is i32, of scale ``x_scale * w_scale``."""
    _require_scales(x=x_scale, w=w_scale, y=y_scale)
    accumulators = integer_conv(x, w, x_zero, w_zero, **attributes)
    spatial = graph.type_of(x).rank - 2
    if bias is not None:
        shape = [*graph.type_of(bias).shape, *[1] * spatial]
        accumulators = graph.add(accumulators, graph.reshape(bias, shape=shape))
    scales = [per_tensor(x_scale), per_filter(w_scale, spatial + 1)]
    return requantize(accumulators, scales, y_scale, y_zero)


@overload
def per_row(value: ir.Value) -> ir.Value: ...
@overload
def per_row(value: ir.Value | None) -> ir.Value | None: ...
def per_row(value: ir.Value | None) -> ir.Value | None:
    """A vector as a column; others as they are, one element as a scalar."""
    return None if value is None else _vector(value, lambda count: [count, 1])


@overload
def per_column(value: ir.Value) -> ir.Value: ...
@overload
def per_column(value: ir.Value | None) -> ir.Value | None: ...
def per_column(value: ir.Value | None) -> ir.Value | None:
    """A vector as it is, one element as a scalar."""
    return None if value is None else _vector(value, lambda count: [count])


def _vector(value: ir.Value, shape: Callable[..., list]) -> ir.Value:
    if graph.type_of(value).rank != 1:
        return value
    (count,) = graph.type_of(value).shape
    return graph.reshaped_constant(value, [] if count == 1 else shape(count))


def requantize(
    accumulators: ir.Value, scales: list[ir.Value], y_scale: ir.Value, y_zero: ir.Value
) -> ir.Value:
    """i32 accumulators of quantized numbers with `scales`, quantized for `y_scale`."""
    factor = graph.mul(*(graph.cast(scale, to=_F32) for scale in scales))
    factor = graph.div(factor, graph.reshape(graph.cast(y_scale, to=_F32), shape=[]))
    y = graph.mul(graph.cast(accumulators, to=_F32), factor)
    one = graph.constant(value=np.ones((), np.float32))
    return graph.quantize(y, one, graph.reshape(y_zero, shape=[]))
