"""A kernel for softmax along the last axis of f32, row by row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, scf, vector
from .sizes import Index, index
from .vector_functions import exp_below_zero

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""


ELEMENTS = 16384
"""Approximate number of elements in a workgroup."""


@dataclass(frozen=True)
class SoftmaxRows:
    """`rows` rows of `length` elements; None for numbers that are known only at run time."""

    rows: int | None
    length: int | None

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if both numbers are known."""
        assert self.rows is not None
        return -(-self.rows // self._static_chunk)

    @property
    def _static_chunk(self) -> int:
        """Rows in a workgroup: a divisor of the number of rows."""
        assert self.rows is not None
        assert self.length is not None
        wanted = max(1, ELEMENTS // self.length)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)

    def sizes(self, dynamic: Sequence[ir.Value]) -> tuple[Index, Index]:
        """Rows and length, those that are not known from `dynamic`."""
        left = iter(dynamic)
        rows = next(left) if self.rows is None else self.rows
        return rows, next(left) if self.length is None else self.length

    def chunk(self, dynamic: Sequence[ir.Value]) -> ir.Value:
        """Rows in a workgroup; if a number is dynamic, the last workgroup may have fewer."""
        if not dynamic:
            return index(self._static_chunk)
        _, length = self.sizes(dynamic)
        wanted = arith.divui(index(ELEMENTS), arith.maxui(index(length), index(1)))
        return arith.maxui(wanted, index(1))

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the numbers that are `dynamic`."""
        rows, _ = self.sizes(dynamic)
        return arith.ceildivui(index(rows), self.chunk(dynamic))


class SoftmaxEmitter:
    """Emits the kernel."""

    def __init__(self, shape: SoftmaxRows, source: ir.Value, target: ir.Value):
        self.shape, self.source, self.target = shape, source, target

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        rows, length = self.shape.sizes(dynamic)
        chunk = self.shape.chunk(dynamic)
        first = arith.muli(workgroup_id, chunk)
        last = arith.minui(arith.addi(first, chunk), index(rows))
        loop = scf.ForOp(first, last, index(1))
        with ir.InsertionPoint(loop.body):
            start = arith.muli(loop.induction_variable, index(length))
            self._row(_Row(start, length, self.source), _Row(start, length, self.target))
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
    length: Index
    memory: ir.Value

    def fold(
        self,
        initial: float,
        missing: float,
        step: Callable[[_Position, ir.Value, ir.Value], ir.Value],
    ) -> ir.Value:
        """Fold `step` over the vectors of the row; `missing` fills the empty lanes of the last."""
        whole = self._whole()
        loop = scf.ForOp(index(0), index(whole), index(LANES), [_splat(initial)])
        with ir.InsertionPoint(loop.body):
            at = arith.addi(self.start, loop.induction_variable)
            value = vector.load(_vector(), self.memory, [at])
            scf.YieldOp([step(_Position(at, None), value, loop.inner_iter_args[0])])
        total = loop.results[0]
        if isinstance(whole, int) and whole == self.length:
            return total
        at = arith.addi(self.start, index(whole))
        mask = vector.create_mask(
            ir.VectorType.get([LANES], ir.IntegerType.get_signless(1)),
            [arith.subi(index(self.length), index(whole))],
        )
        value = vector.maskedload(_vector(), self.memory, [at], mask, _splat(missing))
        return step(_Position(at, mask), value, total)

    def _whole(self) -> Index:
        """Elements of the row in whole vectors."""
        if isinstance(self.length, int):
            return self.length // LANES * LANES
        return arith.subi(self.length, arith.remui(self.length, index(LANES)))

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


def _splat(value: float) -> ir.Value:
    element = ir.FloatAttr.get_f32(value)
    return arith.constant(_vector(), ir.DenseElementsAttr.get_splat(_vector(), element))


def _spread(x: ir.Value) -> ir.Value:
    return vector.broadcast(_vector(), x)
