"""The pass `graph-convert-precision`."""

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import constant_array
from ..infra.registry import register
from .retyping import Retyper, retype_results

_F32 = np.dtype(np.float32)
_NARROW = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
_LARGEST = np.finfo(np.float16).max  # bf16 has the range of f32


@register
@dataclass(frozen=True)
class ConvertPrecision(Pass):
    """Compute in floats of 16 bits what was f32; sums, inputs and outputs stay f32.

        %1 = "graph.matmul"(%x, %w) : 128x768xf32, 768x768xf32
    -->
        %0 = "graph.cast"(%x) : 128x768xf16
        %1 = "graph.matmul"(%0, %w') : 128x768xf16, 768x768xf16
        %2 = "graph.cast"(%1) : 128x768xf32

    Matmuls and convolutions are always converted; the ops between them (activations,
    normalisations, data movement) if all of their operands have been; all other ops (exponentials,
    powers, sums of many elements, quantisation, control flow) stay f32, as in automatic mixed
    precision (Micikevicius et al., 2018). So do ops with a constant operand that `to` cannot hold.
    For f16, whose largest number is 65504, conversions saturate.
    """

    name = "graph-convert-precision"
    anchor = FUNCTION
    to: Literal["f32", "f16", "bf16"] = "f32"
    """``f32`` leaves everything as it is."""

    @property
    def bound(self) -> float | None:
        """Error bound of repeated rounding, in steps of 2^-11 for f16 and 2^-8 for bf16."""
        return {"f16": 2e-2, "bf16": 8e-2}.get(self.to)

    def run(self, op: Any, state: PassState) -> None:
        if self.to in _NARROW:
            _Converter(_NARROW[self.to], state).walk(op.operation)


class _Converter(Retyper):
    """Narrows ops, and saturates what it narrows."""

    def __init__(self, to: np.dtype, state: PassState):
        super().__init__()
        self.to = to
        self.statistics = state.statistics(f"compute-in-{graph.dtype_name(to)}")
        self.narrowed: set[ir.Value] = set()

    def visit(self, operation: Any) -> None:
        """Narrow one op, or restore its f32 operands."""
        op = graph.graph_op(operation)
        reason = self.reason_to_stay(op) if op is not None else ""
        if op is not None and reason is None:
            self.narrow_op(op)
            self.statistics.record_fired(node_name(op))
            return
        if reason:
            self.statistics.record_declined(node_name(operation), reason)
        for index, value in enumerate(operation.operands):
            if value in self.narrowed:
                operation.operands[index] = self.cast(value, _F32)

    def reason_to_stay(self, op: graph.GraphOp) -> str | None:
        """The reason to leave `op` in f32: None if it is to be narrowed, "" if there is no reason
        worth a report."""
        values = [v for v in op.operation.operands if self.is_wide(v) or v in self.narrowed]
        if op.amp is graph.MixedPrecision.NARROW:
            return None if values else ""
        if op.amp is not graph.MixedPrecision.FOLLOW or not values:
            return ""
        computed = [v for v in values if constant_array(v) is None]
        if not all(v in self.narrowed for v in computed):
            return ""
        if isinstance(op, graph.MulOp) and op.a == op.b:
            return "squares need the range of f32"
        arrays = [constant_array(v) for v in values]
        if any(array is not None and not self.holds(array) for array in arrays):
            return "a constant is too large or too small"
        return None

    @staticmethod
    def is_wide(value: ir.Value) -> bool:
        return isinstance(value.type, ir.RankedTensorType) and graph.type_of(value).dtype == _F32

    def holds(self, array: np.ndarray) -> bool:
        """Return whether no element of `array` becomes infinite, and a single element not 0."""
        with np.errstate(over="ignore"):
            narrow = array.astype(self.to).astype(_F32)
        if np.any(np.isfinite(array) & ~np.isfinite(narrow)):
            return False
        return array.size != 1 or bool(np.all((narrow != 0) | (array == 0)))

    def narrow_op(self, op: graph.GraphOp) -> None:
        for index, value in enumerate(op.operation.operands):
            if self.is_wide(value):
                op.operation.operands[index] = self.cast(value, self.to)
        self.narrowed.update(retype_results(op))

    def build_cast(self, value: ir.Value, to: np.dtype) -> ir.Value:
        """See `Retyper`."""
        return graph.cast(self._saturated(value) if to == np.float16 else value, to=to)

    @staticmethod
    def _saturated(value: ir.Value) -> ir.Value:
        low, high = (graph.constant(value=np.array(x, np.float32)) for x in (-_LARGEST, _LARGEST))
        return graph.max_(graph.min_(value, high), low)

    def convert_elements(self, array: np.ndarray, to: np.dtype) -> np.ndarray:
        """See `Retyper`."""
        return (np.clip(array, -_LARGEST, _LARGEST) if to == np.float16 else array).astype(to)
