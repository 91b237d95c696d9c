"""A row of keys of which a workgroup selects the first ones, and its scratch memory."""

from collections.abc import Callable

from ...dialects.symbolic import Dim, maximum, minimum
from ...mlir import arith, ir, memref
from .emitter import VectorEmitter

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
"""Values of a digit of a key."""
BLOCK_VECTORS = 4
"""Vectors of a block, which is skipped if none of its keys is among the best."""
LEAST_CAPACITY = 128
"""A sort takes as long as for these even if there are fewer."""


def capacity_of(count: int | Dim, wanted: int | Dim) -> int | Dim:
    """Candidates that a workgroup has scratch memory for, twice."""
    return minimum(count, maximum(wanted * 3, LEAST_CAPACITY))


class SelectedRow:
    """The row that a workgroup is at: `count` elements, of which it selects `wanted`.

    A workgroup has room for twice `capacity` candidates, whose `keys` and `positions` begin at
    `base`, and for `DIGITS` `counters` from `first_counter` on.
    """

    def __init__(
        self,
        workgroup: ir.Value,
        bits: int,
        lanes: int,
        key_of: Callable[[ir.Value], ir.Value],
        sizes: tuple[ir.Value, ir.Value, ir.Value],
        elements: ir.Value,
        order: ir.Value,
        scratch: tuple[ir.Value, ir.Value, ir.Value],
    ):
        """`key_of` emits the key, of `bits` bits, of an element or of `lanes` of them. `sizes` are
        count, wanted and capacity, `scratch` the keys, positions and counters of all workgroups."""
        self.emit, self.lanes = VectorEmitter(1), lanes
        self.bits, self.key_type = bits, ir.IntegerType.get_signless(bits)
        self.count, self.wanted, self.capacity = sizes
        self.key_of, self.elements, self.order = key_of, elements, order
        self.keys, self.positions, self.counters = scratch
        self.zero, self.one = self.emit.index(0), self.emit.index(1)
        self.base = arith.muli(workgroup, self.twice(self.capacity))
        self.first_counter = arith.muli(workgroup, self.emit.index(DIGITS))
        self.room = self.capacity

    def key_at(self, start: ir.Value, i: ir.Value) -> ir.Value:
        return self.key_of(self.load(self.elements, start, i))

    def load(self, memory: ir.Value, start: ir.Value, i: ir.Value) -> ir.Value:
        return memref.load(memory, [arith.addi(start, i)])

    def save(self, value: ir.Value, memory: ir.Value, start: ir.Value, i: ir.Value) -> None:
        memref.store(value, memory, [arith.addi(start, i)])

    @staticmethod
    def i64(value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(64), value)

    @staticmethod
    def flag(value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(1), value)

    def number(self, value: int) -> ir.Value:
        return arith.constant(self.key_type, value)

    def counter(self, value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(32), value)

    def plus_one(self, counter: ir.Value) -> ir.Value:
        return arith.addi(counter, self.counter(1))

    def position(self, i: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IntegerType.get_signless(32), i)

    def index(self, value: ir.Value) -> ir.Value:
        return arith.index_castui(ir.IndexType.get(), value)

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.ult, a, b)

    below = less

    def twice(self, x: ir.Value) -> ir.Value:
        return arith.addi(x, x)

    def equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.eq, a, b)

    def differing_bits(self, source: ir.Value, length: ir.Value) -> ir.Value:
        """The bits in which `length` keys from `source` on in scratch memory are not all equal."""
        first = self.load(self.keys, source, self.zero)

        def compare(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            key = self.load(self.keys, source, i)
            return [arith.ori(state[0], arith.xori(key, first))]

        return self.emit.loop((self.zero, length), [self.number(0)], compare)[0]

    def clear_counters(self) -> None:
        def clear(i: ir.Value) -> None:
            self.save(self.counter(0), self.counters, self.first_counter, i)

        self.emit.repeat(self.zero, self.emit.index(DIGITS), clear)
