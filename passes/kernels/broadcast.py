"""A kernel for elementwise ops whose operands are broadcast at run time, or repeated.

The result is computed row by row, a vector at a time. The address of an operand's row follows from
the position of the row in the result: a size that turns out to be 1 is read again and again, and a
repeated element as often as it is repeated, so that no operand is expanded in memory.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .sizes import Index, index, product

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one. An element of a row is
repeated as often as divides it."""

SEGMENT = 16384
"""Elements of a longer row that are computed at a time, and approximately those of a workgroup."""


@dataclass(frozen=True)
class DynamicSize:
    """A size that is known only at run time: the scalar `number` of the kernel."""

    number: int


Extent = int | DynamicSize


@dataclass(frozen=True)
class AxisAccess:
    """The positions of an operand along an axis of the result.

    ``whole``: all of them; ``one``: the only one; ``either``: one of both, decided at run time.
    Each element is read `repeats` times in a row.
    """

    kind: Literal["whole", "one", "either"]
    repeats: int = 1

    @property
    def is_plain(self) -> bool:
        """True if adjacent axes that are read like this are read as one axis."""
        return self.kind != "either" and self.repeats == 1


@dataclass(frozen=True)
class BroadcastOperand:
    """The sizes of an operand, and its access along each axis of the result."""

    extents: tuple[Extent, ...]
    accesses: tuple[AxisAccess, ...]


@dataclass(frozen=True)
class BroadcastRows:
    """A result of these `extents`, its rows last, and its operands in memory."""

    extents: tuple[Extent, ...]
    operands: tuple[BroadcastOperand, ...]

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes are known."""
        *outer, length = self.sizes(self.extents, ())
        assert isinstance(length, int)
        lines = math.prod(size for size in outer if isinstance(size, int))
        return -(-lines * -(-length // SEGMENT) // self._static_chunk(length))

    @staticmethod
    def sizes(extents: Sequence[Extent], dynamic: Sequence[ir.Value]) -> list[Index]:
        """`extents`, of which those that are not known are from `dynamic`."""
        return [n if isinstance(n, int) else dynamic[n.number] for n in extents]

    def segments(self, length: Index) -> Index:
        """Segments of a row of `length` elements."""
        if isinstance(length, int):
            return -(-length // SEGMENT)
        return arith.ceildivui(length, index(SEGMENT))

    def chunk(self, length: Index) -> ir.Value:
        """Lines in a workgroup; the last may have fewer."""
        if isinstance(length, int):
            return index(self._static_chunk(length))
        some = arith.maxui(arith.minui(length, index(SEGMENT)), index(1))
        return arith.divui(index(SEGMENT), some)

    @staticmethod
    def _static_chunk(length: int) -> int:
        return max(1, SEGMENT // max(1, length))

    def lines(self, dynamic: Sequence[ir.Value]) -> ir.Value:
        """Lines to distribute: segments of rows."""
        *outer, length = self.sizes(self.extents, dynamic)
        total = self.segments(length)
        for size in outer:
            total = product(total, size)
        return index(total)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the sizes that are `dynamic`."""
        length = self.sizes(self.extents, dynamic)[-1]
        return arith.ceildivui(self.lines(dynamic), self.chunk(length))


@dataclass(frozen=True)
class _Row:
    """A row of an operand: the index of its first element, how often each is repeated, the number
    of elements if it is decided at run time whether that is 1, and the element if it is the only
    one."""

    memory: ir.Value
    start: ir.Value
    repeats: int = 1
    length: ir.Value | None = None
    element: ir.Value | None = None


