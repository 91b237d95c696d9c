"""Transposes of tensors whose sizes are known only at run time.

Adjacent axes that stay together count as one. If the last axis stays last, rows are copied.
Few planes, such as colours, are interleaved, or separated, in registers. Otherwise a workgroup
transposes blocks: it reads squares of vectors along the last axis of the operand, exchanges their
elements in registers, and writes vectors along the last axis of the result.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .emitter import VectorEmitter

Size = int | Dim

WORKGROUPS_PER_THREAD = 4
BYTES = 1 << 14
"""Bytes that a workgroup moves, at least: waking a thread costs as much."""
MOST_PLANES = 4
_SEGMENT = 1024
"""Elements of each of few planes that are moved one after the other."""
_BLOCK = 256
"""Bytes of a block along the last axis of the operand, and along that of the result: some lines of
the cache."""


@dataclass(frozen=True)
class TransposeShape:
    """Axis ``i`` of the result is axis ``perm[i]`` of an operand of `sizes`, whose elements have
    `itemsize` bytes. No two adjacent axes stay together."""

    sizes: tuple[Size, ...]
    perm: tuple[int, ...]
    itemsize: int
    lanes: int

    flops = 0

    @property
    def copies_rows(self) -> bool:
        """True if the last axis stays last."""
        return self.perm[-1] == len(self.perm) - 1

    @property
    def planes(self) -> int:
        """The size of the last axis of the result, or of the operand, if it is next to the last one
        of the other, and known to be small; else 0."""
        last = len(self.sizes) - 1
        if last == 0 or self.copies_rows:
            return 0
        if self.perm[last - 1] == last and _is_few(self.sizes[self.perm[last]]):
            return self.sizes[self.perm[last]]  # type: ignore[return-value]
        if self.perm[last] == last - 1 and _is_few(self.sizes[last]):
            return self.sizes[last]  # type: ignore[return-value]
        return 0

    @property
    def elements(self) -> Size:
        return math.prod(self.sizes)  # type: ignore[arg-type]


def _is_few(size: Size) -> bool:
    return isinstance(size, int) and size <= MOST_PLANES


def merged_axes(sizes: Sequence[Size], perm: Sequence[int]) -> tuple[list[Size], list[int]]:
    """`sizes` and `perm` without axes of size 1, and with those that stay together as one."""
    kept = [axis for axis in perm if sizes[axis] != 1]
    groups: list[list[int]] = []
    for axis in kept:
        before = [each for each in range(axis) if sizes[each] != 1]
        if groups and before and groups[-1][-1] == before[-1]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    order = sorted(range(len(groups)), key=lambda number: groups[number][0])
    merged = [math.prod(sizes[axis] for axis in groups[number]) for number in order]  # type: ignore[misc]
    return merged, [order.index(number) for number in range(len(groups))]


class TransposeEmitter(VectorEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point."""

    def __init__(
        self,
        shape: TransposeShape,
        value: Callable[[Size], ir.Value],
        source: ir.Value,
        target: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(source.type).element_type)
        self.shape, self.source, self.target = shape, source, target
        sizes = [value(size) for size in shape.sizes]
        self.sizes = [sizes[axis] for axis in shape.perm]
        """The sizes of the result."""
        strides = self._strides(sizes)
        self.reads = [strides[axis] for axis in shape.perm]
        """Elements in the operand between neighbours along each axis of the result."""
        self.writes = self._strides(self.sizes)

    def _strides(self, sizes: Sequence[ir.Value]) -> list[ir.Value]:
        strides = [self.index(1)]
        for size in reversed(sizes[1:]):
            strides.insert(0, arith.muli(size, strides[0]))
        return strides

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`."""
        if self.shape.copies_rows:
            self._copy_rows(workgroup_id, count)
        elif self.shape.planes:
            self._mix_planes(workgroup_id, count)
        else:
            self._blocks(workgroup_id, count)

    def _share(
        self, workgroup_id: ir.Value, count: ir.Value, units: ir.Value,
        unit: Callable[[ir.Value], None],
    ) -> None:  # fmt: skip
        """Emit `unit` for each of this workgroup's share of `units`."""
        first = arith.divui(arith.muli(workgroup_id, units), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), units), count)
        self.repeat(first, behind, unit)

    def _offsets(self, number: ir.Value, axes: Sequence[int]) -> tuple[ir.Value, ir.Value]:
        """The offsets in the operand and the result of position `number` along `axes`, the last of
        which counts fastest."""
        read = write = self.index(0)
        for axis in reversed(axes):
            position = arith.remui(number, self.sizes[axis])
            number = arith.divui(number, self.sizes[axis])
            read = arith.addi(read, arith.muli(position, self.reads[axis]))
            write = arith.addi(write, arith.muli(position, self.writes[axis]))
        return read, write

    def _product(self, axes: Sequence[int]) -> ir.Value:
        total = self.index(1)
        for axis in axes:
            total = arith.muli(total, self.sizes[axis])
        return total

    # Rows that stay together

    def _copy_rows(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        axes, length = range(len(self.sizes) - 1), self.sizes[-1]
        vectors = arith.subi(length, arith.remui(length, self.index(self.lanes)))

        def row(number: ir.Value) -> None:
            read, write = self._offsets(number, axes)

            def copy(at: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
                loaded = self.load(self.source, arith.addi(read, at))
                self.store(loaded, self.target, arith.addi(write, at))
                return registers

            def element(at: ir.Value) -> None:
                loaded = memref.load(self.source, [arith.addi(read, at)])
                memref.store(loaded, self.target, [arith.addi(write, at)])

            self.loop((self.index(0), vectors), [], copy, self.lanes)
            self.repeat(vectors, length, element)

        self._share(workgroup_id, count, self._product(axes), row)

    # Few planes

    def _mix_planes(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit segments of planes that become the last axis of the result, or were that of the
        operand."""
        last, planes = len(self.sizes) - 1, self.shape.planes
        is_joined = self.shape.perm[last - 1] == last and _is_few(
            self.shape.sizes[self.shape.perm[last]]
        )
        plane = last if is_joined else self.shape.perm.index(last)
        along = last - 1 if is_joined else last
        axes = [axis for axis in range(last + 1) if axis not in (plane, along)]
        length, stride = self.sizes[along], (self.reads if is_joined else self.writes)[plane]
        segments = arith.ceildivui(length, self.index(_SEGMENT))

        def segment(number: ir.Value) -> None:
            read, write = self._offsets(arith.divui(number, segments), axes)
            start = self.times(arith.remui(number, segments), _SEGMENT)
            end = arith.minui(self.add(start, _SEGMENT), length)
            whole = arith.subi(end, arith.remui(arith.subi(end, start), self.index(self.lanes)))

            def each(at: ir.Value) -> tuple[Sequence[ir.Value], ir.Value]:
                """The places of an element in each plane, and those of all where they are mixed."""
                apart, mixed = (read, write) if is_joined else (write, read)
                apart = arith.addi(apart, at)
                places = [arith.addi(apart, self.times(stride, n)) for n in range(planes)]
                return places, arith.addi(mixed, self.times(at, planes))

            def vectors(at: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
                places, mixed = each(at)
                if is_joined:
                    loaded = [self.load(self.source, place) for place in places]
                    self.store(self._interleaved(loaded), self.target, mixed)
                else:
                    loaded = self.load(self.source, mixed, lanes=planes * self.lanes)
                    for number, place in enumerate(places):
                        lanes = range(number, planes * self.lanes, planes)
                        self.store(vector.shuffle(loaded, loaded, lanes), self.target, place)
                return registers

            def element(at: ir.Value) -> None:
                places, mixed = each(at)
                for number, place in enumerate(places):
                    found, to = place, self.add(mixed, number)
                    found, to = (found, to) if is_joined else (to, found)
                    memref.store(memref.load(self.source, [found]), self.target, [to])

            self.loop((start, whole), [], vectors, self.lanes)
            self.repeat(whole, end, element)

        self._share(workgroup_id, count, arith.muli(self._product(axes), segments), segment)

    def _interleaved(self, vectors: Sequence[ir.Value]) -> ir.Value:
        """The first elements of all `vectors`, then their second ones, and so on."""
        total, count = vectors[0], len(vectors)
        for number, each in enumerate(vectors[1:], start=2):
            total = vector.shuffle(total, each, range(number * self.lanes))
        order = [n % count * self.lanes + n // count for n in range(count * self.lanes)]
        return vector.shuffle(total, total, order)

    # Blocks whose last axes differ

    def _blocks(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit blocks along the last axes of the operand and of the result."""
        last = len(self.sizes) - 1
        across = self.shape.perm.index(last)
        axes = [axis for axis in range(last) if axis != across]
        width = height = self.index(_BLOCK // self.shape.itemsize)
        wide = arith.ceildivui(self.sizes[across], width)
        high = arith.ceildivui(self.sizes[last], height)
        units = arith.muli(self._product(axes), arith.muli(wide, high))

        def block(number: ir.Value) -> None:
            row, rest = arith.remui(number, high), arith.divui(number, high)
            column, rest = arith.remui(rest, wide), arith.divui(rest, wide)
            bounds = [
                (start, arith.minui(arith.addi(start, extent), size))
                for start, extent, size in (
                    (arith.muli(row, height), height, self.sizes[last]),
                    (arith.muli(column, width), width, self.sizes[across]),
                )
            ]
            self._block(*self._offsets(rest, axes), bounds[0], bounds[1])

        self._share(workgroup_id, count, units, block)

    def _block(
        self,
        read: ir.Value,
        write: ir.Value,
        rows: tuple[ir.Value, ir.Value],
        columns: tuple[ir.Value, ir.Value],
    ) -> None:
        """Emit the block of `rows` along the last axis of the result and `columns` along that of
        the operand, by squares, and what is left by elements."""
        last = len(self.sizes) - 1
        down, across = self.reads[last], self.writes[self.shape.perm.index(last)]
        squares = [
            arith.subi(end, arith.remui(arith.subi(end, start), self.index(self.lanes)))
            for start, end in (rows, columns)
        ]

        def place(row: ir.Value, column: ir.Value) -> tuple[ir.Value, ir.Value]:
            source = arith.addi(arith.addi(read, arith.muli(row, down)), column)
            target = arith.addi(arith.addi(write, arith.muli(column, across)), row)
            return source, target

        def square(row: ir.Value, column: ir.Value) -> None:
            source, target = place(row, column)
            loaded = [
                self.load(self.source, arith.addi(source, self.times(down, line)))
                for line in range(self.lanes)
            ]
            for line, exchanged in enumerate(self.transposed(loaded)):
                self.store(exchanged, self.target, arith.addi(target, self.times(across, line)))

        def each(
            rows: tuple[ir.Value, ir.Value], columns: tuple[ir.Value, ir.Value], step: int,
            body: Callable[[ir.Value, ir.Value], None],
        ) -> None:  # fmt: skip
            def column(at: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                def row(below: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                    body(below, at)
                    return []

                return self.loop(rows, [], row, step)

            self.loop(columns, [], column, step)

        def element(row: ir.Value, column: ir.Value) -> None:
            source, target = place(row, column)
            memref.store(memref.load(self.source, [source]), self.target, [target])

        each((rows[0], squares[0]), (columns[0], squares[1]), self.lanes, square)
        each((squares[0], rows[1]), columns, 1, element)
        each((rows[0], squares[0]), (squares[1], columns[1]), 1, element)
