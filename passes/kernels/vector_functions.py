"""Fast functions of f32 vectors with a restricted domain."""

import math as pymath

from ...mlir import arith, ir, math
from .scalar_functions import like

_SMALLEST = -87.0
"""Below this, ``exp`` is less than the smallest normal number, and 0 here."""
_ROUND = 1.5 * 2.0**23
"""Adding and subtracting this rounds a small number to an integer, which is in the low bits of the
sum."""
_DEGREE = 7
"""Degree of the Taylor polynomial of ``exp``: up to ``log(2) / 2`` its error is 5e-9."""


def exp_below_zero(x: ir.Value) -> ir.Value:
    """``exp`` of a vector of nonpositive numbers; NaN stays NaN.

    ``exp(n log(2) + r)`` is the polynomial of ``r`` with ``n`` added to its exponent.
    """
    rounded = math.fma(x, like(pymath.log2(pymath.e), x), like(_ROUND, x))
    n = arith.subf(rounded, like(_ROUND, x))
    high = 0.693359375  # few bits, so that n times it is exact
    r = math.fma(n, like(-high, x), x)
    r = math.fma(n, like(high - pymath.log(2), x), r)
    y = like(1 / pymath.factorial(_DEGREE), x)
    for power in range(_DEGREE - 1, -1, -1):
        y = math.fma(y, r, like(1 / pymath.factorial(power), x))
    vector = ir.VectorType(x.type)
    integers = ir.VectorType.get(vector.shape, ir.IntegerType.get_signless(32))
    bits = [arith.bitcast(integers, value) for value in (y, rounded)]
    positions = ir.IntegerAttr.get(integers.element_type, 23)
    shift = arith.constant(integers, ir.DenseElementsAttr.get_splat(integers, positions))
    scaled = arith.addi(bits[0], arith.shli(bits[1], shift))
    vanishes = arith.cmpf(arith.CmpFPredicate.OLT, x, like(_SMALLEST, x))
    return arith.select(vanishes, like(0, x), arith.bitcast(vector, scaled))
