"""Quantization of one element."""

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from ...dialects import graph
from ...mlir import arith, ir
from ..infra.query import constant_scalar
from ..kernels.division import divide_small, is_divisor
from ..kernels.scalar_functions import (
    SMALL,
    clamp,
    element_of,
    integer_like,
    is_known,
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
def quantize(op: graph.QuantizeOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value) -> ir.Value:
    """Quantize one element. It saturates before the zero point is added, while floats are exact."""
    target = graph.type_of(op.zero_point).dtype
    steps = _known_steps(op, x, zero_point)
    if steps is not None:
        whole, origin = round_small(steps), _known_zero(op, zero_point)
        if origin is None:
            zero = convert_scalar(zero_point, target, _I32)
        else:
            zero = integer_like(origin, whole)
        return convert_scalar(arith.addi(whole, zero), _I32, target)
    quotient, is_small = _quotient(op, x, scale)
    zero = convert_scalar(zero_point, target, _I32)
    inside = _clamped(quotient if is_small else round_half_even(quotient), zero, target)
    whole = round_small(inside) if is_small else arith.fptosi(zero.type, inside)
    return convert_scalar(arith.addi(whole, zero), _I32, target)


def dequantized_again(
    op: graph.GraphOp,
    source: graph.GraphOp,
    operands: Callable[[graph.GraphOp], Sequence[ir.Value]],
) -> ir.Value | None:
    """The result of `op` if it dequantizes what `source` quantizes by the same zero point, which
    cancels: the rounded quotient stays a float. None otherwise. `operands` are the scalars of an
    op's operands."""
    if not isinstance(op, graph.DequantizeOp) or not isinstance(source, graph.QuantizeOp):
        return None
    steps = None if op.zero_point != source.zero_point else _rounded(source, *operands(source))
    if steps is None:
        return None
    wide = _F64 if op.attrs["to"] == _F64 else _F32
    return _scaled(op, convert_scalar(steps, _F32, wide), operands(op)[1])


def _rounded(
    op: graph.QuantizeOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value
) -> ir.Value | None:
    """The result of `op` less the zero point, as f32; None if it may be large."""
    steps, target = _known_steps(op, x, zero_point), graph.type_of(op.zero_point).dtype
    if steps is not None:
        return round_small_float(steps)
    quotient, is_small = _quotient(op, x, scale)
    if not is_small:
        return None
    return round_small_float(_clamped(quotient, convert_scalar(zero_point, target, _I32), target))


def reads_zero_point(op: graph.GraphOp) -> bool:
    """Return whether the code of `op` is the same for any zero point that it reads from memory: it
    quantizes f32 to 8 or 16 bits by a scale that is known."""
    return isinstance(op, graph.QuantizeOp) and _known_scale(op) is not None


def _known_scale(op: graph.QuantizeOp) -> np.float32 | None:
    """The scale of `op`, if that is known and `_steps` divides by it."""
    step, target = constant_scalar(op.scale), graph.type_of(op.zero_point).dtype
    if graph.type_of(op.x).dtype != _F32 or step is None or target not in _SMALL:
        return None
    return step if is_divisor(step) else None


def _known_zero(op: graph.QuantizeOp, zero_point: ir.Value) -> int | None:
    """The zero point of `op`, unless the scalar `zero_point` is read from memory."""
    origin = constant_scalar(op.zero_point)
    return None if origin is None or not is_known(zero_point) else int(origin)


def _known_steps(op: graph.QuantizeOp, x: ir.Value, zero_point: ir.Value) -> ir.Value | None:
    """The quotient that `op` rounds, clamped and less the zero point, if it quantizes f32 to 8 or
    16 bits by a scale that is known; None otherwise."""
    step, target = _known_scale(op), graph.type_of(op.zero_point).dtype
    if step is None:
        return None
    limits, origin = np.iinfo(target), _known_zero(op, zero_point)
    if origin is not None:
        return _steps(x, step, limits.min - origin, limits.max - origin)
    zero = convert_scalar(convert_scalar(zero_point, target, _I32), _I32, _F32)
    return _steps(x, step, *(arith.subf(like(end, x), zero) for end in (limits.min, limits.max)))


def _quotient(op: graph.QuantizeOp, x: ir.Value, scale: ir.Value) -> tuple[ir.Value, bool]:
    """The quotient of `x` and `scale`, as f32 or f64, and whether `round_small` may round it when
    it is clamped."""
    dtype, target = graph.type_of(op.x).dtype, graph.type_of(op.zero_point).dtype
    wide = _F64 if dtype == _F64 else _F32
    quotient = arith.divf(convert_scalar(x, dtype, wide), convert_scalar(scale, dtype, wide))
    quotient = convert_scalar(convert_scalar(quotient, wide, dtype), dtype, wide)
    info = ml_dtypes.iinfo(target)
    return quotient, wide == _F32 and max(-info.min, info.max) <= SMALL


def _clamped(x: ir.Value, zero: ir.Value, target: np.dtype) -> ir.Value:
    """`x` clamped to what `target` holds less the zero point, an i32."""
    wide = _F64 if isinstance(element_of(x), ir.F64Type) else _F32
    zero_float, info = convert_scalar(zero, _I32, wide), ml_dtypes.iinfo(target)
    low, high = (arith.subf(like(limit, x), zero_float) for limit in (info.min, info.max))
    return clamp(x, low, high)


@scalar_rule(graph.DequantizeOp, vector=NOT_F32, on_bits=True, any_vector=True)
def dequantize(
    op: graph.DequantizeOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value
) -> ir.Value:
    source, origin = graph.type_of(op.x).dtype, graph.type_of(op.zero_point).dtype
    wide = _F64 if op.attrs["to"] == _F64 else _F32
    if graph.is_float(origin):
        minuend, zero = convert_scalar(x, source, wide), convert_scalar(zero_point, origin, wide)
        difference = arith.subf(minuend, zero)
    else:
        whole = arith.subi(
            convert_scalar(x, source, _I32), convert_scalar(zero_point, source, _I32)
        )
        difference = convert_scalar(whole, _I32, wide)
    return _scaled(op, difference, scale)


def _scaled(op: graph.DequantizeOp, difference: ir.Value, scale: ir.Value) -> ir.Value:
    given, target = graph.type_of(op.scale).dtype, op.attrs["to"]
    wide = _F64 if target == _F64 else _F32
    y = product(difference, convert_scalar(scale, given, wide))
    return convert_scalar(y, wide, target)


@scalar_rule(graph.FakeQuantizeOp, vector=True)
def fake_quantize(op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """Clamp, divide, round."""
    step, low, high = np.float32(op.attrs["scale"]), op.attrs["low"], op.attrs["high"]
    return product(round_small_float(_steps(x, step, low, high)), like(float(step), x))


def _steps(
    x: ir.Value, step: np.float32, low: float | ir.Value, high: float | ir.Value
) -> ir.Value:
    """``x / step``, not less than `low` nor more than `high` if rounded to an integer: the ends of
    the range of `x` lie within rounding of a step."""
    if not is_divisor(step):
        return clamp(arith.divf(x, like(float(step), x)), *(_times(e, 1, x) for e in (low, high)))
    return divide_small(clamp(x, *(_times(end, step, x) for end in (low, high))), step)


def _times(end: float | ir.Value, step: np.float32 | int, x: ir.Value) -> ir.Value:
    """`end` times `step`, like `x`."""
    if isinstance(end, ir.Value):
        return end if step == 1 else arith.mulf(end, like(float(step), x))
    return like(float(np.float32(end) * np.float32(step)), x)
