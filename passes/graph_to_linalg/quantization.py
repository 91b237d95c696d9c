"""Quantization of one element."""

from typing import Any

import ml_dtypes
import numpy as np

from ...dialects import graph
from ...mlir import arith, ir
from ..infra.query import constant_scalar
from ..kernels.division import divide_small, is_divisor
from ..kernels.scalar_functions import (
    SMALL,
    clamp,
    integer_like,
    like,
    product,
    round_half_even,
    round_small,
    round_small_float,
)
from .conversion import convert_scalar
from .scalar_rules import NOT_F32, scalar_rule

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I32 = np.dtype(np.int32)
_SMALL = tuple(map(np.dtype, (np.int8, np.uint8, np.int16, np.uint16)))


@scalar_rule(graph.QuantizeOp, vector=NOT_F32, on_bits=True, any_vector=True)
def quantize(op: graph.GraphOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value) -> ir.Value:
    """Quantize one element. It saturates before the zero point is added, while floats are exact."""
    dtype, target = (graph.type_of(op.operation.operands[i]).dtype for i in (0, 2))
    wide = _F64 if dtype == _F64 else _F32
    step, origin = map(constant_scalar, op.operation.operands[1:])
    if _is_by_step(dtype, step, origin):
        limits, zero = np.iinfo(target), int(origin)
        whole = round_small(_steps(x, step, limits.min - zero, limits.max - zero))
        return convert_scalar(arith.addi(whole, integer_like(zero, whole)), _I32, target)
    quotient = arith.divf(convert_scalar(x, dtype, wide), convert_scalar(scale, dtype, wide))
    quotient = convert_scalar(convert_scalar(quotient, wide, dtype), dtype, wide)
    zero = convert_scalar(zero_point, target, _I32)
    zero_float = convert_scalar(zero, _I32, wide)
    info = ml_dtypes.iinfo(target)
    low, high = (arith.subf(like(limit, quotient), zero_float) for limit in (info.min, info.max))
    is_small = wide == _F32 and max(-info.min, info.max) <= SMALL
    rounded = quotient if is_small else round_half_even(quotient)
    inside = clamp(rounded, low, high)
    whole = round_small(inside) if is_small else arith.fptosi(zero.type, inside)
    return convert_scalar(arith.addi(whole, zero), _I32, target)


@scalar_rule(graph.DequantizeOp, vector=NOT_F32, on_bits=True, any_vector=True)
def dequantize(op: graph.GraphOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value) -> ir.Value:
    source, given, origin = (graph.type_of(value).dtype for value in op.operation.operands)
    target = op.attrs["to"]
    wide = _F64 if target == _F64 else _F32
    if graph.is_float(origin):
        minuend, zero = convert_scalar(x, source, wide), convert_scalar(zero_point, origin, wide)
        difference = arith.subf(minuend, zero)
    else:
        whole = arith.subi(
            convert_scalar(x, source, _I32), convert_scalar(zero_point, source, _I32)
        )
        difference = convert_scalar(whole, _I32, wide)
    y = product(difference, convert_scalar(scale, given, wide))
    return convert_scalar(y, wide, target)


@scalar_rule(graph.FakeQuantizeOp, vector=True)
def fake_quantize(op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """Clamp, divide, round."""
    step, low, high = np.float32(op.attrs["scale"]), op.attrs["low"], op.attrs["high"]
    return product(round_small_float(_steps(x, step, low, high)), like(float(step), x))


def _is_by_step(dtype: np.dtype, step: Any, origin: Any) -> bool:
    """Return whether the scale and the zero point of a quantization from `dtype` are known."""
    if dtype != _F32 or step is None or origin is None or not is_divisor(step):
        return False
    return origin.dtype in _SMALL


def _steps(x: ir.Value, step: np.float32, low: float, high: float) -> ir.Value:
    """``x / step``, not less than `low` nor more than `high` if rounded to an integer: the ends of
    the range of `x` lie within rounding of a step."""
    if not is_divisor(step):
        return clamp(arith.divf(x, like(float(step), x)), like(low, x), like(high, x))
    ends = (float(np.float32(end) * step) for end in (low, high))
    return divide_small(clamp(x, *(like(end, x) for end in ends)), step)
