"""Arithmetic on scalars of a body, written as formulas."""

from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, math
from .lowering import scalar_constant
from .scalar import apply_number_rule, convert_scalar, multiply

_BOOL = np.dtype(np.bool_)
_I64 = np.dtype(np.int64)
_PREDICATES = {"lt": "OLT", "le": "OLE", "gt": "OGT", "ge": "OGE", "eq": "OEQ"}


@dataclass(frozen=True)
class Number:
    """A scalar with its element type; Python operands become constants of that type.

    Comparisons give an i1 and are false for NaN.
    """

    value: ir.Value
    dtype: np.dtype

    def __add__(self, other: "Number | float") -> "Number":
        return self._apply(graph.AddOp, self, other)

    def __sub__(self, other: "Number | float") -> "Number":
        return self._apply(graph.SubOp, self, other)

    def __rsub__(self, other: float) -> "Number":
        return self._apply(graph.SubOp, other, self)

    def __mul__(self, other: "Number | float") -> "Number":
        return Number(multiply(self.dtype, self.value, self._like(other).value), self.dtype)

    def __truediv__(self, other: "Number | float") -> "Number":
        return self._apply(graph.DivOp, self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def max(self, other: "Number | float") -> "Number":
        return self._apply(graph.MaxOp, self, other)

    def min(self, other: "Number | float") -> "Number":
        return self._apply(graph.MinOp, self, other)

    def abs(self) -> "Number":
        return Number(apply_number_rule(graph.AbsOp, self.dtype, self.value), self.dtype)

    def floor(self) -> "Number":
        return Number(math.floor(self.value), self.dtype)

    def ceil(self) -> "Number":
        return Number(math.ceil(self.value), self.dtype)

    def round(self) -> "Number":
        """Round to the nearest integer, halves to even."""
        return Number(math.roundeven(self.value), self.dtype)

    def is_(self, comparison: str, other: "Number | float") -> ir.Value:
        """Compare by ``lt``, ``le``, ``gt``, ``ge`` or ``eq``."""
        right = self._like(other).value
        if graph.is_float(self.dtype):
            predicate = getattr(arith.CmpFPredicate, _PREDICATES[comparison])
            return arith.cmpf(predicate, self.value, right)
        sign = "" if comparison == "eq" else "u" if graph.is_unsigned(self.dtype) else "s"
        return arith.cmpi(getattr(arith.CmpIPredicate, sign + comparison), self.value, right)

    def where(self, condition: ir.Value, other: "Number | float") -> "Number":
        """This number if `condition` holds, else `other`."""
        return Number(arith.select(condition, self.value, self._like(other).value), self.dtype)

    def to(self, dtype: np.dtype) -> "Number":
        return Number(convert_scalar(self.value, self.dtype, dtype), dtype)

    def index(self) -> ir.Value:
        """Convert to an index; floats are truncated towards zero."""
        return arith.index_cast(ir.IndexType.get(), self.to(_I64).value)

    def _like(self, other: "Number | float") -> "Number":
        if isinstance(other, Number):
            return other
        return Number(scalar_constant(other, self.dtype), self.dtype)

    def _apply(self, op: type[graph.GraphOp], a: "Number | float", b: "Number | float") -> "Number":
        left, right = self._like(a).value, self._like(b).value
        return Number(apply_number_rule(op, self.dtype, left, right), self.dtype)


def from_index(value: ir.Value, dtype: np.dtype) -> Number:
    """Convert an index to a number of `dtype`."""
    wide = arith.index_cast(ir.IntegerType.get_signless(64), value)
    return Number(wide, _I64).to(dtype)


def both(*conditions: ir.Value) -> ir.Value:
    """True (an i1) if all of `conditions` hold."""
    total = conditions[0]
    for condition in conditions[1:]:
        total = arith.andi(total, condition)
    return total
