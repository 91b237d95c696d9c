"""Floating-point types of 8 bits and fewer, computed in f32.

A value is in the low bits of a byte: sign, exponent, fraction. All conversions are integer
arithmetic on the bits of f32, so that they vectorise on every target.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...dialects.graph.conversion import E8M0
from ...dialects.graph.types import bit_width
from ...mlir import arith, ir

Scalar = ir.Value

_F32_FRACTION = 23
_F32_BIAS = 127


@dataclass(frozen=True)
class _Format:
    """The layout of a type's fields, and the codes of its special values, without sign."""

    bits: int
    fraction: int
    bias: int
    largest: int
    beyond: int
    """The code of values that are too large, without saturation."""
    nan: int
    """The code of NaN; it may have the sign bit if the type has only one NaN."""
    has_negative_zero: bool

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def smallest_exponent(self) -> int:
        return 1 - self.bias


def _format(dtype: np.dtype) -> _Format:
    info = ml_dtypes.finfo(dtype)
    negative_zero, nan, infinity, largest = (
        np.array([-0.0, np.nan, np.inf, info.max], np.float32).astype(dtype).view(np.uint8).tolist()
    )
    bits = bit_width(dtype)
    return _Format(
        bits=bits,
        fraction=info.nmant,
        bias=1 - int(info.minexp),
        largest=largest,
        beyond=infinity,
        nan=nan,
        has_negative_zero=negative_zero != 0,
    )


def decode(x: Scalar, dtype: np.dtype) -> Scalar:
    """Convert the byte `x`, an element of `dtype`, to f32. Exact."""
    bits = arith.extui(ir.IntegerType.get_signless(32), x)
    if dtype == E8M0:
        return _decode_exponent(bits)
    form = _format(dtype)
    magnitude = arith.andi(bits, _i32(form.sign - 1))
    shift = _F32_FRACTION - form.fraction
    rebased = arith.addi(
        arith.shli(magnitude, _i32(shift)), _i32((_F32_BIAS - form.bias) << _F32_FRACTION)
    )
    step = 2.0 ** (form.smallest_exponent - form.fraction)
    small = arith.mulf(arith.uitofp(_f32_type(), magnitude), _f32(step))
    is_small = arith.cmpi(arith.CmpIPredicate.ult, magnitude, _i32(1 << form.fraction))
    value = arith.bitcast(
        ir.IntegerType.get_signless(32),
        arith.select(is_small, small, arith.bitcast(_f32_type(), rebased)),
    )
    value = _decode_special(value, bits, magnitude, form)
    sign = arith.shli(arith.andi(bits, _i32(form.sign)), _i32(32 - form.bits))
    return arith.bitcast(_f32_type(), arith.ori(value, sign))


def _decode_special(value: Scalar, bits: Scalar, magnitude: Scalar, form: _Format) -> Scalar:
    """`value`, the bits of an f32 without sign, or infinity or NaN if `bits` encode one."""
    nan, infinity = _i32(0x7FC00000), _i32(0x7F800000)
    if not form.has_negative_zero:
        is_nan = arith.cmpi(arith.CmpIPredicate.eq, bits, _i32(form.nan))
        return arith.select(is_nan, nan, value)
    if form.beyond == form.largest:  # every code is a number
        return value
    above = arith.cmpi(arith.CmpIPredicate.ugt, magnitude, _i32(form.largest))
    value = arith.select(above, nan, value)
    if form.beyond & (form.sign - 1) == form.nan & (form.sign - 1):
        return value
    is_infinity = arith.cmpi(arith.CmpIPredicate.eq, magnitude, _i32(form.beyond))
    return arith.select(is_infinity, infinity, value)


def _decode_exponent(bits: Scalar) -> Scalar:
    """2 to the power of ``bits - 127``; the smallest power is subnormal in f32."""
    value = arith.shli(bits, _i32(_F32_FRACTION))
    zero = arith.cmpi(arith.CmpIPredicate.eq, bits, _i32(0))
    value = arith.select(zero, _i32(1 << (_F32_FRACTION - 1)), value)
    nan = arith.cmpi(arith.CmpIPredicate.eq, bits, _i32(0xFF))
    return arith.bitcast(_f32_type(), arith.select(nan, _i32(0x7FC00000), value))


