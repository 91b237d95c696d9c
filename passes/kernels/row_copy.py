"""Concatenation of rows: each row of the result is made of parts of the rows of its operands.

The sizes are arguments, so that one kernel copies for all concatenations and slices of so many
operands. A workgroup copies segments of rows, in whole vectors; the last one overlaps the one
before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter

BYTES = 1 << 14
"""Bytes that a workgroup copies, at least: waking a thread costs as much."""
WORKGROUPS_PER_THREAD = 4
_SEGMENT_BYTES = 1 << 14
"""Bytes of a segment of a row."""
_VECTOR_BYTES = 64


@dataclass(frozen=True)
class RowPart:
    """The elements of a row of `memory` that become elements of the result: `length` from `offset`
    on. Its rows are `stride` elements apart."""

    memory: ir.Value
    stride: ir.Value
    offset: ir.Value
    length: ir.Value


class RowCopyEmitter(VectorEmitter):
    """Emits the kernel, for elements of `itemsize` bytes."""

    def __init__(self, itemsize: int, parts: Sequence[RowPart], result: ir.Value):
        super().__init__(_VECTOR_BYTES // itemsize, ir.MemRefType(result.type).element_type)
        self._parts, self._result = parts, result
        self._segment = _SEGMENT_BYTES // itemsize
        self._starts = [self.index(0)]
        for part in parts:
            self._starts.append(arith.addi(self._starts[-1], part.length))

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`."""
        total = self._starts[-1]
        segments = arith.ceildivui(total, self.index(self._segment))
        units = arith.muli(rows, segments)
        first = arith.divui(arith.muli(workgroup_id, units), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), units), count)

        def unit(number: ir.Value) -> None:
            row, segment = arith.divui(number, segments), arith.remui(number, segments)
            column = self.times(segment, self._segment)
            end = arith.minui(self.add(column, self._segment), total)
            for part, start in zip(self._parts, self._starts, strict=False):
                self._copy(part, row, start, column, end)

        self.repeat(first, behind, unit)

    def _copy(
        self, part: RowPart, row: ir.Value, start: ir.Value, column: ir.Value, end: ir.Value
    ) -> None:
        """Copy what `part`, at column `start`, has in the columns from `column` to `end`."""
        low = arith.maxui(column, start)
        high = arith.maxui(arith.minui(end, arith.addi(start, part.length)), low)
        size = arith.subi(high, low)
        within = arith.addi(part.offset, arith.subi(low, start))
        source = arith.addi(arith.muli(row, part.stride), within)
        target = arith.addi(arith.muli(row, self._starts[-1]), low)

        def vector(at: ir.Value) -> None:
            loaded = self.load(part.memory, arith.addi(source, at))
            self.store(loaded, self._result, arith.addi(target, at))

        def vectors() -> None:
            last = self.add(size, -self.lanes)

            def each(at: ir.Value, registers: Registers) -> Registers:
                vector(at)
                return registers

            self.loop((self.index(0), last), [], each, self.lanes)
            vector(last)

        def element(at: ir.Value) -> None:
            loaded = memref.load(part.memory, [arith.addi(source, at)])
            memref.store(loaded, self._result, [arith.addi(target, at)])

        fills_vector = self.compare(arith.CmpIPredicate.uge, size, self.lanes)
        self.choose(fills_vector, vectors, lambda: self.repeat(self.index(0), size, element))
