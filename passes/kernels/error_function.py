"""The error function, of scalars and vectors."""

import math as pymath

from ...mlir import arith, ir, math
from .scalar_functions import compare, fit, is_double, like, odd, polynomial
from .vector_functions import exp_below_zero

_LAST = 3.95
"""From here on, ``erf`` rounds to 1 in f32."""
_LAST_ROUNDED = 3.0
"""From here on, `rounded_erf` is 1."""
_FIRST = 1e-12
"""Lower end of the fitted interval of ``x**2``: positive, so that `_slope` can divide by ``x``."""


def erf(x: ir.Value) -> ir.Value:
    return _double(x) if is_double(x) else _single(x)


@odd
def rounded_erf(x: ir.Value) -> ir.Value:
    """``x * P(x**2)``, clamped to 1: error at most 4e-5, enough for bf16."""
    bounded = arith.minimumf(x, like(_LAST_ROUNDED, x))
    slope = polynomial(arith.mulf(bounded, bounded), fit(_slope, _FIRST, _LAST_ROUNDED**2, 8))
    return arith.minimumf(arith.mulf(bounded, slope), like(1, x))


@odd
def _single(x: ir.Value) -> ir.Value:
    """``x + x * P(x**2)`` up to 1; above, ``1 - exp(Q(x))``. Error at most 1.1 ulp."""
    one, square = like(1, x), arith.mulf(x, x)
    bend = polynomial(arith.minimumf(square, one), fit(_bend, 0, 1, 6))
    near = arith.addf(arith.mulf(x, bend), x)
    exp = exp_below_zero if isinstance(x.type, ir.VectorType) else math.exp
    tail = polynomial(arith.minimumf(x, like(_LAST, x)), fit(_log_erfc, 1, _LAST, 8))
    far = arith.subf(one, exp(tail))
    return arith.select(compare("OGT", x, 1), far, near)


@odd
def _double(x: ir.Value) -> ir.Value:
    """``x * P(x**2)`` up to 1; above, ``1 - exp(-x**2) * Q((x - 1) / (x + 1))``."""
    one, square = like(1, x), arith.mulf(x, x)
    near = arith.mulf(x, polynomial(arith.minimumf(square, one), fit(_slope, 0, 1, 14)))
    bounded = arith.minimumf(x, like(6, x))
    t = arith.divf(arith.subf(bounded, one), arith.addf(bounded, one))
    scaled = polynomial(t, fit(_erfcx, 0, 5 / 7, 18))
    decay = math.exp(arith.negf(arith.mulf(bounded, bounded)))
    far = arith.subf(one, arith.mulf(decay, scaled))
    return arith.select(compare("OGT", x, 1), far, near)


def _slope(square: float) -> float:
    """``erf(x) / x``."""
    x = pymath.sqrt(square)
    return pymath.erf(x) / x


def _bend(square: float) -> float:
    """``erf(x) / x - 1``."""
    return _slope(square) - 1


def _log_erfc(x: float) -> float:
    return pymath.log(pymath.erfc(x))


def _erfcx(t: float) -> float:
    """``exp(x**2) * erfc(x)``, where `t` is ``(x - 1) / (x + 1)``."""
    x = (1 + t) / (1 - t)
    return pymath.exp(x * x) * pymath.erfc(x)
