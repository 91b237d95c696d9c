"""Quantization of f32 to u8 over the range of some numbers and 0 (ONNX DynamicQuantizeLinear), of
scalars and vectors."""

from ...mlir import arith, ir, vector
from .scalar_functions import clamp, compare, like, round_small, with_element

MOST = 255
"""The largest u8."""


def scale_and_zero_point(low: ir.Value, high: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The scale and the zero point, an i32, for numbers from `low` to `high`, with 0 among them."""
    extent = arith.subf(high, low)
    scale = arith.divf(extent, like(MOST, extent))
    scale = arith.select(compare("OEQ", extent, 0), like(1, extent), scale)
    start = arith.negf(arith.divf(low, scale))
    return scale, round_small(clamp(start, like(0, start), like(MOST, start)))


def steps_from_zero_point(x: ir.Value, scale: ir.Value, zero: ir.Value) -> ir.Value:
    """The integers of `x`, less the zero point `zero`, as i32; they saturate while floats are
    exact. `scale` and `zero` are scalars, `x` may be a vector."""
    as_float = arith.sitofp(scale.type, zero)
    low, high = (arith.subf(like(end, as_float), as_float) for end in (0, MOST))
    scale, low, high = (broadcast_as(x, value) for value in (scale, low, high))
    return round_small(clamp(arith.divf(x, scale), low, high))


def broadcast_as(x: ir.Value, value: ir.Value) -> ir.Value:
    """The scalar `value` in as many lanes as `x` has."""
    type_ = with_element(x, value.type)
    return value if type_ == value.type else vector.broadcast(type_, value)