def encode(x: Scalar, dtype: np.dtype, saturate: bool) -> Scalar:
    """Convert the f32 `x` to the byte of an element of `dtype`, rounding to nearest even.

    Values that are too large become the largest one with `saturate`, else infinity or NaN.
    """
    form = _format(dtype)
    bits = arith.bitcast(ir.IntegerType.get_signless(32), x)
    magnitude = arith.andi(bits, _i32(0x7FFFFFFF))
    code = _round(magnitude, form)
    too_large = arith.cmpi(arith.CmpIPredicate.ugt, code, _i32(form.largest))
    if saturate:
        code = arith.select(too_large, _i32(form.largest), code)
    else:
        code = arith.select(too_large, _i32(form.beyond), code)
    sign = arith.andi(arith.shrui(bits, _i32(32 - form.bits)), _i32(form.sign))
    if not form.has_negative_zero:
        sign = arith.select(arith.cmpi(arith.CmpIPredicate.eq, code, _i32(0)), _i32(0), sign)
    code = arith.ori(code, sign)
    is_nan = arith.cmpi(arith.CmpIPredicate.ugt, magnitude, _i32(0x7F800000))
    code = arith.select(is_nan, _nan(sign, form), code)
    return arith.trunci(ir.IntegerType.get_signless(8), code)


def _nan(sign: Scalar, form: _Format) -> Scalar:
    """The code of NaN. It keeps the sign if the type has two NaNs; a type without NaN gives zero
    with the inverted sign."""
    if form.nan == form.sign and form.has_negative_zero:
        return arith.xori(sign, _i32(form.sign))
    return arith.ori(sign, _i32(form.nan))


def _round(magnitude: Scalar, form: _Format) -> Scalar:
    """The code of an f32 without sign, as if exponents were unbounded."""
    cut = _F32_FRACTION - form.fraction
    odd = arith.andi(arith.shrui(magnitude, _i32(cut)), _i32(1))
    carried = arith.addi(arith.addi(magnitude, _i32((1 << (cut - 1)) - 1)), odd)
    rebias = (_F32_BIAS - form.bias) << form.fraction
    normal = arith.subi(arith.shrui(carried, _i32(cut)), _i32(rebias))
    # Adding a power of two whose last place is the type's smallest step rounds to that step.
    power = 2.0 ** (form.smallest_exponent - form.fraction + _F32_FRACTION)
    sum_ = arith.addf(arith.bitcast(_f32_type(), magnitude), _f32(power))
    small = arith.subi(
        arith.bitcast(ir.IntegerType.get_signless(32), sum_),
        _i32(int(np.float32(power).view(np.int32))),
    )
    first_normal = (_F32_BIAS + form.smallest_exponent) << _F32_FRACTION
    is_small = arith.cmpi(arith.CmpIPredicate.ult, magnitude, _i32(first_normal))
    return arith.select(is_small, small, normal)


def encode_exponent(x: Scalar, saturate: bool, round_mode: str) -> Scalar:
    """Convert the f32 `x` to the byte of a power of two; its sign is dropped."""
    bits = arith.bitcast(ir.IntegerType.get_signless(32), x)
    exponent = arith.andi(arith.shrui(bits, _i32(_F32_FRACTION)), _i32(0xFF))
    finite = arith.cmpi(arith.CmpIPredicate.ult, exponent, _i32(0xFF))
    if round_mode == "down":
        rounded = exponent
    else:
        fraction = arith.andi(bits, _i32((1 << _F32_FRACTION) - 1))
        raised = _raises(fraction, exponent, round_mode)
        if saturate:
            room = arith.cmpi(arith.CmpIPredicate.ult, exponent, _i32(0xFE))
            raised = arith.andi(raised, room)
        more = arith.extui(ir.IntegerType.get_signless(32), raised)
        rounded = arith.addi(exponent, more)
    code = arith.select(finite, rounded, _i32(0xFF))
    return arith.trunci(ir.IntegerType.get_signless(8), code)


def _raises(fraction: Scalar, exponent: Scalar, round_mode: str) -> Scalar:
    """True (an i1) if the exponent is rounded up; to nearest, a half is, unless the exponent is
    the smallest."""
    compare = arith.CmpIPredicate
    if round_mode == "up":
        return arith.cmpi(compare.ugt, fraction, _i32(0))
    half = _i32(1 << (_F32_FRACTION - 1))
    normal = arith.cmpi(compare.ugt, exponent, _i32(0))
    tie = arith.andi(arith.cmpi(compare.eq, fraction, half), normal)
    return arith.ori(arith.cmpi(compare.ugt, fraction, half), tie)


def _f32_type() -> ir.Type:
    return ir.F32Type.get()


def _f32(value: float) -> Scalar:
    return arith.constant(_f32_type(), float(value))


def _i32(value: int) -> Scalar:
    i32 = ir.IntegerType.get_signless(32)
    return arith.constant(i32, ir.IntegerAttr.get(i32, value))
