"""Positions of the true elements of a mask, in order."""

from collections.abc import Sequence

from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter


class NonZeroEmitter(VectorEmitter):
    """Emits the kernel: one pass over a mask of bytes, of `extents`.

    `positions` has a row of `count` for each axis. Further true elements are skipped; if there are
    fewer, the rest is 0.
    """

    def __init__(
        self,
        extents: Sequence[ir.Value],
        count: ir.Value,
        mask: ir.Value,
        positions: ir.Value,
    ):
        super().__init__(1)
        self.extents, self.count, self.mask, self.positions = extents, count, mask, positions
        self.false = arith.constant(ir.MemRefType(mask.type).element_type, 0)

    def workgroup(self) -> None:
        """Emit the only workgroup."""
        zero = self.index(0)
        _, found = self._axis([], [zero, zero])
        rest = [zero] * len(self.extents)
        self.repeat(found, self.count, lambda slot: self._store(rest, slot))

    def _axis(self, outer: list[ir.Value], state: Registers) -> Registers:
        """Emit the loops of the axes after `outer`; the state is the number of elements seen, and
        of those that are true."""
        if len(outer) == len(self.extents):
            return self._element(outer, *state)

        def body(position: ir.Value, state: Registers) -> Registers:
            return self._axis([*outer, position], state)

        return self.loop((self.index(0), self.extents[len(outer)]), state, body)

    def _element(self, at: list[ir.Value], seen: ir.Value, found: ir.Value) -> Registers:
        element = memref.load(self.mask, [seen])
        is_true = arith.cmpi(arith.CmpIPredicate.ne, element, self.false)
        has_room = arith.cmpi(arith.CmpIPredicate.ult, found, self.count)

        def store() -> Registers:
            self._store(at, found)
            return [self.add(found, 1)]

        return [self.add(seen, 1), *self.when(arith.andi(is_true, has_room), store, [found])]

    def _store(self, at: list[ir.Value], slot: ir.Value) -> None:
        for axis, position in enumerate(at):
            number = arith.index_cast(ir.IntegerType.get_signless(64), position)
            target = arith.addi(self.times(self.count, axis), slot)
            memref.store(number, self.positions, [target])
