"""Packing of the right matrices of a matmul, whose elements are computed, into panels.

A workgroup packs a panel: some columns of a matrix, K-major, with zeros beyond the last column.
"""

from collections.abc import Callable

from ...mlir import arith, ir
from .computed_matmul_shape import ComputedMatmulShape, Size
from .emitter import VectorEmitter


class PackMatrixEmitter(VectorEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point."""

    def __init__(
        self,
        shape: ComputedMatmulShape,
        value: Callable[[Size], ir.Value],
        source: ir.Value,
        packed: ir.Value,
    ):
        super().__init__(shape.lanes)
        self.shape, self.source, self.packed = shape, source, packed
        self.k, self.column_count = value(shape.k), value(shape.columns)

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the panels of a matrix are consecutive."""
        panels = arith.ceildivui(self.column_count, self.index(self.shape.panel))
        matrix = arith.divui(workgroup_id, panels)
        column = self.times(arith.remui(workgroup_id, panels), self.shape.panel)
        start = arith.muli(matrix, arith.muli(self.k, self.column_count))
        target = arith.muli(workgroup_id, self.times(self.k, self.shape.panel))
        left = arith.subi(self.column_count, column)
        for part in range(0, self.shape.panel, self.lanes):
            at = self.add(column, part)
            into = self.add(target, part)
            mask = self.lanes_below(self.add(left, -part))
            if self.shape.is_transposed:
                self._columns(start, at, into)
            else:
                self._lines(self.add(start, at), into, mask)

    def _lines(self, source: ir.Value, target: ir.Value, mask: ir.Value) -> None:
        """Copy a vector of each line."""

        def line(number: ir.Value) -> None:
            found = self.load(
                self.source, arith.addi(source, arith.muli(number, self.column_count)), mask
            )
            self.store(found, self.packed, self._line(target, number))

        self.repeat(self.index(0), self.k, line)

    def _columns(self, start: ir.Value, column: ir.Value, target: ir.Value) -> None:
        """Transpose as many contiguous columns as a vector has lanes. Those beyond the last are
        that, as their products are not stored."""
        lanes, last = self.lanes, self.add(self.column_count, -1)
        starts = [
            arith.addi(start, arith.muli(arith.minui(self.add(column, n), last), self.k))
            for n in range(lanes)
        ]
        rest = arith.remui(self.k, self.index(lanes))
        whole = arith.subi(self.k, rest)

        def square(number: ir.Value) -> None:
            at = self.times(number, lanes)
            rows = self.transposed([self.load(self.source, arith.addi(s, at)) for s in starts])
            for n, row in enumerate(rows):
                self.store(row, self.packed, self._line(target, self.add(at, n)))

        self.repeat(self.index(0), arith.divui(whole, self.index(lanes)), square)

        def last_lines() -> None:
            mask = self.lanes_below(rest)
            loaded = [self.load(self.source, arith.addi(s, whole), mask) for s in starts]
            rows = self.transposed(loaded)
            for n, row in enumerate(rows[:-1]):
                exists = self.compare(arith.CmpIPredicate.ugt, rest, n)
                at = self._line(target, self.add(whole, n))
                self.choose(
                    exists, lambda row=row, at=at: self.store(row, self.packed, at), lambda: None
                )

        if not isinstance(self.shape.k, int) or self.shape.k % lanes:
            has_rest = self.compare(arith.CmpIPredicate.ne, rest, 0)
            self.choose(has_rest, last_lines, lambda: None)

    def _line(self, target: ir.Value, number: ir.Value) -> ir.Value:
        return arith.addi(target, self.times(number, self.shape.panel))
