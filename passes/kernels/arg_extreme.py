"""Positions of the extreme element of each row (ArgMax, ArgMin).

A long row is read in blocks: several vectors accumulate the extreme element of a block, and the
first (or last) block with that of the row is searched for its position. The last vector of a block
ends where the block does, and so overlaps the one before: no vector needs a mask. Of rows that are
shorter than a vector, several are compared at a time, one in each lane.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, math, memref, vector
from .emitter import Registers, VectorEmitter, lanes_of
from .loops import while_
from .reduction import Size

WIDE = 4
"""Vectors that a loop step reads, of rows that have as many."""
_BLOCK = 4096
"""Elements of a block, which stays in the L1 cache until it is searched."""
_SEARCHED_WHOLE = 8
"""Steps of a row up to which it is searched to the end: leaving early takes a branch that cannot be
predicted."""

_SHORT = 16
"""Elements of a row from which it is compared in vectors of its own."""

_I64 = 64


@dataclass(frozen=True)
class ArgShape:
    """`outer` rows of `extent` elements, of which a vector has `lanes`."""

    outer: Size
    extent: Size
    lanes: int


@dataclass(frozen=True)
class ArgOrder:
    """The element of a row to find: the largest or the smallest, and of equal ones the first or
    the last. The first or last NaN comes before all others."""

    is_max: bool
    is_last: bool
    is_unsigned: bool
    initial: float
    """An element that no other is further from being extreme than."""


class ArgEmitter(VectorEmitter):
    """Emits the kernel: positions (i64) in `target` of elements of `source`, which are compared as
    elements of type `wide`."""

    def __init__(
        self,
        shape: ArgShape,
        order: ArgOrder,
        wide: ir.Type,
        value: Callable[[Size], ir.Value],
        source: ir.Value,
        target: ir.Value,
    ):
        super().__init__(shape.lanes, wide)
        self.shape, self.order = shape, order
        self.outer, self.extent = value(shape.outer), value(shape.extent)
        self.source, self.target = source, target
        self.read_type = ir.MemRefType(source.type).element_type
        self.is_float = not isinstance(wide, ir.IntegerType)
        bits = wide.width if isinstance(wide, ir.IntegerType) else ir.FloatType(wide).width
        self.mask_element = ir.IntegerType.get_signless(bits)

    def workgroup(self, first: ir.Value, last: ir.Value) -> None:
        """Emit a workgroup that takes the rows from `first` to before `last`."""
        wide, lanes, extent = self.lanes * WIDE, self.lanes, self.shape.extent
        whole = wide * _SEARCHED_WHOLE
        forms: list[tuple[int, Callable[[], None]]] = [
            (whole + 1, lambda: self._each_row(first, last, wide, True)),
            (wide, lambda: self._each_row(first, last, wide, False)),
            (max(lanes, _SHORT), lambda: self._each_row(first, last, lanes, False)),
            (0, lambda: self._short_rows(first, last)),
        ]
        if isinstance(extent, int):
            next(form for least, form in forms if extent >= least)()
            return

        def choose(number: int) -> None:
            least, form = forms[number]
            if number == len(forms) - 1:
                return form()
            is_long = self.compare(arith.CmpIPredicate.uge, self.extent, least)
            return self.choose(is_long, form, lambda: choose(number + 1))

        choose(0)

    def _each_row(self, first: ir.Value, last: ir.Value, size: int, leaves_early: bool) -> None:
        """Emit the rows one by one, in vectors of `size` elements."""
        search = self._search if leaves_early else self._search_whole

        def row(number: ir.Value) -> None:
            start = arith.muli(number, self.extent)
            end = arith.addi(start, self.extent)
            extreme, block, block_end = self._extreme_of_row(start, end, size)
            at, mask = search(block, block_end, extreme, size)
            place = arith.subi(arith.addi(at, self._lane(mask)), start)
            memref.store(arith.index_cast(self._bits(_I64), place), self.target, [number])

        self.repeat(first, last, row)

    def _extreme_of_row(self, start: ir.Value, end: ir.Value, size: int) -> Registers:
        """The extreme element of a row, NaN if it has one, and the first or last block with it."""
        extent = self.shape.extent
        if size < self.lanes * WIDE or (isinstance(extent, int) and extent <= _BLOCK):
            return [self._extreme_of_block(start, end, size), start, end]
        length = self.index(_BLOCK)

        def block(at: ir.Value, best: Registers) -> Registers:
            block_end = arith.minui(arith.addi(at, length), end)
            found = self._extreme_of_block(at, block_end, size)
            enters = self._enters(found, best[0])
            new = (found, at, block_end)
            return [arith.select(enters, *pair) for pair in zip(new, best, strict=True)]

        nothing = vector.extract(self.splat(self.order.initial, 1), [], [0])
        first_end = arith.minui(arith.addi(start, length), end)
        return self.loop((start, end), [nothing, start, first_end], block, _BLOCK)

    def _extreme_of_block(self, start: ir.Value, end: ir.Value, size: int) -> ir.Value:
        """The extreme element of [`start`, `end`), of at least `size`, or NaN if there is one."""

        def add(at: ir.Value, totals: Registers) -> Registers:
            loaded = self._read(at, size)
            extreme = self._more_extreme(loaded, totals[0])
            return [extreme, *(arith.ori(nans, self._nans(loaded)) for nans in totals[1:])]

        latest = arith.subi(end, self.index(size))
        none = [self.splat(0, size // 2, self.mask_element)] if self.is_float else []
        first = [self.splat(self.order.initial, size), *none]
        extreme, *nans = add(latest, self.loop((start, latest), first, add, size))
        found = self.across(extreme, self._more_extreme)
        if not nans:
            return found
        any_nan = vector.reduction(self.mask_element, vector.CombiningKind.OR, nans[0])
        is_nan = arith.cmpi(arith.CmpIPredicate.ne, any_nan, arith.constant(self.mask_element, 0))
        return arith.select(is_nan, arith.constant(self.element, float("nan")), found)

    def _nans(self, loaded: ir.Value) -> ir.Value:
        """All ones where either half of a vector has a NaN, as integers, by one comparison."""
        half = lanes_of(loaded) // 2
        low, high = (
            vector.shuffle(loaded, loaded, list(range(first, first + half))) for first in (0, half)
        )
        unordered = arith.cmpf(arith.CmpFPredicate.UNO, low, high)
        return arith.extsi(self.vector_of(half, self.mask_element), unordered)

    def _search_whole(
        self, start: ir.Value, end: ir.Value, extreme: ir.Value, size: int
    ) -> tuple[ir.Value, ir.Value]:
        """The first or last vector of a block with the element `extreme`: where it begins, and the
        mask of the element. All are compared, and those that come before overwrite the others."""
        latest = arith.subi(end, self.index(size))
        steps = arith.ceildivui(arith.subi(end, start), self.index(size))
        sought = vector.broadcast(self.vector_of(size), extreme)
        none = arith.constant(self._bits(size), 0)

        def step(number: ir.Value, found: Registers) -> Registers:
            if not self.order.is_last:
                number = arith.subi(arith.subi(steps, self.index(1)), number)
            at = arith.minui(arith.addi(start, self.times(number, size)), latest)
            mask = self._mask(self._is_sought(self._read(at, size), sought))
            is_here = arith.cmpi(arith.CmpIPredicate.ne, mask, none)
            return [arith.select(is_here, *pair) for pair in zip((at, mask), found, strict=True)]

        at, mask = self.loop((self.index(0), steps), [start, none], step)
        return at, mask

    def _search(
        self, start: ir.Value, end: ir.Value, extreme: ir.Value, size: int
    ) -> tuple[ir.Value, ir.Value]:
        """The same as `_search_whole`, which ends at the first vector with the element."""
        latest = arith.subi(end, self.index(size))
        start, backwards = arith.minui(start, latest), self.order.is_last
        sought = vector.broadcast(self.vector_of(size), extreme)
        one_bit = ir.IntegerType.get_signless(1)

        def mask_at(at: ir.Value) -> ir.Value:
            return self._is_sought(self._read(at, size), sought)

        def is_elsewhere(at: ir.Value) -> ir.Value:
            found = vector.reduction(one_bit, vector.CombiningKind.OR, mask_at(at))
            is_within = arith.cmpi(arith.CmpIPredicate.ne, at, start if backwards else latest)
            return arith.andi(arith.xori(found, arith.constant(one_bit, 1)), is_within)

        def following(at: ir.Value) -> Registers:
            if not backwards:
                return [arith.minui(arith.addi(at, self.index(size)), latest)]
            room = arith.subi(at, start)
            return [arith.subi(at, arith.minui(room, self.index(size)))]

        (at,) = while_([latest if backwards else start], is_elsewhere, following)
        return at, self._mask(mask_at(at))

    def _short_rows(self, first: ir.Value, last: ir.Value) -> None:
        """Emit rows that do not fill a vector, as many at a time as it has lanes."""
        done = first
        for rows in (self.lanes, 1):
            left = arith.subi(last, done)
            end = arith.subi(last, arith.remui(left, self.index(rows)))

            def several(row: ir.Value, _: Registers, rows: int = rows) -> Registers:
                places = self._positions_of_rows(row, rows)
                wide = self.vector_of(rows, self._bits(_I64))
                narrow = ir.VectorType(places.type).element_type != wide.element_type
                self.store(arith.extui(wide, places) if narrow else places, self.target, row)
                return []

            self.loop((done, end), [], several, rows)
            done = end

    def _positions_of_rows(self, row: ir.Value, rows: int) -> ir.Value:
        """The positions of the extreme elements of `rows` rows, in integers as wide as these."""
        start, extent = arith.muli(row, self.extent), self.shape.extent
        best = [self.splat(self.order.initial, rows), self.splat(0, rows, self.mask_element)]

        def compare(column: ir.Value, number: ir.Value, best: Registers) -> Registers:
            enters = self._enters(column, best[0])
            pairs = zip((column, number), best, strict=True)
            return [arith.select(enters, *pair) for pair in pairs]

        if isinstance(extent, int):
            columns = self._columns(start, rows, extent)
            for number, column in enumerate(columns):
                best = compare(column, self.splat(number, rows, self.mask_element), best)
            return best[1]
        starts = [arith.addi(start, self.times(self.extent, lane)) for lane in range(rows)]

        def step(number: ir.Value, best: Registers) -> Registers:
            elements = [memref.load(self.source, [self.add(at, number)]) for at in starts]
            read = ir.VectorType.get([rows], self.read_type)
            column = self._widened(vector.from_elements(read, elements))
            position = arith.index_cast(self.mask_element, number)
            return compare(column, vector.broadcast(best[1].type, position), best)

        return self.loop((self.index(0), self.extent), best, step)[1]

    def _columns(self, start: ir.Value, rows: int, extent: int) -> Registers:
        """The columns of `rows` rows of `extent` elements from `start` on."""
        loaded = self._read(start, rows * extent)
        return [
            vector.shuffle(loaded, loaded, list(range(column, rows * extent, extent)))
            for column in range(extent)
        ]

    def _read(self, at: ir.Value, size: int) -> ir.Value:
        return self._widened(self.load(self.source, at, lanes=size))

    def _widened(self, loaded: ir.Value) -> ir.Value:
        if self.read_type == self.element:
            return loaded
        return arith.extf(self.vector_of(lanes_of(loaded)), loaded)

    def _compare(self, a: ir.Value, b: ir.Value, or_equal: bool) -> ir.Value:
        """True where `a` is more extreme than `b`, or equal to it if `or_equal`; not for NaN."""
        name = ("g" if self.order.is_max else "l") + ("e" if or_equal else "t")
        if self.is_float:
            return arith.cmpf(getattr(arith.CmpFPredicate, "O" + name.upper()), a, b)
        sign = "u" if self.order.is_unsigned else "s"
        return arith.cmpi(getattr(arith.CmpIPredicate, sign + name), a, b)

    def _more_extreme(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The more extreme of two elements; the second if one is NaN, as by one instruction."""
        return arith.select(self._compare(a, b, False), a, b)

    def _enters(self, new: ir.Value, best: ir.Value) -> ir.Value:
        """True where `new` takes the place of `best`, which comes before it."""
        enters = self._compare(new, best, self.order.is_last)
        if not self.is_float:
            return enters
        enters = arith.ori(enters, arith.cmpf(arith.CmpFPredicate.UNO, new, new))
        if self.order.is_last:
            return enters
        return arith.andi(enters, arith.cmpf(arith.CmpFPredicate.ORD, best, best))

    def _is_sought(self, loaded: ir.Value, extreme: ir.Value) -> ir.Value:
        """True for elements equal to `extreme`, and for NaN, which `extreme` is if there is one."""
        if not self.is_float:
            return arith.cmpi(arith.CmpIPredicate.eq, loaded, extreme)
        same = arith.cmpf(arith.CmpFPredicate.OEQ, loaded, extreme)
        return arith.ori(same, arith.cmpf(arith.CmpFPredicate.UNO, loaded, loaded))

    def _mask(self, flags: ir.Value) -> ir.Value:
        """A vector of flags as the bits of a number."""
        type_ = ir.VectorType.get([1], self._bits(lanes_of(flags)))
        return vector.extract(vector.bitcast(type_, flags), [], [0])

    def _lane(self, mask: ir.Value) -> ir.Value:
        """The first or last lane of those in a mask."""
        type_ = ir.IntegerType(mask.type)
        if not self.order.is_last:
            return arith.index_castui(ir.IndexType.get(), math.cttz(mask))
        highest = arith.constant(type_, type_.width - 1)
        return arith.index_castui(ir.IndexType.get(), arith.subi(highest, math.ctlz(mask)))

    @staticmethod
    def _bits(width: int) -> ir.IntegerType:
        return ir.IntegerType.get_signless(width)
