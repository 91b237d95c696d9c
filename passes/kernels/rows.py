"""Kernels that work row by row: rows of f32 along the last axis, and their shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, scf, vector
from .sizes import Index, index

ELEMENTS = 16384
"""Approximate number of elements in a workgroup."""


@dataclass(frozen=True)
class RowChunks:
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

    def for_each_row(
        self,
        workgroup_id: ir.Value,
        dynamic: Sequence[ir.Value],
        emit: Callable[[ir.Value, Index], None],
    ) -> None:
        """Call `emit` with the first element of each row of a workgroup, and the length of rows."""
        rows, length = self.sizes(dynamic)
        chunk = self.chunk(dynamic)
        first = arith.muli(workgroup_id, chunk)
        last = arith.minui(arith.addi(first, chunk), index(rows))
        loop = scf.ForOp(first, last, index(1))
        with ir.InsertionPoint(loop.body):
            emit(arith.muli(loop.induction_variable, index(length)), length)
            scf.YieldOp([])


@dataclass(frozen=True)
class Position:
    """Position of a vector in a row: its first column, and its mask, None for all lanes."""

    column: ir.Value
    mask: ir.Value | None


@dataclass(frozen=True)
class FloatRow:
    """A row of `length` elements of `memory`, from `start` on, in vectors of `lanes`."""

    memory: ir.Value
    start: ir.Value
    length: Index
    lanes: int

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType.get([self.lanes], ir.F32Type.get())

    def splat(self, value: float) -> ir.Value:
        """A vector of `value`."""
        element = ir.FloatAttr.get_f32(value)
        return arith.constant(self.vector, ir.DenseElementsAttr.get_splat(self.vector, element))

    def spread(self, scalar: ir.Value) -> ir.Value:
        """A vector of `scalar`."""
        return vector.broadcast(self.vector, scalar)

    def fold(
        self,
        initial: ir.Value,
        missing: ir.Value,
        step: Callable[[Position, ir.Value, ir.Value], ir.Value],
    ) -> ir.Value:
        """Fold `step` over the vectors of the row; `missing` has the empty lanes of the last."""
        whole, total = self._whole(), initial
        if whole != 0:
            loop = scf.ForOp(index(0), index(whole), index(self.lanes), [initial])
            with ir.InsertionPoint(loop.body):
                at = Position(loop.induction_variable, None)
                scf.YieldOp([step(at, self.load(at, missing), loop.inner_iter_args[0])])
            total = loop.results[0]
        if isinstance(whole, int) and whole == self.length:
            return total
        mask = vector.create_mask(
            ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1)),
            [arith.subi(index(self.length), index(whole))],
        )
        at = Position(index(whole), mask)
        return step(at, self.load(at, missing), total)

    def _whole(self) -> Index:
        """Elements of the row in whole vectors."""
        if isinstance(self.length, int):
            return self.length // self.lanes * self.lanes
        return arith.subi(self.length, arith.remui(self.length, index(self.lanes)))

    def load(self, position: Position, missing: ir.Value) -> ir.Value:
        """Load a vector, with the lanes of `missing` where there is no element."""
        at = arith.addi(self.start, position.column)
        if position.mask is None:
            return vector.load(self.vector, self.memory, [at])
        return vector.maskedload(self.vector, self.memory, [at], position.mask, missing)

    def store(self, position: Position, value: ir.Value) -> None:
        """Store a vector."""
        at = arith.addi(self.start, position.column)
        if position.mask is None:
            vector.store(value, self.memory, [at])
        else:
            vector.maskedstore(self.memory, [at], position.mask, value)
