"""Quantization of one element."""

import ml_dtypes
import numpy as np

from ...dialects import graph
from ...mlir import arith, ir
from ..kernels.scalar_functions import (
    integer_like,
    like,
    product,
    round_half_even,
    with_element,
)
from .conversion import convert_scalar
from .scalar_rules import NOT_F32, scalar_rule

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I32 = np.dtype(np.int32)
_ROUND = 1.5 * 2.0**23
_SMALL = 1 << 20
"""Magnitude of integers up to which quotients are rounded by adding `_ROUND`."""


@scalar_rule(graph.QuantizeOp, vector=NOT_F32, on_bits=True, any_vector=True)
def quantize(op: graph.GraphOp, x: ir.Value, scale: ir.Value, zero_point: ir.Value) -> ir.Value:
    """Quantize one element. It saturates before the zero point is added, while floats are exact."""
    dtype, target = (graph.type_of(op.operation.operands[i]).dtype for i in (0, 2))
    wide = _F64 if dtype == _F64 else _F32
    quotient = arith.divf(convert_scalar(x, dtype, wide), convert_scalar(scale, dtype, wide))
    quotient = convert_scalar(convert_scalar(quotient, wide, dtype), dtype, wide)
    zero = convert_scalar(zero_point, target, _I32)
    zero_float = convert_scalar(zero, _I32, wide)
    info = ml_dtypes.iinfo(target)
    low, high = (arith.subf(like(limit, quotient), zero_float) for limit in (info.min, info.max))
    is_small = wide == _F32 and max(-info.min, info.max) <= _SMALL
    rounded = quotient if is_small else round_half_even(quotient)
    above = arith.cmpf(arith.CmpFPredicate.OGT, rounded, low)  # not so for NaN
    inside = arith.select(above, rounded, low)
    below = arith.cmpf(arith.CmpFPredicate.OLT, inside, high)
    inside = arith.select(below, inside, high)
    whole = _rounded_integer(inside) if is_small else arith.fptosi(zero.type, inside)
    return convert_scalar(arith.addi(whole, zero), _I32, target)


def _rounded_integer(x: ir.Value) -> ir.Value:
    """The integer nearest to an f32 `x` of at most 2**21, halves to even: the sum with a number
    whose last bit is worth 1 is rounded to it, and its bits count up from those of the number."""
    total = arith.addf(x, like(_ROUND, x))
    bits = arith.bitcast(with_element(x, ir.IntegerType.get_signless(32)), total)
    return arith.subi(bits, integer_like(int(np.float32(_ROUND).view(np.int32)), bits))


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
