"""Division by a number that is known when compiling, rounded as a division is.

The quotient by the rounded reciprocal is corrected by its remainder, which an FMA gives without
rounding. That is correctly rounded if the reciprocal is, and the quotient before is within one unit
in the last place (Markstein, 1990; theorem 8 in Cornea, Harrison and Tang, 2002). A reciprocal that
is off by more than 2^-25 of itself takes a correction to come that near. Three or five operations
replace a division, which takes as long as ten.
"""

import numpy as np

from ...mlir import arith, ir, math
from .scalar_functions import like

MOST = 2.0**70
"""Divisors from its reciprocal up to it: for quotients of less than 2^24, nothing overflows, and
what underflows is less than the rounding to integers sees."""


def is_divisor(divisor: np.float32) -> bool:
    """Return whether `divide_small` divides by `divisor`."""
    return bool(1 / MOST <= divisor <= MOST)


def divide_small(x: ir.Value, divisor: np.float32) -> ir.Value:
    """``x / divisor`` in f32, for quotients from 1/4 to 2^24; smaller ones may lose bits."""
    inverse = np.float32(1) / divisor
    error = abs(np.float64(inverse) * np.float64(divisor) - 1)
    quotient = arith.mulf(x, like(float(inverse), x))
    if np.frexp(divisor)[0] == 0.5:  # a power of two: the product is the quotient
        return quotient
    for _ in range(1 if error <= 2.0**-25 else 2):
        rest = math.fma(arith.negf(quotient), like(float(divisor), x), x)
        quotient = math.fma(rest, like(float(inverse), x), quotient)
    return quotient
