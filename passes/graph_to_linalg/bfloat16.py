"""Rounding to bf16.

On bits: within a kernel the backend computes bf16 as f32 and rounds nothing but what it stores, so
that a conversion to bf16 (`arith.truncf`) and its inverse would be taken for nothing.
"""

from ...mlir import arith, ir
from ..kernels.scalar_functions import compare

Scalar = ir.Value


def narrowed(x: Scalar, *, computed: bool = False) -> Scalar:
    """`x` of f32 as bf16. It is `computed` where it is the result of arithmetic on bf16, whose NaN
    leave no bits behind those that stay."""
    upper = arith.shrui(_carried(x, computed), _i32(16))
    half = arith.trunci(ir.IntegerType.get_signless(16), upper)
    return arith.bitcast(ir.BF16Type.get(), half)


def rounded(x: Scalar) -> Scalar:
    """`x` of f32 rounded to what bf16 holds, as f32."""
    return arith.bitcast(x.type, arith.andi(_carried(x), _i32(-0x10000)))


def _carried(x: Scalar, computed: bool = False) -> Scalar:
    """Bits of f32 whose upper half is `x` rounded, halves to even."""
    bits = arith.bitcast(ir.IntegerType.get_signless(32), x)
    odd = arith.andi(arith.shrui(bits, _i32(16)), _i32(1))
    carried = arith.addi(bits, arith.addi(odd, _i32(0x7FFF)))
    if computed:
        return carried
    quiet = arith.ori(bits, _i32(0x400000))  # what is carried could make NaN infinite, or 0
    return arith.select(compare("UNO", x, x), quiet, carried)


def _i32(value: int) -> Scalar:
    return arith.constant(ir.IntegerType.get_signless(32), value)
