"""Readers of a row that save its candidates, the elements before the last of the best ones."""

from collections.abc import Callable, Sequence

import numpy as np

from ...mlir import arith, ir, math, vector
from .emitter import Registers
from .loops import while_
from .selected_row import BLOCK_VECTORS, SelectedRow

_Save = Callable[[ir.Value, ir.Value], None]
"""Emits the storage of the candidate at a position as that of a number."""


class ElementReader:
    """Reads a row from `start` on element by element. The state is the position."""

    def __init__(self, row: SelectedRow, start: ir.Value):
        self.row, self.start, self.first = row, start, [row.zero]

    def is_left(self, i: ir.Value) -> ir.Value:
        return self.row.below(i, self.row.count)

    @staticmethod
    def fill(
        place: Sequence[ir.Value], source: ir.Value, length: ir.Value, all_enter: ir.Value
    ) -> Registers:
        """See `BlockReader`; this one has no blocks."""
        del source, all_enter
        return [*place, length]

    def offer(
        self,
        place: Sequence[ir.Value],
        length: ir.Value,
        worst: ir.Value,
        all_enter: ir.Value,
        save: _Save,
    ) -> Registers:
        """Save an element as candidate `length`; the next state, and the new length: it is one more
        if the element is before `worst`, or if `all_enter`."""
        (i,), row = place, self.row
        save(i, length)
        enters = arith.ori(all_enter, row.less(row.key_at(self.start, i), worst))
        more = arith.select(enters, row.one, row.zero)
        return [arith.addi(i, row.one), arith.addi(length, more)]


