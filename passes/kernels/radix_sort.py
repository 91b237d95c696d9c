"""The first elements of a row by radix sorts of candidates.

Candidates, those that come before the last of the best keys so far, are collected. Whenever there
are three times as many as are wanted, those behind the first are dropped (`radix_select.py`). At
the end, or if too many share their leading digits, they are sorted, 8 bits at a time (D. Knuth,
"The Art of Computer Programming", vol. 3, 5.2.5), and the first are kept. Digits that all of them
share take no pass. The time is proportional to the number of elements, whatever the keys are.
"""

from ...mlir import arith, ir
from .candidates import BlockReader, ElementReader
from .emitter import Registers
from .loops import while_
from .radix_select import LEADING_BITS, LEAST_DROPPED, drop_unwanted
from .selected_row import DIGIT_BITS, DIGITS, SelectedRow


def sort_by_radix(row: SelectedRow, start: ir.Value, bound: ir.Value | None = None) -> ir.Value:
    """Sort the positions wanted in scratch memory; where they begin there. No others are wanted
    than keys less than `bound`, if it is given."""
    reader = BlockReader(row, start) if row.lanes > 1 else ElementReader(row, start)
    worst, all_enter = (row.number(0), row.flag(1)) if bound is None else (bound, row.flag(0))
    state = [*reader.first, row.zero, row.base, worst, all_enter]
    count = len(reader.first)

    def is_left(*state: ir.Value) -> ir.Value:
        return reader.is_left(*state[:count])

    def select(*state: ir.Value) -> Registers:
        place, (length, source, worst, all_enter) = state[:count], state[count:]

        def has_room(*state: ir.Value) -> ir.Value:
            return arith.andi(is_left(*state), row.below(state[-1], row.capacity))

        def offer(*state: ir.Value) -> Registers:
            def save(i: ir.Value, length: ir.Value) -> None:
                row.save(row.key_at(start, i), row.keys, source, length)
                row.save(row.position(i), row.positions, source, length)

            return reader.offer(state[:count], state[-1], worst, all_enter, save)

        if bound is None:
            place = reader.fill(place, source, length, all_enter)
            place, length = place[:-1], place[-1]
        *place, length = while_([*place, length], has_room, offer)
        length, worst, all_enter = _drop(row, source, length, worst, all_enter)
        middle = arith.shrui(arith.addi(row.wanted, row.capacity), row.one)
        is_full = arith.ori(
            row.below(middle, length), arith.xori(is_left(*place, length), row.flag(1))
        )

        def sort() -> Registers:
            moved = _sort(row, length, source)
            first = arith.minui(length, row.wanted)
            last = row.load(row.keys, moved, arith.subi(first, row.one))
            lacks = row.below(first, row.wanted)
            if bound is None:
                return [first, moved, last, lacks]
            return [first, moved, arith.select(lacks, worst, last), all_enter]

        return [*place, *row.emit.when(is_full, sort, [length, source, worst, all_enter])]

    return while_(state, is_left, select)[count + 1]


def _drop(
    row: SelectedRow, source: ir.Value, length: ir.Value, worst: ir.Value, all_enter: ir.Value
) -> Registers:
    """Drop unwanted candidates if there are many: their number then, the key that others must come
    before, and whether all enter."""
    if row.bits <= LEADING_BITS:
        return [length, worst, all_enter]  # so few digits are soon sorted

    def drop() -> Registers:
        kept, behind = drop_unwanted(row, source, length)
        return [
            kept,
            arith.select(all_enter, behind, arith.minui(behind, worst)),
            row.flag(0),
        ]

    are_many = row.below(row.emit.add(row.wanted, LEAST_DROPPED), length)
    return row.emit.when(are_many, drop, [length, worst, all_enter])


def _sort(row: SelectedRow, length: ir.Value, source: ir.Value) -> ir.Value:
    """Sort the candidates, which begin at `source` in scratch memory; where they begin then."""
    differing = row.differing_bits(source, length)
    for shift in range(0, row.bits, DIGIT_BITS):
        amount = row.number(shift)
        digit = arith.andi(arith.shrui(differing, amount), row.number(DIGITS - 1))

        def sort(amount: ir.Value = amount, source: ir.Value = source) -> Registers:
            other = arith.subi(arith.addi(row.twice(row.base), row.room), source)
            _pass(row, length, amount, source, other)
            return [other]

        is_used = arith.cmpi(arith.CmpIPredicate.ne, digit, row.number(0))
        (source,) = row.emit.when(is_used, sort, [source])
    return source


def _pass(
    row: SelectedRow, length: ir.Value, shift: ir.Value, source: ir.Value, target: ir.Value
) -> None:
    """Move the keys from `source` to `target`, sorted by the digit at `shift`."""
    row.clear_counters()

    def slot_of(key: ir.Value) -> ir.Value:
        digit = arith.andi(arith.shrui(key, shift), row.number(DIGITS - 1))
        return row.index(digit)

    def add(i: ir.Value) -> None:
        digit = slot_of(row.load(row.keys, source, i))
        count = row.load(row.counters, row.first_counter, digit)
        row.save(row.plus_one(count), row.counters, row.first_counter, digit)

    def begin(i: ir.Value, state: Registers) -> Registers:
        count = row.load(row.counters, row.first_counter, i)
        row.save(state[0], row.counters, row.first_counter, i)
        return [arith.addi(state[0], count)]

    def move(i: ir.Value) -> None:
        key, position = (row.load(each, source, i) for each in (row.keys, row.positions))
        digit = slot_of(key)
        at = row.load(row.counters, row.first_counter, digit)
        row.save(row.plus_one(at), row.counters, row.first_counter, digit)
        row.save(key, row.keys, target, row.index(at))
        row.save(position, row.positions, target, row.index(at))

    row.emit.repeat(row.zero, length, add)
    row.emit.loop((row.zero, row.emit.index(DIGITS)), [row.counter(0)], begin)
    row.emit.repeat(row.zero, length, move)
