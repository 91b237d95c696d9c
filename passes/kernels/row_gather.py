"""Gather of whole rows: the rows of a tensor at computed positions, in vectors."""

from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .row_copies import RowCopyEmitter

BYTES = 1 << 14
"""Bytes that a workgroup moves, at least: waking a thread costs as much."""
WORKGROUPS_PER_THREAD = 4


@dataclass(frozen=True)
class RowGatherSizes:
    """The sizes of a gather: `count` rows of `length` elements, from `extent` rows, in each of
    `outer` tensors."""

    outer: ir.Value
    extent: ir.Value
    count: ir.Value
    length: ir.Value


class RowGatherEmitter(RowCopyEmitter):
    """Emits the kernel: row `n` of the result is that of `source` at the position `indices[n]`, or
    zeros if there is none."""

    def __init__(
        self,
        vector_bits: int,
        sizes: RowGatherSizes,
        is_unsigned: bool,
        source: ir.Value,
        indices: ir.Value,
        target: ir.Value,
    ):
        """Unless the indices are unsigned, negative ones count from the end."""
        super().__init__(vector_bits, source, target)
        self.sizes, self.is_unsigned, self.indices = sizes, is_unsigned, indices

    def workgroup(self, workgroup_id: ir.Value, workgroups: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `workgroups`, which gathers its share of the rows."""
        rows = arith.muli(self.sizes.outer, self.sizes.count)
        first = arith.divui(arith.muli(workgroup_id, rows), workgroups)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), rows), workgroups)
        self.repeat(first, behind, self._row)

    def _row(self, row: ir.Value) -> None:
        sizes = self.sizes
        outer = arith.divui(row, sizes.count)
        number = arith.subi(row, arith.muli(outer, sizes.count))
        position = self._position(memref.load(self.indices, [number]))
        inside = arith.cmpi(arith.CmpIPredicate.ult, position, sizes.extent)
        before = arith.muli(outer, sizes.extent)
        source = arith.muli(arith.addi(before, position), sizes.length)
        target = arith.muli(row, sizes.length)

        def clear() -> None:
            element = ir.MemRefType(self.target.type).element_type
            zero = arith.constant(element, ir.IntegerAttr.get(element, 0))

            def store(at: ir.Value) -> None:
                memref.store(zero, self.target, [arith.addi(target, at)])

            self.repeat(self.index(0), sizes.length, store)

        self.choose(inside, lambda: self.copy(source, target, sizes.length), clear)

    def _position(self, index: ir.Value) -> ir.Value:
        """The position that `index` refers to, from the front, possibly out of range."""
        if self.is_unsigned:
            return arith.index_castui(ir.IndexType.get(), index)
        position = arith.index_cast(ir.IndexType.get(), index)
        negative = arith.cmpi(arith.CmpIPredicate.slt, position, self.index(0))
        return arith.select(negative, arith.addi(position, self.sizes.extent), position)
