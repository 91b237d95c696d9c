"""Rounding to even, fast on CPUs with vectors."""

from dataclasses import dataclass
from typing import Any

from ...mlir import arith, ir, math
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from ..kernels.scalar_functions import compare, is_double, like, with_sign_of
from .dispatch_walk import each_in_kernels


@register
@dataclass(frozen=True)
class ExpandRoundEven(Pass):
    """Round to even by adding and subtracting a constant that leaves no fraction bits.

    %1 = math.roundeven %0 : f32
    -->
    %1 = math.absf %0
    %2 = arith.addf %1, 2^23
    %3 = arith.subf %2, 2^23   ... with the sign of %0, and as it is from 2^23 on

    The backend computes with the exponent instead, which is four times as many operations. Not for
    GPUs: their drivers may simplify the sum and the difference away.
    """

    name = "expand-round-even"
    anchor = MODULE

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in each_in_kernels(op, math.RoundEvenOp):
            with ir.InsertionPoint(each), each.location:
                rounded = round_by_sum(each.operands[0])
            each.results[0].replace_all_uses_with(rounded)
            each.erase()


def round_by_sum(x: ir.Value) -> ir.Value:
    """`x` rounded; f32 or f64, or a vector of f32."""
    whole = like(2.0**52 if is_double(x) else 2.0**23, x)
    magnitude = math.absf(x)
    rounded = arith.subf(arith.addf(magnitude, whole), whole)
    return with_sign_of(x, arith.select(compare("OLT", magnitude, whole), rounded, magnitude))
