"""A kernel for layer and RMS normalization of contiguous rows of f32."""

from dataclasses import dataclass

from ...mlir import arith, ir, math, vector
from .rows import FloatRow, Position, RowChunks
from .sizes import Index, index


@dataclass(frozen=True)
class RowNorm:
    """A normalization of rows of variance 1, or of mean square 1 if it is not `centred`."""

    rows: RowChunks
    lanes: int
    """Elements that are summed side by side: several registers hide the latency of additions."""
    epsilon: float
    centred: bool

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if the numbers of rows and of their elements are known."""
        return self.rows.workgroups

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the numbers that are `dynamic`."""
        return self.rows.count_workgroups(*dynamic)


class RowNormEmitter:
    """Emits the kernel.

    A variance is the mean of squared distances from the mean, which are computed in a second pass
    over the row, so that large numbers do not cancel.
    """

    def __init__(
        self,
        shape: RowNorm,
        source: ir.Value,
        scale: ir.Value,
        bias: ir.Value | None,
        target: ir.Value,
    ):
        self.shape, self.source, self.target = shape, source, target
        self.scale, self.bias = scale, bias

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.shape.rows.for_each_row(workgroup_id, dynamic, self._row)

    def _row(self, start: ir.Value, length: Index) -> None:
        """Emit one row."""
        lanes = self.shape.lanes
        x, y = (FloatRow(memory, start, length, lanes) for memory in (self.source, self.target))
        scale = FloatRow(self.scale, index(0), length, lanes)
        bias = None if self.bias is None else FloatRow(self.bias, index(0), length, lanes)
        zero = x.splat(0)
        mean = zero
        if self.shape.centred:
            total = x.fold(zero, zero, lambda at, value, total: arith.addf(value, total))
            mean = x.spread(_mean(total, length))

        def square(at: Position, value: ir.Value, total: ir.Value) -> ir.Value:
            distance = self._centred(value, mean)
            return math.fma(distance, distance, total)

        variance = _mean(x.fold(zero, mean, square), length)
        f32 = ir.F32Type.get()
        root = math.sqrt(arith.addf(variance, arith.constant(f32, self.shape.epsilon)))
        factor = x.spread(arith.divf(arith.constant(f32, 1.0), root))

        def normalise(at: Position, value: ir.Value, unused: ir.Value) -> ir.Value:
            result = arith.mulf(
                arith.mulf(self._centred(value, mean), factor), scale.load(at, zero)
            )
            y.store(at, result if bias is None else arith.addf(result, bias.load(at, zero)))
            return unused

        x.fold(zero, zero, normalise)

    def _centred(self, value: ir.Value, mean: ir.Value) -> ir.Value:
        return arith.subf(value, mean) if self.shape.centred else value


def _mean(total: ir.Value, length: Index) -> ir.Value:
    """The mean of a row of `length` elements, of which the lanes of `total` have sums."""
    f32 = ir.F32Type.get()
    count = arith.sitofp(f32, arith.index_cast(ir.IntegerType.get_signless(64), index(length)))
    return arith.divf(vector.reduction(f32, vector.CombiningKind.ADD, total), count)