class BlockReader:
    """Reads a row from `start` on in blocks of some vectors, of which it visits what is before the
    last of the best elements.

    The state is where the next block begins, where this one does, and a bit for each element of it
    that is to be visited. Those found before a sort may no longer be among the best; they are
    dropped at the next one.
    """

    def __init__(
        self,
        row: SelectedRow,
        start: ir.Value,
        vectors: int = BLOCK_VECTORS,
        begin: ir.Value | None = None,
    ):
        """The first block, of so many `vectors`, is at position `begin`, if it is not 0."""
        self.row, self.start, self.vectors = row, start, vectors
        self.size = row.lanes * vectors
        self.bits = ir.IntegerType.get_signless(self.size)
        begin = row.zero if begin is None else begin
        self.first = [begin, begin, self._bits(0)]

    def is_left(self, behind: ir.Value, block: ir.Value, bits: ir.Value) -> ir.Value:
        del block
        return arith.ori(self._some(bits), self.row.below(behind, self.row.count))

    def fill(
        self, place: Sequence[ir.Value], source: ir.Value, length: ir.Value, all_enter: ir.Value
    ) -> Registers:
        """Save whole blocks as candidates, from `source` on in scratch memory, as long as there is
        room, if `all_enter`; the next state and length."""
        row = self.row

        def has_room(behind: ir.Value, length: ir.Value) -> ir.Value:
            room = row.below(row.emit.add(length, self.size - 1), row.capacity)
            left = row.below(row.emit.add(behind, self.size - 1), row.count)
            return arith.andi(all_enter, arith.andi(room, left))

        def block(behind: ir.Value, length: ir.Value) -> Registers:
            for part in range(self.vectors):
                at = row.emit.add(behind, part * row.lanes)
                self._save_vector(at, arith.addi(source, row.emit.add(length, part * row.lanes)))
            return [row.emit.add(behind, self.size), row.emit.add(length, self.size)]

        behind, *others = place
        behind, length = while_([behind, length], has_room, block)
        return [behind, *others, length]

    def _save_vector(self, at: ir.Value, to: ir.Value) -> None:
        """Save the elements of a vector at position `at` as candidates at `to`."""
        row, i32 = self.row, ir.IntegerType.get_signless(32)
        element = ir.MemRefType(row.elements.type).element_type
        read = vector.load(
            ir.VectorType.get([row.lanes], element), row.elements, [arith.addi(self.start, at)]
        )
        vector.store(row.key_of(read), row.keys, [to])
        type_ = ir.VectorType.get([row.lanes], i32)
        each = np.arange(row.lanes, dtype=np.int32)
        numbers = arith.constant(type_, ir.DenseElementsAttr.get(each, type=type_))
        first = vector.broadcast(type_, row.position(at))
        vector.store(arith.addi(first, numbers), row.positions, [to])

    def offer(
        self,
        place: Sequence[ir.Value],
        length: ir.Value,
        worst: ir.Value,
        all_enter: ir.Value,
        save: _Save,
    ) -> Registers:
        """Save the next element to be visited, if there is one; the next state and length."""

        def visit(i: ir.Value) -> Registers:
            save(i, length)
            return [arith.addi(length, self.row.one)]

        return self.advance(place, worst, all_enter, visit, [length])

    def advance(
        self,
        place: Sequence[ir.Value],
        worst: ir.Value,
        all_enter: ir.Value,
        visit: Callable[[ir.Value], Registers],
        held: Registers,
    ) -> Registers:
        """Emit `visit` of the position of the next element to be visited, if there is one; the next
        state, and what `visit` makes of the registers `held`."""
        row = self.row

        def is_needed(behind: ir.Value, block: ir.Value, bits: ir.Value) -> ir.Value:
            del block
            none = arith.xori(self._some(bits), row.flag(1))
            return arith.andi(none, row.below(behind, row.count))

        def refill(behind: ir.Value, block: ir.Value, bits: ir.Value) -> Registers:
            del block, bits
            found = self._visited(behind, worst, all_enter)
            return [row.emit.add(behind, self.size), behind, found]

        behind, block, bits = while_(place, is_needed, refill)

        def next_() -> Registers:
            first = arith.index_cast(ir.IndexType.get(), math.cttz(bits))
            rest = arith.andi(bits, arith.subi(bits, self._bits(1)))
            return [rest, *visit(arith.addi(block, first))]

        bits, *held = row.emit.when(self._some(bits), next_, [bits, *held])
        return [behind, block, bits, *held]

    def _visited(self, at: ir.Value, worst: ir.Value, all_enter: ir.Value) -> ir.Value:
        """The bits of the elements from `at` on that are before `worst`, or of all."""
        row = self.row
        left = arith.subi(row.count, at)
        all_worst = vector.broadcast(ir.VectorType.get([row.lanes], row.key_type), worst)
        element = ir.MemRefType(row.elements.type).element_type
        read = ir.VectorType.get([row.lanes], element)
        nothing = arith.constant(read, ir.DenseElementsAttr.get_splat(read, _zero(element)))
        flags = vector.broadcast(
            ir.VectorType.get([row.lanes], ir.IntegerType.get_signless(1)), all_enter
        )
        found = self._bits(0)
        for part in range(self.vectors):
            skipped = row.emit.index(part * row.lanes)
            rest = arith.subi(left, arith.minui(left, skipped))
            mask = vector.create_mask(flags.type, [rest])
            place = arith.addi(arith.addi(self.start, at), skipped)
            keys = row.key_of(vector.maskedload(read, row.elements, [place], mask, nothing))
            enters = arith.andi(arith.ori(row.less(keys, all_worst), flags), mask)
            packed = ir.IntegerType.get_signless(row.lanes)
            number = vector.bitcast(ir.VectorType.get([1], packed), enters)
            number = vector.extract(number, [], [0])
            if self.vectors == 1:
                return number
            wide = arith.extui(self.bits, number)
            found = arith.ori(found, arith.shli(wide, self._bits(part * row.lanes)))
        return found

    def _some(self, bits: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.ne, bits, self._bits(0))

    def _bits(self, value: int) -> ir.Value:
        return arith.constant(self.bits, value)


def _zero(element: ir.Type) -> ir.Attribute:
    if isinstance(element, ir.IntegerType):
        return ir.IntegerAttr.get(element, 0)
    return ir.FloatAttr.get(element, 0.0)
