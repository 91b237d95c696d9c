"""The pass `graph-widen-floats`."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import constant_array
from ..infra.registry import register
from .retyping import Retyper, retype_results

_F32 = np.dtype(np.float32)


@register
@dataclass(frozen=True)
class WidenFloats(Pass):
    """Compute floats of 16 bits in f32, without the rounding that the model has between ops.

        %1 = "graph.matmul"(%x, %w) : 128x768xf16, 768x768xf16
        %2 = "graph.relu"(%1) : 128x768xf16
    -->
        %0 = "graph.cast"(%x) : 128x768xf32
        %1 = "graph.matmul"(%0, %w') : 128x768xf32, 768x768xf32
        %2 = "graph.relu"(%1) : 128x768xf32
        %3 = "graph.cast"(%2) : 128x768xf16

    For CPUs, few of which have arithmetic in these types, and whose kernels are of f32. Results
    are at least as exact: C calls this excess precision (FLT_EVAL_METHOD).

    Inputs, outputs, what loops carry and branches give stay 16 bits, and so do elements that are
    moved from them: caches that grow, or are updated in place, and rows of tables. They are widened
    by what computes with them. The model's own conversions round, and so do operands of ops that
    decide: comparisons, conversions to integers, sorting (`graph.ExcessPrecision`).

    With `ops=contractions`, only matmuls, convolutions and attention are widened, which sum in f32
    anyway, and their results are rounded: exact up to the order of sums.
    """

    name = "graph-widen-floats"
    anchor = FUNCTION
    ops: Literal["all", "contractions", "none"] = "all"
    """``none`` leaves everything as it is."""

    @property
    def bound(self) -> float | None:
        """Error bound of the rounding that is left out, in steps of 2^-11 for f16, 2^-8 for
        bf16."""
        return 8e-2 if self.ops == "all" else None

    def run(self, op: Any, state: PassState) -> None:
        if self.ops != "none":
            _Widener(state, every=self.ops == "all").walk(op.operation)


class _Widener(Retyper):
    """Widens ops, and rounds their results for those that need them as the model has them."""

    def __init__(self, state: PassState, every: bool):
        super().__init__()
        self.every = every
        """True if all ops are widened; else contractions, whose operands are rounded."""
        self.statistics = state.statistics("compute-in-f32")
        self.rounded: dict[ir.Value, np.dtype] = {}
        """The values that were widened, with their types in the model."""

    def visit(self, operation: Any) -> None:
        """Widen one op, or round its operands."""
        op = graph.graph_op(operation)
        if self.every and isinstance(op, graph.CastOp) and graph.is_float(op.to):
            return  # rounds to the type that the model wants
        reason = self.reason_to_stay(op) if op is not None else ""
        if op is not None and reason is None:
            self.widen(op)
            self.statistics.record_fired(node_name(op))
            return
        if reason:
            self.statistics.record_declined(node_name(operation), reason)
        self.round_operands(operation)

    def round_operands(self, operation: Any) -> None:
        """Give `operation` operands of the types that the model has."""
        for index, value in enumerate(operation.operands):
            if value in self.rounded:
                operation.operands[index] = self.cast(value, self.rounded[value])

    def reason_to_stay(self, op: graph.GraphOp) -> str | None:
        """The reason not to widen `op`: None if it is to be widened, "" if there is no reason worth
        a report."""
        given = [v for v in op.operation.operands if v in self.rounded or _is_narrow(v)]
        if isinstance(op, graph.DequantizeOp):
            return None if self.every and op.to in graph.HALVES else ""
        if not given or not op.operation.results:
            return ""
        if not self.every:
            return None if op.amp is graph.MixedPrecision.NARROW else ""
        if op.excess is graph.ExcessPrecision.FOLLOW:
            computed = [v for v in op.operation.operands if constant_array(v) is None]
            first = next((v for v in given if v in computed), None)
            if computed and first not in self.rounded:
                return "its elements stay as they are in memory"
        elif op.excess is graph.ExcessPrecision.NEVER or _decides(op):
            return "its operands are to be rounded as in the model"
        return None

    def widen(self, op: graph.GraphOp) -> None:
        operation = op.operation
        if not self.every:
            self.round_operands(operation)
        for index, value in enumerate(operation.operands):
            if _is_narrow(value):
                operation.operands[index] = self.cast(value, _F32)
        if isinstance(op, graph.DequantizeOp):
            operation.attributes["to"] = op.attribute_kinds["to"].write(_F32)
        self.rounded |= retype_results(op)


def _is_narrow(value: ir.Value) -> bool:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return is_tensor and graph.type_of(value).dtype in graph.HALVES


def _decides(op: graph.GraphOp) -> bool:
    """Return whether `op` gives integers or truth values."""
    types = map(graph.type_of, op.operation.results)
    return any(not graph.is_float(each.dtype) for each in types)
