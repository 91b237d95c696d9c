"""Rules of arithmetic, comparisons and constants."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .lock_step import RULES, element_dtype, number, rule
from .state import Values, Workgroup


def elementwise(compute: Callable[..., Any]) -> Callable[[Workgroup, ir.Operation], Sequence[Any]]:
    def rule(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            value = compute(*(state.known[each] for each in op.operands))
        return [np.asarray(value).astype(element_dtype(op.results[0].type))]

    return rule


def unsigned(compute: Callable[[Values, Values], Values]) -> Callable[..., Any]:
    def on_bits(a: Values, b: Values) -> Values:
        wide = np.dtype(f"u{a.dtype.itemsize}")
        return compute(a.view(wide), b.view(wide))

    return elementwise(on_bits)


RULES |= {
    "arith.addi": elementwise(np.add),
    "arith.subi": elementwise(np.subtract),
    "arith.muli": elementwise(np.multiply),
    "arith.xori": elementwise(np.bitwise_xor),
    "arith.andi": elementwise(np.bitwise_and),
    "arith.divui": unsigned(lambda a, b: a // np.maximum(b, 1)),
    "arith.remui": unsigned(lambda a, b: a % np.maximum(b, 1)),
    "arith.addf": elementwise(np.add),
    "arith.subf": elementwise(np.subtract),
    "arith.mulf": elementwise(np.multiply),
    "arith.divf": elementwise(np.divide),
    "arith.maximumf": elementwise(np.maximum),
    "arith.minimumf": elementwise(np.minimum),
    "arith.truncf": elementwise(lambda x: x),
    "arith.extf": elementwise(lambda x: x),
    "arith.minui": unsigned(np.minimum),
    "math.exp2": elementwise(np.exp2),
    "math.fma": elementwise(lambda a, b, c: a.astype(np.float64) * b + c),
    "arith.extui": elementwise(lambda x: x.view(np.dtype(f"u{x.dtype.itemsize}"))),
    "arith.shrui": unsigned(np.right_shift),
    "arith.index_castui": elementwise(lambda x: x),
    "math.erf": elementwise(np.vectorize(math.erf, otypes=[float])),
}


@rule("arith.select")
def _select(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    condition, a, b = (state.known[value] for value in op.operands)
    return [np.where(condition.reshape(-1, *[1] * (a.ndim - 1)), a, b)]


@rule("arith.constant")
def _constant(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_, value = op.results[0].type, op.attributes["value"]
    dtype = element_dtype(type_)
    if isinstance(type_, ir.VectorType):
        splat = ir.DenseElementsAttr(value).get_splat_value()
        return [np.full((state.threads, *type_.shape), number(splat), dtype)]
    return [np.full(state.threads, number(value), dtype)]


_COMPARISONS = {
    0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal
}  # fmt: skip


@rule("arith.cmpi")
def _cmpi(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    a, b = (state.known[value] for value in op.operands)
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if predicate >= 6:  # unsigned
        predicate -= 4
        a, b = (each.view(np.dtype(f"u{each.dtype.itemsize}")) for each in (a, b))
    return [_COMPARISONS[predicate](a, b)]


@rule("arith.cmpf")
def _cmpf(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    a, b = (state.known[value] for value in op.operands)
    if ir.IntegerAttr(op.attributes["predicate"]).value != 1:
        raise NotImplementedError("comparisons of floats but OEQ")
    return [a == b]
