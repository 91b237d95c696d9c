"""Exponentials and logarithms of f64 from sums and products."""

import math as pymath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...mlir import arith, ir, math
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from ..kernels.scalar_functions import LN2, compare, like, polynomial
from .dispatch_walk import each_in_kernels

_EXPONENT_BITS, _BIAS, _MANTISSA = 52, 1023, (1 << 52) - 1
_SMALLEST = 2.0**-1022
"""Below it, as subnormal, everything counts as 0."""


@register
@dataclass(frozen=True)
class ExpandDoubleMath(Pass):
    """Compute ``exp`` and ``log`` of f64, which SPIR-V has for shorter floats only.

    %1 = math.exp %0 : f64
    -->
    ... 2^k times a polynomial of what %0 is more than k * ln(2)

    Both err by a few units in the last place.
    """

    name = "expand-double-math"
    anchor = MODULE

    def run(self, op: Any, state: PassState) -> None:
        del state
        for op_class, expansion in _EXPANSIONS.items():
            for each in each_in_kernels(op, op_class):
                if each.results[0].type == ir.F64Type.get():
                    with ir.InsertionPoint(each), each.location:
                        each.results[0].replace_all_uses_with(expansion(each.operands[0]))
                    each.erase()


def exp(x: ir.Value) -> ir.Value:
    """``2**k * exp(r)`` with ``x = k * ln(2) + r``."""
    bounded = arith.minimumf(arith.maximumf(x, like(-746, x)), like(711, x))
    k = math.roundeven(arith.mulf(bounded, like(1 / pymath.log(2), x)))
    rest = bounded
    for part in LN2:
        rest = arith.subf(rest, arith.mulf(k, like(part, x)))
    series = polynomial(rest, [1 / pymath.factorial(n) for n in range(14)])
    i64 = ir.IntegerType.get_signless(64)
    whole = arith.fptosi(ir.IntegerType.get_signless(32), k)
    half = arith.shrsi(whole, arith.constant(whole.type, 1))
    # In two steps, as 2**k alone may be too large or too small.
    for part in (half, arith.subi(whole, half)):
        series = arith.mulf(series, _power_of_two(arith.extsi(i64, part)))
    return arith.select(compare("UNO", x, x), x, series)


def _power_of_two(exponent: ir.Value) -> ir.Value:
    """``2**exponent`` of an i64."""
    bias, shift = (arith.constant(exponent.type, n) for n in (_BIAS, _EXPONENT_BITS))
    return arith.bitcast(ir.F64Type.get(), arith.shli(arith.addi(exponent, bias), shift))


def log(x: ir.Value) -> ir.Value:
    """``e * ln(2) + log(m)`` with ``x = 2**e * m``, and m around 1, by the series of atanh."""
    i64 = ir.IntegerType.get_signless(64)

    def number(value: int) -> ir.Value:
        return arith.constant(i64, value)

    bits = arith.bitcast(i64, x)
    exponent = arith.subi(arith.shrui(bits, number(_EXPONENT_BITS)), number(_BIAS))
    mantissa = arith.ori(arith.andi(bits, number(_MANTISSA)), number(_BIAS << _EXPONENT_BITS))
    m = arith.bitcast(ir.F64Type.get(), mantissa)
    large = compare("OGT", m, pymath.sqrt(2))
    m = arith.select(large, arith.mulf(m, like(0.5, x)), m)
    e = arith.sitofp(x.type, arith.trunci(ir.IntegerType.get_signless(32), exponent))
    e = arith.select(large, arith.addf(e, like(1, x)), e)
    f = arith.divf(arith.subf(m, like(1, x)), arith.addf(m, like(1, x)))
    square = arith.mulf(f, f)
    series = arith.mulf(f, polynomial(square, [2 / (2 * n + 1) for n in range(12)]))
    high, low = (arith.mulf(e, like(part, x)) for part in LN2)
    result = arith.addf(high, arith.addf(series, low))
    for special, value in (
        (compare("OLT", x, 0), pymath.nan),
        (compare("OLT", math.absf(x), _SMALLEST), -pymath.inf),
        (compare("OEQ", x, pymath.inf), pymath.inf),
    ):
        result = arith.select(special, like(value, x), result)
    return arith.select(compare("UNO", x, x), x, result)


_EXPANSIONS: Mapping[type, Callable[[ir.Value], ir.Value]] = {math.ExpOp: exp, math.LogOp: log}
