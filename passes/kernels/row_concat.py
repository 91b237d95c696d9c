"""Concatenation of rows: each row of the result is made of parts of the rows of its operands.

The sizes are arguments, so that one kernel copies for all concatenations and slices of so many
operands. A workgroup copies segments of rows, in whole vectors; the last one overlaps the one
before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import VectorEmitter
from .row_copies import RowCopyEmitter

BYTES = 1 << 14
"""Bytes that a workgroup copies, at least: waking a thread costs as much."""
WORKGROUPS_PER_THREAD = 4
SEGMENT = 4096
"""Elements of a segment of a row."""


@dataclass(frozen=True)
class RowPart:
    """The elements of a row of `memory` that become elements of the result: `length` from `offset`
    on. Its rows are `stride` elements apart."""

    memory: ir.Value
    stride: ir.Value
    offset: ir.Value
    length: ir.Value


class RowConcatEmitter(VectorEmitter):
    """Emits the kernel; vectors have `vector_bits`."""

    def __init__(self, vector_bits: int, parts: Sequence[RowPart], result: ir.Value):
        super().__init__(1)
        self._parts = parts
        self._copies = [RowCopyEmitter(vector_bits, part.memory, result) for part in parts]
        self._starts = [self.index(0)]
        for part in parts:
            self._starts.append(arith.addi(self._starts[-1], part.length))

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`."""
        total = self._starts[-1]
        segments = arith.ceildivui(total, self.index(SEGMENT))
        units = arith.muli(rows, segments)
        first = arith.divui(arith.muli(workgroup_id, units), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), units), count)

        def unit(at: ir.Value) -> None:
            row, segment = arith.divui(at, segments), arith.remui(at, segments)
            column = self.times(segment, SEGMENT)
            end = arith.minui(self.add(column, SEGMENT), total)
            for number in range(len(self._parts)):
                self._copy(number, row, column, end)

        self.repeat(first, behind, unit)

    def _copy(self, number: int, row: ir.Value, column: ir.Value, end: ir.Value) -> None:
        """Copy what a part has in the columns from `column` to `end`."""
        part, start = self._parts[number], self._starts[number]
        low = arith.maxui(column, start)
        high = arith.maxui(arith.minui(end, self._starts[number + 1]), low)
        within = arith.addi(part.offset, arith.subi(low, start))
        source = arith.addi(arith.muli(row, part.stride), within)
        target = arith.addi(arith.muli(row, self._starts[-1]), low)
        self._copies[number].copy(source, target, arith.subi(high, low))
