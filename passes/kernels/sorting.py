"""Selection and sorting of rows of keys.

The first `k` of `n` keys, in order, equal ones in the order of their positions. Keys are unsigned
integers, and smaller ones come first.

Few keys, or few of many, are inserted into a sorted list. Otherwise candidates, those that come
before the last of the best keys so far, are collected. Whenever there are three times as many as
are wanted they are sorted by radix, 8 bits at a time (D. Knuth, "The Art of Computer Programming",
vol. 3, 5.2.5), and the first are kept. Digits that all of them share take no pass. The time is
proportional to ``n``, whatever the keys are. Vectors compare blocks of keys with the last of the
best ones; only those that come before it are visited.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Dim, maximum, minimum
from ...mlir import arith, ir, math, memref, scf, vector
from .emitter import Registers, VectorEmitter
from .loops import while_

DIGITS = 256
"""Values of a digit of a key."""
_DIGIT_BITS = 8
_FEW_WANTED, _FEW_KEYS = 16, 32
"""Elements wanted, or keys given, up to which insertion is faster."""
_VECTORS = 4
"""Vectors of a block, which is skipped if none of its keys is among the best."""
_LEAST = 128
"""A sort takes as long as for these even if there are fewer."""


def capacity_of(count: int | Dim, wanted: int | Dim) -> int | Dim:
    """Candidates that a workgroup has scratch memory for, twice."""
    return minimum(count, maximum(wanted * 3, _LEAST))


@dataclass(frozen=True)
class RowSelection:
    """The kernel that writes the positions of the first elements of rows.

    Their keys have `bits` bits; `key` emits that of an element.
    """

    bits: int
    key: Callable[[ir.Value], ir.Value]
    lanes: int = 1
    """Elements of vectors of which `key` emits that of keys, too; 1 if it does not."""
    is_limited: bool = False
    """Each row has a limit of its own for the elements wanted, with -1 behind them."""

    def write(
        self,
        workgroup: ir.Value,
        workgroups: ir.Value,
        rows: ir.Value,
        count: ir.Value,
        wanted: ir.Value,
        capacity: ir.Value,
        elements: ir.Value,
        *memory: ir.Value,
    ) -> None:
        """Emit one of `workgroups`.

        `elements` are rows by count. The rest of `memory` is `limits` (i64, one for each row), if
        it `is_limited`; `order`, rows by wanted (i64); and for each workgroup twice `capacity` (see
        `capacity_of`) `keys` and `positions` (i32), and `DIGITS` `counters` (i32).
        """
        limits = memory[0] if self.is_limited else None
        order, *scratch = memory[1:] if self.is_limited else memory
        row = _Row(self, count, wanted, capacity, elements, order, _Candidates(*scratch))
        row.workgroup(workgroup, rows, workgroups, limits)


@dataclass(frozen=True)
class _Candidates:
    """Scratch memory of all workgroups."""

    keys: ir.Value
    positions: ir.Value
    counters: ir.Value


class _Row:
    """Emits the code for the rows of one workgroup."""

    def __init__(
        self,
        kernel: RowSelection,
        count: ir.Value,
        wanted: ir.Value,
        capacity: ir.Value,
        elements: ir.Value,
        order: ir.Value,
        scratch: _Candidates,
    ):
        self.emit, self.lanes = VectorEmitter(1), kernel.lanes
        self.bits, self.key = kernel.bits, ir.IntegerType.get_signless(kernel.bits)
        self.count, self.wanted, self.capacity = count, wanted, capacity
        self.key_of, self.elements, self.order = kernel.key, elements, order
        self.keys, self.positions = scratch.keys, scratch.positions
        self.counters = scratch.counters
        self.zero, self.one = self.emit.index(0), self.emit.index(1)

    def workgroup(
        self, workgroup: ir.Value, rows: ir.Value, workgroups: ir.Value, limits: ir.Value | None
    ) -> None:
        self.base = arith.muli(workgroup, self._twice(self.capacity))
        self.first_counter = arith.muli(workgroup, self.emit.index(DIGITS))
        room, capacity = self.wanted, self.capacity
        self.room = capacity
        loop = scf.ForOp(workgroup, rows, workgroups, [])
        with ir.InsertionPoint(loop.body):
            row = loop.induction_variable
            start, target = arith.muli(row, self.count), arith.muli(row, room)
            if limits is not None:
                limit = arith.maxsi(self._load(limits, row, self.zero), self._i64(0))
                limit = arith.index_cast(ir.IndexType.get(), limit)
                self.wanted = arith.minui(limit, room)
                enough = arith.maxui(self.emit.times(self.wanted, 3), self.emit.index(_LEAST))
                self.capacity = arith.minui(capacity, enough)
            few = arith.ori(
                self._below(self.wanted, self.emit.index(_FEW_WANTED + 1)),
                self._below(self.count, self.emit.index(_FEW_KEYS + 1)),
            )
            self.emit.choose(
                few,
                lambda: self._store(self._inserted(start), target),
                lambda: self._store(self._sorted_by_radix(start), target),
            )
            none = self._i64(-1)
            self.emit.repeat(self.wanted, room, lambda i: self._save(none, self.order, target, i))
            scf.YieldOp([])

    def _store(self, source: ir.Value, target: ir.Value) -> None:
        """Write the positions wanted, which scratch memory holds from `source` on."""
        i64 = ir.IntegerType.get_signless(64)

        def store(i: ir.Value) -> None:
            position = self._load(self.positions, source, i)
            self._save(arith.extui(i64, position), self.order, target, i)

        self.emit.repeat(self.zero, self.wanted, store)

    # Insertion

    def _inserted(self, start: ir.Value) -> ir.Value:
        """Where the list begins in scratch memory."""
        nothing = self._equal(self.wanted, self.zero)
        candidates = arith.select(nothing, self.zero, self.count)
        last = arith.select(nothing, self.zero, arith.subi(self.wanted, self.one))

        def offer(i: ir.Value, length: ir.Value) -> Registers:
            key = self._key(start, i)
            worst = self._load(self.keys, self.base, last)
            is_filled = arith.cmpi(arith.CmpIPredicate.uge, length, self.wanted)
            enters = arith.ori(self._below(length, self.wanted), self._less(key, worst))

            def insert() -> Registers:
                return [self._insert(i, key, length, last)]

            (length,) = self.emit.when(enters, insert, [length])
            return [self._next(start, i, candidates, is_filled, worst), length]

        while_([self.zero, self.zero], lambda i, length: self._below(i, candidates), offer)
        return self.base

    def _next(
        self, start: ir.Value, i: ir.Value, end: ir.Value, skips: ir.Value, worst: ir.Value
    ) -> ir.Value:
        """The position behind `i`. If `skips`, and that begins a block of some vectors, the first
        one of a block in which a key is less than `worst`, or of the last."""
        behind = arith.addi(i, self.one)
        if self.lanes == 1:
            return behind
        size = self.lanes * _VECTORS
        begins = self._equal(arith.andi(behind, self.emit.index(size - 1)), self.zero)
        worst_of_all = vector.broadcast(ir.VectorType.get([self.lanes], self.key), worst)
        element = ir.MemRefType(self.elements.type).element_type
        read = ir.VectorType.get([self.lanes], element)

        def holds_none(at: ir.Value) -> ir.Value:
            enters: ir.Value | None = None
            for part in range(_VECTORS):
                place = arith.addi(arith.addi(start, at), self.emit.index(part * self.lanes))
                keys = self.key_of(vector.load(read, self.elements, [place]))
                less = self._less(keys, worst_of_all)
                enters = less if enters is None else arith.ori(enters, less)
            assert enters is not None
            i1 = ir.IntegerType.get_signless(1)
            some = vector.reduction(i1, vector.CombiningKind.OR, enters)
            return arith.xori(some, arith.constant(i1, 1))

        def is_useless(at: ir.Value) -> ir.Value:
            fits = arith.cmpi(arith.CmpIPredicate.ule, arith.addi(at, self.emit.index(size)), end)
            i1 = ir.IntegerType.get_signless(1)
            return self.emit.branch(
                fits, [i1], lambda: [holds_none(at)], lambda: [arith.constant(i1, 0)]
            )[0]

        def skip() -> Registers:
            return while_([behind], is_useless, lambda at: [arith.addi(at, self.emit.index(size))])

        return self.emit.when(arith.andi(skips, begins), skip, [behind])[0]

    def _insert(self, i: ir.Value, key: ir.Value, length: ir.Value, last: ir.Value) -> ir.Value:
        """Insert `key`, of position `i`, after those that are not greater; the new length."""

        def goes_on(slot: ir.Value) -> ir.Value:
            before = arith.subi(arith.maxui(slot, self.one), self.one)
            greater = self._less(key, self._load(self.keys, self.base, before))
            return arith.andi(greater, arith.cmpi(arith.CmpIPredicate.ne, slot, self.zero))

        def move(slot: ir.Value) -> Registers:
            before = arith.subi(slot, self.one)
            for memory in (self.keys, self.positions):
                self._save(self._load(memory, self.base, before), memory, self.base, slot)
            return [before]

        (slot,) = while_([arith.minui(length, last)], goes_on, move)
        self._save(key, self.keys, self.base, slot)
        self._save(self._position(i), self.positions, self.base, slot)
        return arith.minui(arith.addi(length, self.one), self.wanted)

    # Radix sort

    def _sorted_by_radix(self, start: ir.Value) -> ir.Value:
        """Where the positions begin in scratch memory."""
        reader = _BlockReader(self, start) if self.lanes > 1 else _ElementReader(self, start)
        state = [*reader.first, self.zero, self.base, self._number(0), self._flag(1)]
        count = len(reader.first)

        def is_left(*state: ir.Value) -> ir.Value:
            return reader.is_left(*state[:count])

        def select(*state: ir.Value) -> Registers:
            place, (length, source, worst, all_enter) = state[:count], state[count:]

            def has_room(*state: ir.Value) -> ir.Value:
                return arith.andi(is_left(*state), self._below(state[-1], self.capacity))

            def offer(*state: ir.Value) -> Registers:
                def save(i: ir.Value, length: ir.Value) -> None:
                    self._save(self._key(start, i), self.keys, source, length)
                    self._save(self._position(i), self.positions, source, length)

                return reader.offer(state[:count], state[-1], worst, all_enter, save)

            *place, length = while_([*place, length], has_room, offer)
            source = self._sort(length, source)
            length = arith.minui(length, self.wanted)
            worst = self._load(self.keys, source, arith.subi(length, self.one))
            return [*place, length, source, worst, self._below(length, self.wanted)]

        return while_(state, is_left, select)[count + 1]

    def _sort(self, length: ir.Value, source: ir.Value) -> ir.Value:
        """Sort the candidates, which begin at `source` in scratch memory; where they begin then."""
        first = self._load(self.keys, source, self.zero)

        def compare(i: ir.Value, state: Registers) -> Registers:
            key = self._load(self.keys, source, i)
            return [arith.ori(state[0], arith.xori(key, first))]

        (differing,) = self.emit.loop((self.zero, length), [self._number(0)], compare)
        for shift in range(0, self.bits, _DIGIT_BITS):
            amount = self._number(shift)
            digit = arith.andi(arith.shrui(differing, amount), self._number(DIGITS - 1))

            def sort(amount: ir.Value = amount, source: ir.Value = source) -> Registers:
                other = arith.subi(arith.addi(self._twice(self.base), self.room), source)
                self._pass(length, amount, source, other)
                return [other]

            is_used = arith.cmpi(arith.CmpIPredicate.ne, digit, self._number(0))
            (source,) = self.emit.when(is_used, sort, [source])
        return source

    def _pass(self, length: ir.Value, shift: ir.Value, source: ir.Value, target: ir.Value) -> None:
        """Move the keys from `source` to `target`, sorted by the digit at `shift`."""
        self._clear_counters()

        def slot_of(key: ir.Value) -> ir.Value:
            digit = arith.andi(arith.shrui(key, shift), self._number(DIGITS - 1))
            return self._index(digit)

        def add(i: ir.Value) -> None:
            digit = slot_of(self._load(self.keys, source, i))
            count = self._load(self.counters, self.first_counter, digit)
            self._save(self._plus_one(count), self.counters, self.first_counter, digit)

        def begin(i: ir.Value, state: Registers) -> Registers:
            count = self._load(self.counters, self.first_counter, i)
            self._save(state[0], self.counters, self.first_counter, i)
            return [arith.addi(state[0], count)]

        def move(i: ir.Value) -> None:
            key, position = (self._load(each, source, i) for each in (self.keys, self.positions))
            digit = slot_of(key)
            at = self._load(self.counters, self.first_counter, digit)
            self._save(self._plus_one(at), self.counters, self.first_counter, digit)
            self._save(key, self.keys, target, self._index(at))
            self._save(position, self.positions, target, self._index(at))

        self.emit.repeat(self.zero, length, add)
        self.emit.loop((self.zero, self.emit.index(DIGITS)), [self._counter(0)], begin)
        self.emit.repeat(self.zero, length, move)

    def _clear_counters(self) -> None:
        self.emit.repeat(
            self.zero, self.emit.index(DIGITS),
            lambda i: self._save(self._counter(0), self.counters, self.first_counter, i),
        )  # fmt: skip

    # Elements

    def _key(self, start: ir.Value, i: ir.Value) -> ir.Value:
        return self.key_of(self._load(self.elements, start, i))

    def _load(self, memory: ir.Value, start: ir.Value, i: ir.Value) -> ir.Value:
        return memref.load(memory, [arith.addi(start, i)])

    def _save(self, value: ir.Value, memory: ir.Value, start: ir.Value, i: ir.Value) -> None:
        memref.store(value, memory, [arith.addi(start, i)])

    @staticmethod
    def _i64(value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(64), value)

    @staticmethod
    def _flag(value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(1), value)

    def _number(self, value: int) -> ir.Value:
        return arith.constant(self.key, value)

    def _counter(self, value: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(32), value)

    def _plus_one(self, counter: ir.Value) -> ir.Value:
        return arith.addi(counter, self._counter(1))

    def _position(self, i: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IntegerType.get_signless(32), i)

    def _index(self, value: ir.Value) -> ir.Value:
        return arith.index_castui(ir.IndexType.get(), value)

    def _less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.ult, a, b)

    _below = _less

    def _twice(self, x: ir.Value) -> ir.Value:
        return arith.addi(x, x)

    def _equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.eq, a, b)


_Save = Callable[[ir.Value, ir.Value], None]
"""Emits the storage of the candidate at a position as that of a number."""


class _ElementReader:
    """Reads a row from `start` on element by element. The state is the position."""

    def __init__(self, row: _Row, start: ir.Value):
        self.row, self.start, self.first = row, start, [row.zero]

    def is_left(self, i: ir.Value) -> ir.Value:
        return self.row._below(i, self.row.count)

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
        enters = arith.ori(all_enter, row._less(row._key(self.start, i), worst))
        more = arith.select(enters, row.one, row.zero)
        return [arith.addi(i, row.one), arith.addi(length, more)]


class _BlockReader:
    """Reads a row from `start` on in blocks of some vectors, of which it visits what is before the
    last of the best elements.

    The state is where the next block begins, where this one does, and a bit for each element of it
    that is to be visited. Those found before a sort may no longer be among the best; they are
    dropped at the next one.
    """

    def __init__(self, row: _Row, start: ir.Value):
        self.row, self.start = row, start
        self.size = row.lanes * _VECTORS
        self.bits = ir.IntegerType.get_signless(self.size)
        self.first = [row.zero, row.zero, self._bits(0)]

    def is_left(self, behind: ir.Value, block: ir.Value, bits: ir.Value) -> ir.Value:
        del block
        return arith.ori(self._some(bits), self.row._below(behind, self.row.count))

    def offer(
        self,
        place: Sequence[ir.Value],
        length: ir.Value,
        worst: ir.Value,
        all_enter: ir.Value,
        save: _Save,
    ) -> Registers:
        """Save the next element to be visited, if there is one; the next state and length."""
        row = self.row

        def is_needed(behind: ir.Value, block: ir.Value, bits: ir.Value) -> ir.Value:
            del block
            none = arith.xori(self._some(bits), row._flag(1))
            return arith.andi(none, row._below(behind, row.count))

        def refill(behind: ir.Value, block: ir.Value, bits: ir.Value) -> Registers:
            del block, bits
            found = self._visited(behind, worst, all_enter)
            return [row.emit.add(behind, self.size), behind, found]

        behind, block, bits = while_(place, is_needed, refill)

        def visit() -> Registers:
            first = arith.index_cast(ir.IndexType.get(), math.cttz(bits))
            save(arith.addi(block, first), length)
            rest = arith.andi(bits, arith.subi(bits, self._bits(1)))
            return [rest, arith.addi(length, row.one)]

        bits, length = row.emit.when(self._some(bits), visit, [bits, length])
        return [behind, block, bits, length]

    def _visited(self, at: ir.Value, worst: ir.Value, all_enter: ir.Value) -> ir.Value:
        """The bits of the elements from `at` on that are before `worst`, or of all."""
        row = self.row
        left = arith.subi(row.count, at)
        all_worst = vector.broadcast(ir.VectorType.get([row.lanes], row.key), worst)
        element = ir.MemRefType(row.elements.type).element_type
        read = ir.VectorType.get([row.lanes], element)
        nothing = arith.constant(read, ir.DenseElementsAttr.get_splat(read, _zero(element)))
        flags = vector.broadcast(
            ir.VectorType.get([row.lanes], ir.IntegerType.get_signless(1)), all_enter
        )
        found = self._bits(0)
        for part in range(_VECTORS):
            skipped = row.emit.index(part * row.lanes)
            rest = arith.subi(left, arith.minui(left, skipped))
            mask = vector.create_mask(flags.type, [rest])
            place = arith.addi(arith.addi(self.start, at), skipped)
            keys = row.key_of(vector.maskedload(read, row.elements, [place], mask, nothing))
            enters = arith.andi(arith.ori(row._less(keys, all_worst), flags), mask)
            packed = ir.IntegerType.get_signless(row.lanes)
            number = vector.bitcast(ir.VectorType.get([1], packed), enters)
            wide = arith.extui(self.bits, vector.extract(number, [], [0]))
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
