"""The first elements of a row by radix sorts of candidates.

Candidates, those that come before the last of the best keys so far, are collected. Whenever there
are three times as many as are wanted they are sorted, 8 bits at a time (D. Knuth, "The Art of
Computer Programming", vol. 3, 5.2.5), and the first are kept. Digits that all of them share take no
pass. The time is proportional to the number of elements, whatever the keys are.
"""

from ...mlir import arith, ir
from .candidates import BlockReader, ElementReader
from .emitter import Registers
from .loops import while_
from .selected_row import DIGITS, SelectedRow

_DIGIT_BITS = 8


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

        *place, length = while_([*place, length], has_room, offer)
        source = _sort(row, length, source)
        length = arith.minui(length, row.wanted)
        last = row.load(row.keys, source, arith.subi(length, row.one))
        lacks = row.below(length, row.wanted)
        if bound is None:
            return [*place, length, source, last, lacks]
        return [*place, length, source, arith.select(lacks, worst, last), all_enter]

    return while_(state, is_left, select)[count + 1]


def _sort(row: SelectedRow, length: ir.Value, source: ir.Value) -> ir.Value:
    """Sort the candidates, which begin at `source` in scratch memory; where they begin then."""
    first = row.load(row.keys, source, row.zero)

    def compare(i: ir.Value, state: Registers) -> Registers:
        key = row.load(row.keys, source, i)
        return [arith.ori(state[0], arith.xori(key, first))]

    (differing,) = row.emit.loop((row.zero, length), [row.number(0)], compare)
    for shift in range(0, row.bits, _DIGIT_BITS):
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
    _clear_counters(row)

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


def _clear_counters(row: SelectedRow) -> None:
    row.emit.repeat(
        row.zero, row.emit.index(DIGITS),
        lambda i: row.save(row.counter(0), row.counters, row.first_counter, i),
    )  # fmt: skip
