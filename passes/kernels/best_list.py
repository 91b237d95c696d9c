"""The few first elements of a long row, in a sorted list that stays in registers.

Vectors compare keys with the last of the list. Those that come before it are inserted by comparing
and shifting all of the list at once: where a loop over it ends would be mispredicted each time.
"""

from dataclasses import dataclass

from ...mlir import arith, ir, math, vector
from .candidates import BlockReader
from .emitter import Registers
from .loops import while_
from .selected_row import SelectedRow

LIST = 16
"""Elements of the list."""
_INDICES = range(LIST)


def write_first_of_row(row: SelectedRow, start: ir.Value, target: ir.Value) -> None:
    """Write the positions wanted, at most `LIST`, of the row that begins at `start`."""
    best, emit = _BestList(row), row.emit

    def fill(i: ir.Value, held: Registers) -> Registers:
        return best.insert(held, start, i, filled=i)

    held = emit.loop((row.zero, row.wanted), best.empty(), fill)
    nothing = row.equal(row.wanted, row.zero)
    reader = BlockReader(row, start, vectors=1, begin=arith.select(nothing, row.count, row.wanted))
    places = len(reader.first)

    def is_left(*state: ir.Value) -> ir.Value:
        return reader.is_left(*state[:places])

    def step(*state: ir.Value) -> Registers:
        place, held, worst = state[:places], list(state[places:-1]), state[-1]

        def visit(i: ir.Value) -> Registers:
            changed = best.insert(held, start, i, filled=row.wanted)
            return [*changed, best.last(changed)]

        return reader.advance(place, worst, row.flag(0), visit, [*held, worst])

    state = [*reader.first, *held, best.last(held)]
    _, positions = while_(state, is_left, step)[places : places + 2]
    best.store(positions, target)


@dataclass(frozen=True)
class _BestList:
    """Keys and positions of the elements `row` wants, in order; registers of both."""

    row: SelectedRow

    def empty(self) -> Registers:
        return [self._splat(self.row.number(0)), self._splat(self.row.counter(0))]

    def insert(self, held: Registers, start: ir.Value, i: ir.Value, filled: ir.Value) -> Registers:
        """Insert element `i` behind those of the first `filled` that are not greater. Behind what
        is wanted, anything may be: nobody looks there."""
        row, (keys, positions) = self.row, held
        key = row.key_at(start, i)
        numbers = self._numbers()
        is_filled = arith.cmpi(arith.CmpIPredicate.ult, numbers, self._splat(row.position(filled)))
        goes_before = arith.cmpi(arith.CmpIPredicate.ule, keys, self._splat(key))
        stays = arith.andi(goes_before, is_filled)
        bits = ir.IntegerType.get_signless(LIST)
        mask = vector.extract(vector.bitcast(ir.VectorType.get([1], bits), stays), [], [0])
        place = arith.extui(ir.IntegerType.get_signless(32), math.ctpop(mask))
        is_place = arith.cmpi(arith.CmpIPredicate.eq, numbers, self._splat(place))
        behind = [max(number - 1, 0) for number in _INDICES]

        def changed(old: ir.Value, new: ir.Value) -> ir.Value:
            shifted = vector.shuffle(old, old, behind)
            return arith.select(stays, old, arith.select(is_place, self._splat(new), shifted))

        return [changed(keys, key), changed(positions, row.position(i))]

    def last(self, held: Registers) -> ir.Value:
        """The key of the last element wanted."""
        row = self.row
        at = arith.subi(arith.maxui(row.wanted, row.one), row.one)
        return vector.extract(held[0], [at], [ir.ShapedType.get_dynamic_size()])

    def store(self, positions: ir.Value, target: ir.Value) -> None:
        row = self.row
        wide = ir.VectorType.get([LIST], ir.IntegerType.get_signless(64))
        flags = ir.VectorType.get([LIST], ir.IntegerType.get_signless(1))
        mask = vector.create_mask(flags, [row.wanted])
        vector.maskedstore(row.order, [target], mask, arith.extui(wide, positions))

    def _splat(self, value: ir.Value) -> ir.Value:
        return vector.broadcast(ir.VectorType.get([LIST], value.type), value)

    @staticmethod
    def _numbers() -> ir.Value:
        element = ir.IntegerType.get_signless(32)
        type_ = ir.VectorType.get([LIST], element)
        numbers = [ir.IntegerAttr.get(element, number) for number in _INDICES]
        return arith.constant(type_, ir.DenseElementsAttr.get(numbers, type_))
