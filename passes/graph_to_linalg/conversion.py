"""Conversions of one element between element types, ONNX's Cast.

Types without hardware arithmetic are bit patterns in bytes (`minifloat` converts the floats among
them).
"""

from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.conversion import E8M0
from ...mlir import arith, ir, vector
from ..kernels.scalar_functions import element_of, integer_like, like, with_element
from . import bfloat16, minifloat
from .lowering import plain_element, scalar_constant

Scalar = ir.Value

_F32 = np.dtype(np.float32)
_I32 = np.dtype(np.int32)


def convert_scalar(
    x: Scalar,
    source: np.dtype,
    target: np.dtype,
    saturate: bool = True,
    round_mode: str = "up",
) -> Scalar:
    """Convert `x` from `source` to `target`; the attributes are those of ``cast_float8``. All but
    bit patterns and bf16 may be vectors."""
    if source == target:
        return x
    x, source = computable(x, source)
    if graph.is_minifloat(target):
        x = _convert(x, source, _F32)
        if target == E8M0:
            return minifloat.encode_exponent(x, saturate, round_mode)
        return minifloat.encode(x, target, saturate)
    if graph.is_sub_byte_integer(target):
        return _low_bits(x, source, target)
    return _convert(x, source, target)


def computable(x: Scalar, dtype: np.dtype) -> tuple[Scalar, np.dtype]:
    """`x` in a type with arithmetic, and that type: f32 or 8-bit integers for bit patterns."""
    if graph.is_minifloat(dtype):
        return minifloat.decode(x, dtype), _F32
    if not graph.is_sub_byte_integer(dtype):
        return x, dtype
    unsigned = graph.is_unsigned(dtype)
    shift = integer_like(8 - graph.bit_width(dtype), x)
    extend = arith.shrui if unsigned else arith.shrsi
    return extend(arith.shli(x, shift), shift), np.dtype(np.uint8 if unsigned else np.int8)


def _low_bits(x: Scalar, source: np.dtype, target: np.dtype) -> Scalar:
    if graph.is_float(source):
        x, source = _convert(x, source, _I32), _I32
    x = _convert(x, source, np.dtype(np.uint8))
    return arith.andi(x, integer_like((1 << graph.bit_width(target)) - 1, x))


def _convert(x: Scalar, source: np.dtype, target: np.dtype) -> Scalar:
    """`convert_scalar` among types that are not bit patterns."""
    if source == target:
        return x
    wanted = with_element(x, plain_element(target))
    if target == np.bool_:
        if graph.is_float(source):
            return arith.cmpf(arith.CmpFPredicate.UNE, x, like(0, x))
        return arith.cmpi(arith.CmpIPredicate.ne, x, integer_like(0, x))
    if graph.is_float(source):
        return _from_float(x, target, wanted)
    unsigned = graph.is_unsigned(source) or source == np.bool_
    if graph.is_float(target):
        return integer_to_float(x, wanted, unsigned=unsigned)
    width, given = graph.bit_width(target), ir.IntegerType(element_of(x)).width
    if width == given:
        return x
    if width < given:
        return arith.trunci(wanted, x)
    return (arith.extui if unsigned else arith.extsi)(wanted, x)


def integer_to_float(x: Scalar, wanted: ir.Type, *, unsigned: bool = False) -> Scalar:
    """Round `x` to the float type `wanted`; to bf16 by way of f32, since CPUs without bf16 would
    call a library function for the conversion, which no kernel is linked with.
    """
    convert = arith.uitofp if unsigned else arith.sitofp
    if isinstance(wanted, ir.BF16Type):
        return bfloat16.narrowed(convert(ir.F32Type.get(), x))
    return convert(wanted, x)


def _float_to_float(x: Scalar, wanted: ir.Type) -> Scalar:
    """Convert `x` to the float type `wanted`, rounding if that is narrower; to bf16 by way of
    f32."""
    if x.type == wanted:
        return x
    f32 = with_element(x, ir.F32Type.get())
    if isinstance(wanted, ir.BF16Type):
        return bfloat16.narrowed(_float_to_float(x, f32))
    if isinstance(_element(wanted), ir.F16Type):
        is_double = isinstance(element_of(x), ir.F64Type)
        wide = _rounded_to_odd(x) if is_double else _float_to_float(x, f32)
        return arith.truncf(wanted, wide)
    narrower = ir.FloatType(_element(wanted)).width < ir.FloatType(element_of(x)).width
    return arith.truncf(wanted, x) if narrower else arith.extf(wanted, x)


def _rounded_to_odd(x: Scalar) -> Scalar:
    """Round the f64 `x` to f32 to odd: truncate, and set the last bit if that is inexact.

    Rounding the result to f16 is then equivalent to rounding once (Boldo and Melquiond, 2008); the
    backend would round to the nearest f32 in between.
    """
    bits = arith.bitcast(with_element(x, ir.IntegerType.get_signless(64)), x)
    lost = integer_like((1 << 29) - 1, bits)
    carried = arith.addi(arith.andi(bits, lost), lost)  # has bit 29 where anything is lost
    odd = arith.andi(arith.ori(bits, carried), integer_like(-1 << 29, bits))
    return arith.truncf(with_element(x, ir.F32Type.get()), arith.bitcast(x.type, odd))


def _from_float(x: Scalar, target: np.dtype, wanted: ir.Type) -> Scalar:
    if graph.is_float(target):
        return _float_to_float(x, wanted)
    return _float_to_integer(x, target, wanted)


def _float_to_integer(x: Scalar, target: np.dtype, wanted: ir.Type) -> Scalar:
    """Truncate towards zero and saturate to `target`: out of range, MLIR's casts are poison."""
    info = np.iinfo(target)
    if isinstance(element_of(x), ir.F16Type | ir.BF16Type):
        x = arith.extf(with_element(x, ir.F32Type.get()), x)
    is_single = isinstance(element_of(x), ir.F32Type)
    float_type = np.dtype(np.float32 if is_single else np.float64).type
    high = float_type(info.max)
    if int(high) > info.max:
        high = np.nextafter(high, float_type(0))
    number = arith.select(arith.cmpf(arith.CmpFPredicate.UNO, x, x), like(0, x), x)
    inside = arith.maximumf(number, like(float(info.min), x))
    inside = arith.minimumf(inside, like(float(high), x))
    convert: Any = arith.fptoui if graph.is_unsigned(target) else arith.fptosi
    result = convert(wanted, inside)
    if int(high) == info.max:
        return result
    above = arith.cmpf(arith.CmpFPredicate.OGT, number, like(float(high), x))
    largest = scalar_constant(info.max, target)
    if isinstance(x.type, ir.VectorType):
        largest = vector.broadcast(result.type, largest)
    return arith.select(above, largest, result)


def _element(type_: ir.Type) -> ir.Type:
    """`type_`, or that of its elements if it is a vector."""
    return type_.element_type if isinstance(type_, ir.VectorType) else type_
