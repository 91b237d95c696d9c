"""A kernel for elementwise ops whose operands are broadcast at run time, or repeated.

The result is computed row by row, a vector at a time. The address of an operand's row follows from
the position of the row in the result: a size that turns out to be 1 is read again and again, and a
repeated element as often as it is repeated, so that no operand is expanded in memory.

CPUs without masks for narrow elements load them one by one where a vector is masked. What is left
of a row is then the end of a vector that begins earlier; rows shorter than a vector are computed in
short vectors, and single elements.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .broadcast_shape import SEGMENT, AxisAccess, BroadcastOperand, BroadcastRows
from .emitter import Registers, VectorEmitter
from .sizes import Index, product

SHORT_LANES = 8
"""Elements of a short vector."""

Body = Callable[[Registers, int | None], ir.Value]
"""Maps vectors of the operands, of so many lanes, or single elements, to that of the result."""


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
    """Emits the kernel of `BroadcastRows`; `body` computes elements of the result from those of the
    operands, which are in `memory` before the result."""

    def __init__(self, shape: BroadcastRows, memory: Sequence[ir.Value], body: Body):
        super().__init__(shape.lanes, ir.MemRefType(memory[-1].type).element_type)
        self._shape = shape
        *self._memory, self._result = memory
        self._body = body

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that are `dynamic`."""
        self._sizes = sizes = self._shape.sizes(dynamic)
        *self._outer, self._length = sizes.result
        self._segments, chunk = sizes.segments, sizes.chunk
        first = arith.muli(workgroup_id, chunk)
        end = arith.minui(arith.addi(first, chunk), sizes.lines)
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

        def compute(at: ir.Value, lanes: int | None, mask: ir.Value | None = None) -> None:
            result = self._body([self._read(each, at, lanes, mask) for each in rows], lanes)
            place = arith.addi(target, at)
            if lanes is None:
                memref.store(result, self._result, [place])
            else:
                self.store(result, self._result, place, mask)

        if self._shape.masked:
            self._masked_vectors(first, end, compute)
        else:
            self._whole_vectors(first, end, [self.lanes, SHORT_LANES], compute)

    def _rows(self, row: ir.Value) -> list[_Row]:
        """The rows of the operands for `row` of the result."""
        positions = list[ir.Value]()
        for size in reversed(self._outer[1:]):
            row, position = self._split(row, size)
            positions.insert(0, position)
        if self._outer:
            positions.insert(0, row)
        operands = zip(self._memory, self._shape.operands, self._sizes.operands, strict=True)
        return [self._row(*each, positions) for each in operands]

    def _row(
        self,
        memory: ir.Value,
        operand: BroadcastOperand,
        extents: Sequence[Index],
        positions: Sequence[ir.Value],
    ) -> _Row:
        *sizes, length = extents
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
            return _Row(memory, start, element=memref.load(memory, [start]))
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

    def _read(self, row: _Row, at: ir.Value, lanes: int | None, mask: ir.Value | None) -> ir.Value:
        """The elements of `row` for those of the result from `at` on."""
        element = ir.MemRefType(row.memory.type).element_type
        type_ = element if lanes is None else self.vector_of(lanes, element)

        def spread(x: ir.Value) -> ir.Value:
            return x if lanes is None else vector.broadcast(type_, x)

        def several() -> ir.Value:
            if lanes is None:
                place = arith.divui(at, self.index(row.repeats)) if row.repeats != 1 else at
                return memref.load(row.memory, [arith.addi(row.start, place)])
            return self._repeated(row, at, lanes, mask)

        def only() -> list[ir.Value]:
            return [spread(memref.load(row.memory, [row.start]))]

        if row.element is not None:
            return spread(row.element)
        if row.length is None:
            return several()
        is_one = self.compare(arith.CmpIPredicate.eq, row.length, 1)
        return self.branch(is_one, [type_], only, lambda: [several()])[0]

    def _repeated(self, row: _Row, at: ir.Value, lanes: int, mask: ir.Value | None) -> ir.Value:
        """The vector of a `row` of several elements: of some of them, if they are repeated."""
        if row.repeats == 1:
            return self.load(row.memory, arith.addi(row.start, at), mask, lanes)
        if mask is not None:
            mask = vector.shuffle(mask, mask, range(0, lanes, row.repeats))
        place = arith.addi(row.start, arith.divui(at, self.index(row.repeats)))
        some = self.load(row.memory, place, mask, max(1, lanes // row.repeats))
        return vector.shuffle(some, some, [lane // row.repeats for lane in range(lanes)])

    def _masked_vectors(self, first: ir.Value, end: ir.Value, compute: Callable[..., None]) -> None:
        """Emit the vectors of a segment, the last of them masked."""
        lanes = self.lanes
        if isinstance(self._length, int) and self._length <= SEGMENT:
            whole = self._length // lanes * lanes
            if whole:
                self._all_vectors(self.index(0), self.index(whole), lanes, compute)
            if whole != self._length:
                compute(self.index(whole), lanes, self.first_lanes(self._length - whole))
            return
        rest = arith.remui(arith.subi(end, first), self.index(lanes))
        last = arith.subi(end, rest)
        self._all_vectors(first, last, lanes, compute)
        some = self.compare(arith.CmpIPredicate.ne, rest, 0)
        self.choose(some, lambda: compute(last, lanes, self.lanes_below(rest)), lambda: None)

    def _whole_vectors(
        self,
        first: ir.Value,
        end: ir.Value,
        sizes: Sequence[int],
        compute: Callable[..., None],
    ) -> None:
        """Emit the vectors of a segment, of the first of `sizes` that is not larger, of which the
        last two may overlap, or its elements."""
        if not sizes:
            return self.repeat(first, end, lambda at: compute(at, None))
        lanes, *smaller = sizes
        count = arith.subi(end, first)

        def several() -> None:
            last = arith.subi(end, arith.remui(count, self.index(lanes)))
            self._all_vectors(first, last, lanes, compute)
            is_left = self.compare(arith.CmpIPredicate.ne, last, end)
            self.choose(is_left, lambda: compute(self.add(end, -lanes), lanes), lambda: None)

        fits = self.compare(arith.CmpIPredicate.uge, count, lanes)
        self.choose(fits, several, lambda: self._whole_vectors(first, end, smaller, compute))
        return None

    def _all_vectors(
        self, first: ir.Value, last: ir.Value, lanes: int, compute: Callable[..., None]
    ) -> None:
        def run(at: ir.Value, registers: Registers) -> Registers:
            compute(at, lanes)
            return registers

        self.loop((first, last), [], run, step=lanes)