class BroadcastEmitter(VectorEmitter):
    """Emits the kernel of `BroadcastRows`; `body` maps vectors of the operands, which are in
    `memory` before the result, to that of the result."""

    def __init__(
        self,
        shape: BroadcastRows,
        memory: Sequence[ir.Value],
        body: Callable[[Registers], ir.Value],
    ):
        super().__init__(LANES, ir.MemRefType(memory[-1].type).element_type)
        self._shape = shape
        *self._memory, self._result = memory
        self._body = body

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that are `dynamic`."""
        shape = self._shape
        self._dynamic = dynamic
        *self._outer, self._length = shape.sizes(shape.extents, dynamic)
        self._segments = shape.segments(self._length)
        chunk = shape.chunk(self._length)
        first = arith.muli(workgroup_id, chunk)
        end = arith.minui(arith.addi(first, chunk), shape.lines(dynamic))
        self.repeat(first, end, self._line)

    def _line(self, line: ir.Value) -> None:
        """Emit a segment of a row."""
        length = self.index(self._length)
        row, first, end = line, self.index(0), length
        if self._segments != 1:
            row, segment = self._split(line, self._segments)
            first = self.times(segment, SEGMENT)
            end = arith.minui(self.add(first, SEGMENT), length)
        target = self.times(row, self._length)
        rows = self._rows(row)

        def compute(at: ir.Value, mask: ir.Value | None) -> None:
            result = self._body([self._read(each, at, mask) for each in rows])
            self.store(result, self._result, arith.addi(target, at), mask)

        self._vectors(first, end, compute)

    def _rows(self, row: ir.Value) -> list[_Row]:
        """The rows of the operands for `row` of the result."""
        positions = list[ir.Value]()
        for size in reversed(self._outer[1:]):
            row, position = self._split(row, size)
            positions.insert(0, position)
        if self._outer:
            positions.insert(0, row)
        operands = zip(self._memory, self._shape.operands, strict=True)
        return [self._row(memory, operand, positions) for memory, operand in operands]

    def _row(
        self, memory: ir.Value, operand: BroadcastOperand, positions: Sequence[ir.Value]
    ) -> _Row:
        *sizes, length = self._shape.sizes(operand.extents, self._dynamic)
        *accesses, along = operand.accesses
        start, stride = self.index(0), length
        outer = list(zip(positions, sizes, accesses, strict=True))
        for position, size, access in reversed(outer):
            if access.kind != "one":
                start = arith.addi(
                    start, self.times(self._position(position, size, access), stride)
                )
            stride = product(stride, size)
        if along.kind == "either":
            return _Row(memory, start, along.repeats, self.index(length))
        if along.kind == "one":
            element = memref.load(memory, [start])
            return _Row(memory, start, element=vector.broadcast(self.vector_type, element))
        return _Row(memory, start, along.repeats)

    def _position(self, position: ir.Value, size: Index, access: AxisAccess) -> ir.Value:
        """The position in an operand for one in the result."""
        if access.repeats != 1:
            position = arith.divui(position, self.index(access.repeats))
        if access.kind == "either":
            position = arith.minsi(position, self.add(self.index(size), -1))
        return position

    def _split(self, number: ir.Value, size: Index) -> tuple[ir.Value, ir.Value]:
        """Quotient and remainder of `number` by `size`."""
        quotient = arith.divui(number, self.index(size))
        return quotient, arith.subi(number, self.times(quotient, size))

    def _read(self, row: _Row, at: ir.Value, mask: ir.Value | None) -> ir.Value:
        """The vector of `row` for the elements of the result from `at` on."""
        if row.element is not None:
            return row.element
        if row.length is None:
            return self._repeated(row, at, mask)

        def only() -> ir.Value:
            return vector.broadcast(self.vector_type, memref.load(row.memory, [row.start]))

        def several() -> ir.Value:
            return self._repeated(row, at, mask)

        is_one = self.compare(arith.CmpIPredicate.eq, row.length, 1)
        return self.select(is_one, only, several)

    def _repeated(self, row: _Row, at: ir.Value, mask: ir.Value | None) -> ir.Value:
        """The vector of a `row` of several elements: of some of them, if they are repeated."""
        if row.repeats == 1:
            return self.load(row.memory, arith.addi(row.start, at), mask)
        if mask is not None:
            mask = vector.shuffle(mask, mask, range(0, LANES, row.repeats))
        place = arith.addi(row.start, arith.divui(at, self.index(row.repeats)))
        some = self.load(row.memory, place, mask, LANES // row.repeats)
        return vector.shuffle(some, some, [lane // row.repeats for lane in range(LANES)])

    def _vectors(
        self,
        first: ir.Value,
        end: ir.Value,
        body: Callable[[ir.Value, ir.Value | None], None],
    ) -> None:
        """Emit `body` for each vector of a segment, given its offset in the row and its mask."""

        def run(at: ir.Value, registers: Registers) -> Registers:
            body(at, None)
            return registers

        if isinstance(self._length, int) and self._length <= SEGMENT:
            whole = self._length // LANES * LANES
            if whole:
                self.loop((self.index(0), self.index(whole)), [], run, step=LANES)
            if whole != self._length:
                body(self.index(whole), self.first_lanes(self._length - whole))
            return
        rest = arith.remui(arith.subi(end, first), self.index(LANES))
        last = arith.subi(end, rest)
        self.loop((first, last), [], run, step=LANES)
        some = self.compare(arith.CmpIPredicate.ne, rest, 0)
        self.choose(some, lambda: body(last, self.lanes_below(rest)), lambda: None)
