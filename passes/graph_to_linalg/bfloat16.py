"""Rounding to bf16.

It works on bits: within a kernel, the backend computes bf16 as f32 and rounds only the values that
it stores, so that a conversion to bf16 (`arith.truncf`) and back would be folded away.
"""

from ...mlir import arith, ir
from ..kernels.scalar_functions import compare

Scalar = ir.Value


def narrowed(x: Scalar, *, computed: bool = False) -> Scalar:
    """Convert the f32 `x` to bf16. `computed` says that `x` is a result of arithmetic on bf16,
    whose NaNs have no bits set below those that are kept."""
    upper = arith.shrui(_carried(x, computed), _i32(16))
    half = arith.trunci(ir.IntegerType.get_signless(16), upper)
    return arith.bitcast(ir.BF16Type.get(), half)


def rounded(x: Scalar) -> Scalar:
    """Round the f32 `x` to a bf16 value, as f32."""
    return arith.bitcast(x.type, arith.andi(_carried(x), _i32(-0x10000)))


def _carried(x: Scalar, computed: bool = False) -> Scalar:
    """Bits of an f32 whose upper half is `x` rounded to bf16, halves to even."""
    bits = arith.bitcast(ir.IntegerType.get_signless(32), x)
    odd = arith.andi(arith.shrui(bits, _i32(16)), _i32(1))
    carried = arith.addi(bits, arith.addi(odd, _i32(0x7FFF)))
    if computed:
        return carried
    quiet = arith.ori(bits, _i32(0x400000))  # a carry could make NaN infinite, or 0
    return arith.select(compare("UNO", x, x), quiet, carried)


def _i32(value: int) -> Scalar:
    return arith.constant(ir.IntegerType.get_signless(32), value)
