"""A kernel for layer, group, instance and RMS normalization of contiguous rows of f32."""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, math, memref, scf, vector
from .rows import FloatRow, Position, RowChunks
from .sizes import Index, index


@dataclass(frozen=True)
class RunParameters:
    """Scales, and biases, for runs of elements: each row has `runs` of them, of equal length. Those
    of row `r` begin at element ``r % rows * runs``. The channels of images are such runs."""

    rows: int
    runs: int
    lanes: int
    """Elements that are normalized at a time, at most a run."""


@dataclass(frozen=True)
class RowNorm:
    """A normalization of rows of variance 1, or of mean square 1 if it is not `centred`."""

    rows: RowChunks
    lanes: int
    """Elements that are summed side by side: several registers hide the latency of additions."""
    epsilon: float
    centred: bool
    parameters: RunParameters | None = None
    """None if each element of a row has parameters of its own, the same in all rows."""

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
        x = FloatRow(self.source, start, length, self.shape.lanes)
        zero = x.splat(0)
        mean = None
        if self.shape.centred:
            total = x.fold(zero, zero, lambda at, value, total: arith.addf(value, total))
            mean = _mean(total, length)
        distant = zero if mean is None else x.spread(mean)

        def square(at: Position, value: ir.Value, total: ir.Value) -> ir.Value:
            distance = self._centred(value, distant)
            return math.fma(distance, distance, total)

        variance = _mean(x.fold(zero, distant, square), length)
        f32 = ir.F32Type.get()
        root = math.sqrt(arith.addf(variance, arith.constant(f32, self.shape.epsilon)))
        factor = arith.divf(arith.constant(f32, 1.0), root)
        if self.shape.parameters is None:
            self._normalize_elements(x, mean, factor)
        else:
            self._normalize_runs(self.shape.parameters, x, mean, factor)

    def _normalize_elements(self, x: FloatRow, mean: ir.Value | None, factor: ir.Value) -> None:
        """Store a row, with parameters for each element."""
        scale = FloatRow(self.scale, index(0), x.length, x.lanes)
        bias = None if self.bias is None else FloatRow(self.bias, index(0), x.length, x.lanes)
        zero, factor = x.splat(0), x.spread(factor)

        def scaled(at: Position, value: ir.Value) -> ir.Value:
            y = arith.mulf(arith.mulf(value, factor), scale.load(at, zero))
            return y if bias is None else arith.addf(y, bias.load(at, zero))

        self._store(x, mean, scaled)

    def _normalize_runs(
        self, of: RunParameters, x: FloatRow, mean: ir.Value | None, factor: ir.Value
    ) -> None:
        """Store a row, with parameters for each of its runs."""
        runs = index(of.runs)
        row = arith.divui(x.start, arith.maxui(index(x.length), index(1)))
        first = arith.muli(arith.remui(row, index(of.rows)), runs)
        length: Index = arith.divui(index(x.length), runs)
        if isinstance(x.length, int):
            length = x.length // of.runs
        loop = scf.ForOp(index(0), runs, index(1))
        with ir.InsertionPoint(loop.body):
            start = arith.addi(x.start, arith.muli(loop.induction_variable, index(length)))
            run = FloatRow(x.memory, start, length, of.lanes)
            at = arith.addi(first, loop.induction_variable)
            scale = run.spread(arith.mulf(factor, memref.load(self.scale, [at])))
            bias = None if self.bias is None else run.spread(memref.load(self.bias, [at]))

            def scaled(at: Position, value: ir.Value) -> ir.Value:
                y = arith.mulf(value, scale)
                return y if bias is None else arith.addf(y, bias)

            self._store(run, mean, scaled)
            scf.YieldOp([])

    def _store(
        self, x: FloatRow, mean: ir.Value | None, scaled: Callable[[Position, ir.Value], ir.Value]
    ) -> None:
        """Store `scaled` of the distances of `x` from the mean."""
        y = FloatRow(self.target, x.start, x.length, x.lanes)
        zero = x.splat(0)
        centre = zero if mean is None else x.spread(mean)

        def store(at: Position, value: ir.Value, unused: ir.Value) -> ir.Value:
            y.store(at, scaled(at, self._centred(value, centre)))
            return unused

        x.fold(zero, zero, store)

    def _centred(self, value: ir.Value, mean: ir.Value) -> ir.Value:
        return arith.subf(value, mean) if self.shape.centred else value


def _mean(total: ir.Value, length: Index) -> ir.Value:
    """The mean of a row of `length` elements, of which the lanes of `total` have sums."""
    f32 = ir.F32Type.get()
    count = arith.sitofp(f32, arith.index_cast(ir.IntegerType.get_signless(64), index(length)))
    return arith.divf(vector.reduction(f32, vector.CombiningKind.ADD, total), count)
