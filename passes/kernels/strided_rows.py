"""Slices along several axes, with any steps: runs of consecutive elements are copied, and of runs
with a small step the elements that lie together are taken from vectors.

All numbers are arguments, so that one kernel serves slices along as many axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .row_copies import RowCopyEmitter

WORKGROUPS_PER_THREAD = 4
BYTES = 1 << 14
"""Bytes that a workgroup moves, at least: waking a thread costs as much."""


@dataclass(frozen=True)
class StridedAxis:
    """An axis along which `size` positions are read, `step` elements of memory apart."""

    size: ir.Value
    step: ir.Value


class StridedRowsEmitter(RowCopyEmitter):
    """Emits the kernel: for each position along the `axes`, it copies `run` elements that are `gap`
    apart, of which the first of all is at `start`."""

    def __init__(
        self,
        vector_bits: int,
        axes: Sequence[StridedAxis],
        start: ir.Value,
        run: ir.Value,
        source: ir.Value,
        target: ir.Value,
        gap: int = 1,
    ):
        super().__init__(vector_bits, source, target)
        self.axes, self.start, self.run, self.gap = axes, start, run, gap

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`, which copies its share of the runs."""
        *outer, inner = self.axes
        runs = inner.size
        for axis in outer:
            runs = arith.muli(runs, axis.size)
        first = arith.divui(arith.muli(workgroup_id, runs), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), runs), count)

        def line(number: ir.Value) -> None:
            source, number_of_run = self._first_of(number, outer), arith.muli(number, inner.size)
            last = arith.addi(number_of_run, inner.size)
            begin = arith.subi(arith.maxui(first, number_of_run), number_of_run)
            end = arith.subi(arith.minui(behind, last), number_of_run)

            def copy(at: ir.Value) -> None:
                found = arith.addi(source, arith.muli(at, inner.step))
                copy = self.copy if self.gap == 1 else self._gather
                copy(found, arith.muli(arith.addi(number_of_run, at), self.run), self.run)

            self.repeat(begin, end, copy)

        def lines() -> None:
            last = arith.divui(self.add(behind, -1), inner.size)
            self.repeat(arith.divui(first, inner.size), self.add(last, 1), line)

        some = arith.cmpi(arith.CmpIPredicate.ult, first, behind)
        self.choose(some, lines, lambda: None)

    def _first_of(self, number: ir.Value, axes: Sequence[StridedAxis]) -> ir.Value:
        """The address of position `number` along all of `axes`."""
        at, left = self.start, number
        for axis in reversed(axes):
            position = arith.remui(left, axis.size)
            left = arith.divui(left, axis.size)
            at = arith.addi(at, arith.muli(position, axis.step))
        return at

    def _gather(self, source: ir.Value, target: ir.Value, count: ir.Value) -> None:
        """Copy `count` elements that are `gap` apart. The last vector overlaps the one before, and
        reads what is before its first element, not what is behind the last one."""

        def one_by_one() -> None:
            def move(at: ir.Value) -> None:
                found = memref.load(self.source, [arith.addi(source, self.times(at, self.gap))])
                memref.store(found, self.target, [arith.addi(target, at)])

            self.repeat(self.index(0), count, move)

        def vectors() -> None:
            def at(number: ir.Value) -> None:
                self._gather_vector(source, target, self.times(number, self.lanes), 0)

            whole = arith.divui(self.add(count, -1), self.index(self.lanes))
            self.repeat(self.index(0), whole, at)
            last = arith.subi(count, self.index(self.lanes))
            self._gather_vector(source, target, last, self.gap - 1)

        fills = arith.cmpi(arith.CmpIPredicate.ugt, count, self.index(self.lanes))
        self.choose(fills, vectors, one_by_one)

    def _gather_vector(self, source: ir.Value, target: ir.Value, at: ir.Value, before: int) -> None:
        """Copy the vector of elements from `at` on, of which the first is behind `before` others in
        the memory that is read."""
        place = self.add(arith.addi(source, self.times(at, self.gap)), -before)
        found = self.load(self.source, place, lanes=self.lanes * self.gap)
        lanes = [before + lane * self.gap for lane in range(self.lanes)]
        taken = vector.shuffle(found, found, lanes)
        self.store(taken, self.target, arith.addi(target, at))
