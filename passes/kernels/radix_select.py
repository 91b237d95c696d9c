"""The first candidates of a row by their leading digits, without sorting them.

Two histograms, of the 8 leading bits in which keys differ and of the next 8 within one of these
digits, tell by which 16 bits there are as many keys as are wanted. Those behind are dropped.
"""

from collections.abc import Callable

from ...mlir import arith, ir, math
from .emitter import Registers
from .loops import while_
from .selected_row import DIGIT_BITS, DIGITS, SelectedRow

LEADING_BITS = 2 * DIGIT_BITS
LEAST_DROPPED = 64
"""Unwanted candidates from which on dropping them takes less time than sorting them."""


def drop_unwanted(
    row: SelectedRow, source: ir.Value, length: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Drop candidates behind the first ones wanted, of `length` from `source` on in scratch memory.

    Those that are left stay in order; some share their leading digits with the last one wanted.
    Their number, and a key that keys wanted come before, apart from later ones that equal all that
    are left.
    """
    digits = _LeadingDigits(row, source, length)
    last = digits.last_wanted()

    def keep(i: ir.Value, kept: Registers) -> Registers:
        key, position = (row.load(each, source, i) for each in (row.keys, row.positions))
        row.save(key, row.keys, source, kept[0])
        row.save(position, row.positions, source, kept[0])
        stays = arith.cmpi(arith.CmpIPredicate.ule, digits.of(key), last)
        return [arith.addi(kept[0], arith.select(stays, row.one, row.zero))]

    (kept,) = row.emit.loop((row.zero, length), [row.zero], keep)
    return kept, digits.behind(last)


class _LeadingDigits:
    """The `LEADING_BITS` in which `length` keys from `source` on differ."""

    def __init__(self, row: SelectedRow, source: ir.Value, length: ir.Value):
        self.row, self.source, self.length = row, source, length
        differing, both = row.differing_bits(source, length), row.number(LEADING_BITS)
        used = arith.subi(row.number(row.bits), math.ctlz(differing))
        self.shift = arith.subi(arith.maxui(used, both), both)

    def of(self, key: ir.Value) -> ir.Value:
        mask = self.row.number((1 << LEADING_BITS) - 1)
        return arith.andi(arith.shrui(key, self.shift), mask)

    def last_wanted(self) -> ir.Value:
        """The least digits by which as many keys as are wanted come no later."""
        row, eight = self.row, self.row.number(DIGIT_BITS)

        def high(digits: ir.Value) -> tuple[ir.Value, ir.Value]:
            return arith.shrui(digits, eight), row.counter(1)

        first, before = self._digit(high, row.wanted)

        def low(digits: ir.Value) -> tuple[ir.Value, ir.Value]:
            is_within = row.equal(arith.shrui(digits, eight), first)
            digit = arith.andi(digits, row.number(DIGITS - 1))
            return digit, arith.extui(row.counter(0).type, is_within)

        second, _ = self._digit(low, arith.subi(row.wanted, before))
        return arith.ori(arith.shli(first, eight), second)

    def _digit(
        self, digit: Callable[[ir.Value], tuple[ir.Value, ir.Value]], wanted: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """The digit of the last of `wanted` keys, and the number of keys with lower ones. `digit`
        emits that of a key, and 1 if the key counts."""
        row = self.row
        row.clear_counters()

        def add(i: ir.Value) -> None:
            at, one = digit(self.of(row.load(row.keys, self.source, i)))
            count = row.load(row.counters, row.first_counter, row.index(at))
            row.save(arith.addi(count, one), row.counters, row.first_counter, row.index(at))

        row.emit.repeat(row.zero, self.length, add)

        def through(at: ir.Value, before: ir.Value) -> ir.Value:
            return arith.addi(before, row.index(row.load(row.counters, row.first_counter, at)))

        def is_before(at: ir.Value, before: ir.Value) -> ir.Value:
            is_digit = row.below(at, row.emit.index(DIGITS - 1))
            return arith.andi(is_digit, row.below(through(at, before), wanted))

        def step(at: ir.Value, before: ir.Value) -> Registers:
            return [arith.addi(at, row.one), through(at, before)]

        found, before = while_([row.zero, row.zero], is_before, step)
        return arith.index_castui(row.key_type, found), before

    def behind(self, last: ir.Value) -> ir.Value:
        """The key behind all that have the leading digits `last`, or the largest there is."""
        row = self.row
        first = row.load(row.keys, self.source, row.zero)
        above = arith.shrui(arith.shrui(first, self.shift), row.number(LEADING_BITS))
        digits = arith.ori(arith.shli(above, row.number(LEADING_BITS)), last)
        ones = arith.subi(arith.shli(row.number(1), self.shift), row.number(1))
        largest = arith.ori(arith.shli(digits, self.shift), ones)
        following = arith.addi(largest, row.number(1))
        return arith.select(row.equal(following, row.number(0)), largest, following)
