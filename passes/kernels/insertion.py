"""The first elements of a row by insertion into a sorted list.

Vectors compare blocks of keys with the last of the best ones so far; only blocks with one that
comes before it are visited.
"""

from ...mlir import arith, ir, vector
from .emitter import Registers
from .loops import while_
from .selected_row import BLOCK_VECTORS, SelectedRow


def insert_in_order(row: SelectedRow, start: ir.Value) -> ir.Value:
    """Insert the positions wanted into a list in scratch memory; where that begins."""
    nothing = row.equal(row.wanted, row.zero)
    candidates = arith.select(nothing, row.zero, row.count)
    last = arith.select(nothing, row.zero, arith.subi(row.wanted, row.one))

    def offer(i: ir.Value, length: ir.Value) -> Registers:
        key = row.key_at(start, i)
        worst = row.load(row.keys, row.base, last)
        is_filled = arith.cmpi(arith.CmpIPredicate.uge, length, row.wanted)
        enters = arith.ori(row.below(length, row.wanted), row.less(key, worst))

        def insert() -> Registers:
            return [_insert(row, i, key, length, last)]

        (length,) = row.emit.when(enters, insert, [length])
        return [_next(row, start, i, candidates, is_filled, worst), length]

    while_([row.zero, row.zero], lambda i, length: row.below(i, candidates), offer)
    return row.base


def _next(
    row: SelectedRow, start: ir.Value, i: ir.Value, end: ir.Value, skips: ir.Value, worst: ir.Value
) -> ir.Value:
    """The position behind `i`. If `skips`, and that begins a block of some vectors, the first
    one of a block in which a key is less than `worst`, or of the last."""
    behind = arith.addi(i, row.one)
    if row.lanes == 1:
        return behind
    size = row.lanes * BLOCK_VECTORS
    begins = row.equal(arith.andi(behind, row.emit.index(size - 1)), row.zero)
    worst_of_all = vector.broadcast(ir.VectorType.get([row.lanes], row.key_type), worst)
    element = ir.MemRefType(row.elements.type).element_type
    read = ir.VectorType.get([row.lanes], element)

    def holds_none(at: ir.Value) -> ir.Value:
        enters: ir.Value | None = None
        for part in range(BLOCK_VECTORS):
            place = arith.addi(arith.addi(start, at), row.emit.index(part * row.lanes))
            keys = row.key_of(vector.load(read, row.elements, [place]))
            less = row.less(keys, worst_of_all)
            enters = less if enters is None else arith.ori(enters, less)
        assert enters is not None
        i1 = ir.IntegerType.get_signless(1)
        some = vector.reduction(i1, vector.CombiningKind.OR, enters)
        return arith.xori(some, arith.constant(i1, 1))

    def is_useless(at: ir.Value) -> ir.Value:
        fits = arith.cmpi(arith.CmpIPredicate.ule, arith.addi(at, row.emit.index(size)), end)
        i1 = ir.IntegerType.get_signless(1)
        return row.emit.branch(
            fits, [i1], lambda: [holds_none(at)], lambda: [arith.constant(i1, 0)]
        )[0]

    def skip() -> Registers:
        return while_([behind], is_useless, lambda at: [arith.addi(at, row.emit.index(size))])

    return row.emit.when(arith.andi(skips, begins), skip, [behind])[0]


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
