"""A kernel for softmax along the last axis of f32, row by row."""

from ...mlir import arith, ir, vector
from .rows import FloatRow, Position, RowChunks
from .sizes import Index
from .vector_functions import exp_below_zero

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""


class SoftmaxEmitter:
    """Emits the kernel."""

    def __init__(self, shape: RowChunks, source: ir.Value, target: ir.Value):
        self.shape, self.source, self.target = shape, source, target

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.shape.for_each_row(workgroup_id, dynamic, self._row)

    def _row(self, start: ir.Value, length: Index) -> None:
        """Emit one row. The maximum may ignore NaN: a NaN minus the maximum is still a NaN."""
        x, y = (FloatRow(memory, start, length, LANES) for memory in (self.source, self.target))
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        lowest, zero = x.splat(float("-inf")), x.splat(0)
        best = x.fold(
            lowest, lowest, lambda at, value, best: arith.maxnumf(value, best, fastmath=flags)
        )
        f32 = ir.F32Type.get()
        top = x.spread(vector.reduction(f32, vector.CombiningKind.MAXNUMF, best))

        def power(at: Position, value: ir.Value, total: ir.Value) -> ir.Value:
            result = exp_below_zero(arith.subf(value, top))
            y.store(at, result)
            return arith.addf(total, result)

        total = vector.reduction(f32, vector.CombiningKind.ADD, x.fold(zero, lowest, power))
        share = x.spread(arith.divf(arith.constant(f32, 1.0), total))

        def scale(at: Position, value: ir.Value, total: ir.Value) -> ir.Value:
            y.store(at, arith.mulf(value, share))
            return total

        y.fold(zero, zero, scale)
