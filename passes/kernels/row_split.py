"""Parts of short rows, as tensors of their own: columns of a matrix, or a box and its score.

Rows of few elements are moved several at a time: vectors that hold them are shuffled to vectors of
each part. Longer ones are copied one by one, without loops, as all lengths are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .emitter import VectorEmitter

BYTES = 1 << 14
"""Bytes that a workgroup moves, at least: waking a thread costs as much."""
WORKGROUPS_PER_THREAD = 4
LONGEST_ROW = 256
"""Elements of a row whose parts are copied without loops."""
_SHUFFLED_ROW = 8
"""Elements of a row that is taken apart in registers: each vector of a part is made of so many."""


@dataclass(frozen=True)
class RowSplitShape:
    """Parts, each an offset and a length, of rows of `stride` elements."""

    stride: int
    parts: tuple[tuple[int, int], ...]
    lanes: int

    flops = 0


class RowSplitEmitter(VectorEmitter):
    """Emits the kernel, which writes the parts of the rows of `source` to `targets`."""

    def __init__(self, shape: RowSplitShape, source: ir.Value, targets: Sequence[ir.Value]):
        super().__init__(shape.lanes, ir.MemRefType(source.type).element_type)
        self.shape, self.source, self.targets = shape, source, targets

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`."""
        step = self.lanes if self.shape.stride <= _SHUFFLED_ROW else 1
        units = arith.ceildivui(rows, self.index(step))
        first, behind = (
            arith.minui(
                self.times(arith.divui(arith.muli(number, units), count), step), rows
            )
            for number in (workgroup_id, self.add(workgroup_id, 1))
        )  # fmt: skip
        if step == 1:
            self.repeat(first, behind, self._row)
            return
        whole = arith.subi(behind, arith.remui(arith.subi(behind, first), self.index(step)))

        def shuffled(row: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
            self._shuffled(row)
            return registers

        self.loop((first, whole), [], shuffled, step)
        self.repeat(whole, behind, self._row)

    def _shuffled(self, row: ir.Value) -> None:
        """Write the parts of as many rows as there are lanes, from `row` on."""
        stride, rows = self.shape.stride, range(self.lanes)
        loaded = self.load(self.source, self.times(row, stride), lanes=stride * self.lanes)
        for (offset, length), target in zip(self.shape.parts, self.targets, strict=True):
            lanes = [n * stride + offset + at for n in rows for at in range(length)]
            self.store(vector.shuffle(loaded, loaded, lanes), target, self.times(row, length))

    def _row(self, row: ir.Value) -> None:
        """Write the parts of one row: whole vectors, then halves, quarters and so on."""
        start = self.times(row, self.shape.stride)
        for (offset, length), target in zip(self.shape.parts, self.targets, strict=True):
            to, at = self.times(row, length), 0
            while at < length:
                lanes = min(self.lanes, 1 << (length - at).bit_length() - 1)
                self._move(self.add(start, offset + at), target, self.add(to, at), lanes)
                at += lanes

    def _move(self, at: ir.Value, target: ir.Value, to: ir.Value, lanes: int) -> None:
        if lanes == 1:
            memref.store(memref.load(self.source, [at]), target, [to])
        else:
            self.store(self.load(self.source, at, lanes=lanes), target, to)
