"""A kernel for softmax and its logarithm along the last axis of f32, row by row."""

from ...mlir import arith, ir, math, vector
from .rows import FloatRow, Position, RowChunks
from .sizes import Index
from .vector_functions import exp_below_zero

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""


_WIDE = 4 * LANES
"""Elements of long rows compared side by side: several registers hide the latency of a maximum."""
_LONG = 4 * _WIDE


class SoftmaxEmitter:
    """Emits the kernel; with `logarithm`, that of the logarithms of the results."""

    def __init__(self, shape: RowChunks, logarithm: bool, source: ir.Value, target: ir.Value):
        self.shape, self.logarithm = shape, logarithm
        self.source, self.target = source, target

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.shape.for_each_row(workgroup_id, dynamic, self._row)

    def _row(self, start: ir.Value, length: Index) -> None:
        """Emit one row. The maximum may ignore NaN: a NaN minus the maximum is still a NaN."""
        x, y = (FloatRow(memory, start, length, LANES) for memory in (self.source, self.target))
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        is_short = isinstance(length, int) and length < _LONG
        wide = FloatRow(self.source, start, length, LANES if is_short else _WIDE)
        nothing = wide.splat(float("-inf"))
        best = wide.fold(
            nothing, nothing, lambda at, value, best: arith.maxnumf(value, best, fastmath=flags)
        )
        f32 = ir.F32Type.get()
        top = vector.reduction(f32, vector.CombiningKind.MAXNUMF, best)
        tops, lowest, zero = x.spread(top), x.splat(float("-inf")), x.splat(0)

        def power(at: Position, value: ir.Value, total: ir.Value) -> ir.Value:
            result = exp_below_zero(arith.subf(value, tops))
            if not self.logarithm:
                y.store(at, result)
            return arith.addf(total, result)

        total = vector.reduction(f32, vector.CombiningKind.ADD, x.fold(zero, lowest, power))
        if self.logarithm:
            rest = x.spread(math.log(total))
            source, of = x, lambda value: arith.subf(arith.subf(value, tops), rest)
        else:
            share = x.spread(arith.divf(arith.constant(f32, 1.0), total))
            source, of = y, lambda value: arith.mulf(value, share)

        def finish(at: Position, value: ir.Value, unused: ir.Value) -> ir.Value:
            y.store(at, of(value))
            return unused

        source.fold(zero, zero, finish)
