"""f32 as the sum of two floats that TF32 holds, so that tensor cores multiply it.

TF32 has the exponent of f32 and 10 bits of its fraction. With ``x = high + low`` and ``y = high' +
low'``, three of the four products give ``x y`` to about 2**-22 of its size; the fourth, of the low
terms, is smaller than that. CUTLASS names this 3xTF32, XLA ``TF32_TF32_F32_X3``; the method is that
of Markidis et al., "NVIDIA Tensor Core Programmability, Performance & Precision" (2018), section V.
"""

from ...mlir import arith, ir, vector

PRODUCTS = 3
"""Products of TF32 that make one of f32."""
TERMS = ((1, 0), (0, 1), (0, 0))
"""The products to sum, by the numbers of the terms of both factors: the small ones first."""
DROPPED = 13
"""Bits of the fraction of f32 that TF32 does not have."""


def split(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """`x`, a vector of f32, rounded to TF32, and what is left.

    ``mma.sync`` ignores the bits of the rest that TF32 does not have. The rest of an infinity is
    NaN.
    """
    type_ = ir.VectorType(x.type)
    bits_type = ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(32))
    bits = vector.bitcast(bits_type, x)
    # Half of the last bit, and truncation: rounds to nearest, halves away from zero.
    rounded = arith.addi(bits, _splat(bits_type, 1 << (DROPPED - 1)))
    high = vector.bitcast(type_, arith.andi(rounded, _splat(bits_type, -1 << DROPPED)))
    return high, arith.subf(x, high)


def _splat(type_: ir.VectorType, value: int) -> ir.Value:
    attribute = ir.IntegerAttr.get(type_.element_type, value)
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, attribute))
