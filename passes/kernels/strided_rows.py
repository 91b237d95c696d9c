"""Slices along several axes, with any steps: runs of consecutive elements are copied.

All numbers are arguments, so that one kernel serves slices along as many axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
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
    """Emits the kernel: for each position along the `axes`, it copies `run` elements, of which the
    first of all is at `start`."""

    def __init__(
        self,
        vector_bits: int,
        axes: Sequence[StridedAxis],
        start: ir.Value,
        run: ir.Value,
        source: ir.Value,
        target: ir.Value,
    ):
        super().__init__(vector_bits, source, target)
        self.axes, self.start, self.run = axes, start, run

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
                self.copy(found, arith.muli(arith.addi(number_of_run, at), self.run), self.run)

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
