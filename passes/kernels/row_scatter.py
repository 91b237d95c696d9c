"""Scatter of whole rows: a workgroup computes a contiguous part of the result.

It copies its part of the data, or fills it where all elements are one number, unless the result is
computed in the memory of the data, and then goes through all updates in order, of which it applies
what lies within its part. So the last of several updates to a row wins, and sums have the order of
the updates, however many threads there are.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from .emitter import VectorEmitter

Size = int | Dim
Combine = Callable[[ir.Value, ir.Value], ir.Value]
"""The new element from the old one and the update."""

UNROLL = 4
"""Vectors that a loop moves at a time."""
LEAST_BYTES = 16 << 10
"""Bytes that a workgroup moves at least: waking a thread costs as much."""
LEAST_ROW = 32
"""Elements of a row for each workgroup at least: all workgroups read all positions."""
WORKGROUPS_PER_THREAD = 2


@dataclass(frozen=True)
class RowScatterShape:
    """`count` updates of rows of `length` elements of `itemsize` bytes. A row has a position along
    axes of `extents`."""

    extents: tuple[Size, ...]
    length: Size
    count: Size
    itemsize: int
    is_unsigned: bool
    """True if positions have no sign; otherwise negative ones count from the end."""
    in_place: bool
    """True if the result is computed in the memory of the data."""
    lanes: int
    threads: int

    flops = 0

    @property
    def elements(self) -> Size:
        """The elements of the data."""
        total = self.length
        for extent in self.extents:
            total = total * extent
        return total

    @property
    def moved(self) -> Size:
        """The elements that all workgroups write."""
        updates = self.count * self.length
        return updates if self.in_place else updates + self.elements


class RowScatterEmitter(VectorEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point."""

    def __init__(
        self,
        shape: RowScatterShape,
        value: Callable[[Size], ir.Value],
        combine: Combine | None,
        indices: ir.Value,
        updates: ir.Value,
        data: ir.Value | Callable[[int], ir.Value],
        result: ir.Value,
    ):
        """`data` is memory, which is `result` if the kernel works in place, or gives a vector of so
        many of the one number. Without `combine`, updates replace."""
        super().__init__(shape.lanes, ir.MemRefType(result.type).element_type)
        self.shape, self.combine = shape, combine
        self.indices, self.updates, self.data, self.result = indices, updates, data, result
        self.extents = list(map(value, shape.extents))
        self.length, self.count = value(shape.length), value(shape.count)
        self.elements = value(shape.elements)

    def workgroup(self, workgroup_id: ir.Value, part: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, which computes `part` elements."""
        start = arith.minui(arith.muli(workgroup_id, part), self.elements)
        end = arith.minui(arith.addi(start, part), self.elements)
        if not self.shape.in_place:
            count, whole = arith.subi(end, start), self.shape.elements
            self._each_vector(count, whole, lambda at, lanes: self._copy(start, at, lanes))
        self.repeat(0, self.count, lambda update: self._apply(update, start, end))

    def _apply(self, update: ir.Value, start: ir.Value, end: ir.Value) -> None:
        """Apply the elements of `update` that lie within [`start`, `end`)."""
        if self.shape.length == 1:
            self._apply_element(update, start, end)
            return
        row = arith.muli(self._row(update), self.length)
        first = arith.maxui(row, start)
        last = arith.minui(arith.addi(row, self.length), end)

        def put() -> None:
            skipped = arith.subi(first, row)
            source = arith.addi(arith.muli(update, self.length), skipped)
            self._each_vector(
                arith.subi(last, first),
                self.shape.length,
                lambda at, lanes: self._put(source, first, at, lanes),
            )

        overlaps = arith.cmpi(arith.CmpIPredicate.ult, first, last)
        self.choose(overlaps, put, lambda: None)

    def _apply_element(self, update: ir.Value, start: ir.Value, end: ir.Value) -> None:
        """Apply `update`, which is one element, if it lies within [`start`, `end`)."""

        def put_at(row: ir.Value, otherwise: Callable[[], None]) -> None:
            place, part = arith.subi(row, start), arith.subi(end, start)
            inside = arith.cmpi(arith.CmpIPredicate.ult, place, part)
            self.choose(inside, lambda: self._put(update, row, self.index(0), 1), otherwise)

        def put_at_position() -> None:
            put_at(self._row(update), lambda: None)

        if len(self.extents) > 1 or self.shape.is_unsigned:
            put_at_position()
            return
        # What lies within as it is needs no other check.
        found = arith.index_cast(ir.IndexType.get(), memref.load(self.indices, [update]))
        put_at(found, put_at_position)

    def _row(self, update: ir.Value) -> ir.Value:
        """The number of the row that `update` goes to, which is one of the data."""
        base, total = self.times(update, len(self.extents)), self.index(0)
        for column, extent in enumerate(self.extents):
            found = memref.load(self.indices, [self.add(base, column)])
            position = self._position(found, extent)
            total = position if column == 0 else arith.addi(arith.muli(total, extent), position)
        return total

    def _position(self, found: ir.Value, extent: ir.Value) -> ir.Value:
        """The position of index `found` on an axis of `extent`, clamped to it."""
        index, last = ir.IndexType.get(), arith.subi(extent, self.index(1))
        if self.shape.is_unsigned:
            return arith.minui(arith.index_castui(index, found), last)
        position = arith.index_cast(index, found)
        negative = arith.cmpi(arith.CmpIPredicate.slt, position, self.index(0))
        position = arith.select(negative, arith.addi(position, extent), position)
        return arith.maxsi(arith.minsi(position, last), self.index(0))

    def _each_vector(
        self, count: ir.Value, most: Size, body: Callable[[ir.Value, int], None]
    ) -> None:
        """Emit `body` for `count` elements, of `most` at most: in long vectors, in vectors, and one
        by one."""
        done = self.index(0)
        for lanes in (self.lanes * UNROLL, self.lanes, 1):
            if not (isinstance(most, int) and most < lanes):
                end = arith.subi(count, arith.remui(count, self.index(lanes)))
                self._in_steps(done, end, lanes, body)
                done = end

    def _in_steps(
        self, first: ir.Value, last: ir.Value, lanes: int, body: Callable[[ir.Value, int], None]
    ) -> None:
        def step(at: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
            body(at, lanes)
            return registers

        self.loop((first, last), [], step, step=lanes)

    def _copy(self, start: ir.Value, at: ir.Value, lanes: int) -> None:
        at = arith.addi(start, at)
        data = self.data
        new = self.load(data, at, lanes=lanes) if isinstance(data, ir.Value) else data(lanes)
        self.store(new, self.result, at)

    def _put(self, source: ir.Value, target: ir.Value, at: ir.Value, lanes: int) -> None:
        """Write a vector of updates, combined with what is there."""
        new = self.load(self.updates, arith.addi(source, at), lanes=lanes)
        target = arith.addi(target, at)
        if self.combine is not None:
            new = self.combine(self.load(self.result, target, lanes=lanes), new)
        self.store(new, self.result, target)
