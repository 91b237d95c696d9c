"""Gather of single elements: along one axis, at an index for each element of the result."""

from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter

UNROLL = 4
"""Elements that a loop gathers at a time."""


@dataclass(frozen=True)
class ElementGatherSizes:
    """The sizes of a gather from an axis of `extent`, with `count` indices along it, `outer` rows
    before it, and `inner` elements behind it, None if it is the last axis."""

    outer: ir.Value
    extent: ir.Value
    count: ir.Value
    inner: ir.Value | None


class ElementGatherEmitter(VectorEmitter):
    """Emits the kernel; an index that refers to nothing gives zero."""

    def __init__(
        self,
        sizes: ElementGatherSizes,
        is_unsigned: bool,
        source: ir.Value,
        indices: ir.Value,
        target: ir.Value,
    ):
        """Unless the indices are unsigned, negative ones count from the end."""
        super().__init__(1)
        self.sizes, self.is_unsigned = sizes, is_unsigned
        self.source, self.indices, self.target = source, indices, target

    def workgroup(self, workgroup_id: ir.Value, workgroups: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `workgroups`, which gathers its share of the lines of
        the result, along the last of its axes."""
        sizes = self.sizes
        lines = sizes.outer if sizes.inner is None else arith.muli(sizes.outer, sizes.count)
        first = arith.divui(arith.muli(workgroup_id, lines), workgroups)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), lines), workgroups)
        self.repeat(first, behind, self._line)

    def _line(self, line: ir.Value) -> None:
        sizes, inner = self.sizes, self.sizes.inner
        length = sizes.count if inner is None else inner
        row = line if inner is None else arith.divui(line, sizes.count)
        before = arith.muli(row, sizes.extent)
        source = before if inner is None else arith.muli(before, inner)
        target = arith.muli(line, length)
        whole = arith.subi(length, arith.remui(length, self.index(UNROLL)))

        def several(at: ir.Value, registers: Registers) -> Registers:
            self._gather(source, target, [self.add(at, n) for n in range(UNROLL)])
            return registers

        self.loop((self.index(0), whole), [], several, UNROLL)
        self.repeat(whole, length, lambda at: self._gather(source, target, [at]))

    def _gather(self, source: ir.Value, target: ir.Value, positions: Registers) -> None:
        """Gather the elements at `positions` of a line, with all loads before the first store."""
        found = [self._load(source, target, at) for at in positions]
        for at, value in zip(positions, found, strict=True):
            memref.store(value, self.target, [arith.addi(target, at)])

    def _load(self, source: ir.Value, target: ir.Value, at: ir.Value) -> ir.Value:
        inner, zero = self.sizes.inner, self.index(0)
        index = memref.load(self.indices, [arith.addi(target, at)])
        position = self._position(index)
        inside = arith.cmpi(arith.CmpIPredicate.ult, position, self.sizes.extent)
        place = arith.select(inside, position, zero)
        if inner is not None:
            place = arith.addi(arith.muli(place, inner), at)
        value = memref.load(self.source, [arith.addi(source, place)])
        nothing = arith.constant(value.type, ir.IntegerAttr.get(value.type, 0))
        return arith.select(inside, value, nothing)

    def _position(self, index: ir.Value) -> ir.Value:
        """The position that `index` refers to, from the front, possibly out of range."""
        if self.is_unsigned:
            return arith.index_castui(ir.IndexType.get(), index)
        position = arith.index_cast(ir.IndexType.get(), index)
        negative = arith.cmpi(arith.CmpIPredicate.slt, position, self.index(0))
        return arith.select(negative, arith.addi(position, self.sizes.extent), position)
