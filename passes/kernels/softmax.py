"""A kernel for softmax along the last axis of f32, row by row."""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, scf, vector
from .vector_functions import exp_below_zero

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""


@dataclass(frozen=True)
class SoftmaxRows:
    """Rows of `length` elements, `chunk` of them in a workgroup."""

    rows: int
    length: int

    @property
    def chunk(self) -> int:
        """Rows in a workgroup: a divisor of the number of rows."""
        wanted = max(1, 16384 // self.length)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)

    @property
    def workgroups(self) -> int:
        return self.rows // self.chunk

    def write(self, workgroup_id: ir.Value, source: ir.Value, target: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        first = arith.muli(workgroup_id, _index(self.chunk))
        loop = scf.ForOp(first, arith.addi(first, _index(self.chunk)), _index(1))
        with ir.InsertionPoint(loop.body):
            start = arith.muli(loop.induction_variable, _index(self.length))
            self._row(_Row(start, self.length, source), _Row(start, self.length, target))
            scf.YieldOp([])

    def _row(self, x: "_Row", y: "_Row") -> None:
        """Emit one row. The maximum may ignore NaN: a NaN minus the maximum is still a NaN."""
        lowest = float("-inf")
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        best = x.fold(
            lowest, lowest, lambda position, value, best: arith.maxnumf(value, best, fastmath=flags)
        )
        top = _spread(vector.reduction(_f32(), vector.CombiningKind.MAXNUMF, best))

        def power(position: _Position, value: ir.Value, total: ir.Value) -> ir.Value:
            result = exp_below_zero(arith.subf(value, top))
            y.store(position, result)
            return arith.addf(total, result)

        total = vector.reduction(_f32(), vector.CombiningKind.ADD, x.fold(0, lowest, power))
        share = _spread(arith.divf(arith.constant(_f32(), 1.0), total))

        def scale(position: _Position, value: ir.Value, total: ir.Value) -> ir.Value:
            y.store(position, arith.mulf(value, share))
            return total

        y.fold(0, 0, scale)


@dataclass(frozen=True)
class _Position:
    """Position of a vector: the index of its first element, and its mask, None for all lanes."""

    index: ir.Value
    mask: ir.Value | None


@dataclass(frozen=True)
class _Row:
    """A row of `length` elements of `memory`, from `start` on."""

    start: ir.Value
    length: int
    memory: ir.Value

    def fold(
        self,
        initial: float,
        missing: float,
        step: Callable[[_Position, ir.Value, ir.Value], ir.Value],
    ) -> ir.Value:
        """Fold `step` over the vectors of the row; `missing` fills the empty lanes of the last."""
        whole = self.length // LANES * LANES
        loop = scf.ForOp(_index(0), _index(whole), _index(LANES), [_splat(initial)])
        with ir.InsertionPoint(loop.body):
            at = arith.addi(self.start, loop.induction_variable)
            value = vector.load(_vector(), self.memory, [at])
            scf.YieldOp([step(_Position(at, None), value, loop.inner_iter_args[0])])
        total = loop.results[0]
        if whole == self.length:
            return total
        at = arith.addi(self.start, _index(whole))
        mask = vector.create_mask(
            ir.VectorType.get([LANES], ir.IntegerType.get_signless(1)),
            [_index(self.length - whole)],
        )
        value = vector.maskedload(_vector(), self.memory, [at], mask, _splat(missing))
        return step(_Position(at, mask), value, total)

    def store(self, position: _Position, value: ir.Value) -> None:
        """Store a vector at its position."""
        if position.mask is None:
            vector.store(value, self.memory, [position.index])
        else:
            vector.maskedstore(self.memory, [position.index], position.mask, value)


def _f32() -> ir.Type:
    return ir.F32Type.get()


def _vector() -> ir.VectorType:
    return ir.VectorType.get([LANES], _f32())


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _splat(value: float) -> ir.Value:
    element = ir.FloatAttr.get_f32(value)
    return arith.constant(_vector(), ir.DenseElementsAttr.get_splat(_vector(), element))


def _spread(x: ir.Value) -> ir.Value:
    return vector.broadcast(_vector(), x)
