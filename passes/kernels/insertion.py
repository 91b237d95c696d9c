"""The first elements of a row of few, or the few first ones without vectors, by insertion into a
sorted list in memory."""

from ...mlir import arith, ir
from .emitter import Registers
from .loops import while_
from .selected_row import SelectedRow


def insert_in_order(row: SelectedRow, start: ir.Value) -> ir.Value:
    """Insert the positions wanted into a list in scratch memory; where that begins."""
    nothing = row.equal(row.wanted, row.zero)
    candidates = arith.select(nothing, row.zero, row.count)
    last = arith.select(nothing, row.zero, arith.subi(row.wanted, row.one))

    def offer(i: ir.Value, length: ir.Value) -> Registers:
        key = row.key_at(start, i)
        worst = row.load(row.keys, row.base, last)
        enters = arith.ori(row.below(length, row.wanted), row.less(key, worst))

        def insert() -> Registers:
            return [_insert(row, i, key, length, last)]

        (length,) = row.emit.when(enters, insert, [length])
        return [arith.addi(i, row.one), length]

    while_([row.zero, row.zero], lambda i, length: row.below(i, candidates), offer)
    return row.base


def _insert(
    row: SelectedRow, i: ir.Value, key: ir.Value, length: ir.Value, last: ir.Value
) -> ir.Value:
    """Insert `key`, of position `i`, after those that are not greater; the new length."""

    def goes_on(slot: ir.Value) -> ir.Value:
        before = arith.subi(arith.maxui(slot, row.one), row.one)
        greater = row.less(key, row.load(row.keys, row.base, before))
        return arith.andi(greater, arith.cmpi(arith.CmpIPredicate.ne, slot, row.zero))

    def move(slot: ir.Value) -> Registers:
        before = arith.subi(slot, row.one)
        for memory in (row.keys, row.positions):
            row.save(row.load(memory, row.base, before), memory, row.base, slot)
        return [before]

    (slot,) = while_([arith.minui(length, last)], goes_on, move)
    row.save(key, row.keys, row.base, slot)
    row.save(row.position(i), row.positions, row.base, slot)
    return arith.minui(arith.addi(length, row.one), row.wanted)
