"""Images assembled from columns of blocks: a workgroup adds up the planes of some channels.

For each tap of a block, all positions of the block give one element each, row by row. So a plane,
which stays in the cache, is added to as often as a block has taps, in their order.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from .emitter import VectorEmitter

Size = int | Dim


@dataclass(frozen=True)
class Col2ImShape:
    """`planes` images of sizes `image`. Along each axis, there are `positions` of a block of as
    many taps as `block` says."""

    planes: Size
    image: tuple[Size, ...]
    block: tuple[Size, ...]
    positions: tuple[Size, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    lanes: int

    flops = 0

    @property
    def sizes(self) -> tuple[Size, ...]:
        """All that may be dynamic."""
        return (self.planes, *self.image, *self.block, *self.positions)


class Col2ImEmitter(VectorEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point."""

    def __init__(
        self,
        shape: Col2ImShape,
        value: Callable[[Size], ir.Value],
        columns: ir.Value,
        image: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(columns.type).element_type)
        self.shape, self.source, self.image = shape, columns, image
        self.planes = value(shape.planes)
        self.extents = list(map(value, shape.image))
        self.block = list(map(value, shape.block))
        self.positions = list(map(value, shape.positions))

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`, which computes its share of the planes."""
        first = arith.divui(arith.muli(workgroup_id, self.planes), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), self.planes), count)
        self.repeat(first, behind, self._plane)

    def _plane(self, number: ir.Value) -> None:
        size, rows = self._product(self.extents), self._product(self.positions[:-1])
        start = arith.muli(number, size)
        self._each_vector(size, lambda at, lanes: self._clear(self.add(start, at), lanes))
        taps = self._product(self.block)
        columns = arith.muli(number, taps)

        def tap(index: ir.Value) -> None:
            offsets = [
                self.add(self.times(at, dilation), -low)
                for at, dilation, low in zip(
                    self._split(index, self.block),
                    self.shape.dilations,
                    self.shape.low,
                    strict=True,
                )
            ]
            source = arith.muli(arith.addi(columns, index), arith.muli(rows, self.positions[-1]))
            self.repeat(
                self.index(0),
                rows,
                lambda row: self._row(
                    arith.addi(source, arith.muli(row, self.positions[-1])),
                    start,
                    self._split(row, self.positions[:-1]),
                    offsets,
                ),
            )

        self.repeat(self.index(0), taps, tap)

    def _row(
        self,
        source: ir.Value,
        start: ir.Value,
        position: list[ir.Value],
        offsets: list[ir.Value],
    ) -> None:
        """Add a row of positions, from `source` on, to the row of the plane that it lies in."""
        *strides, stride = self.shape.strides
        line, inside = start, arith.constant(ir.IntegerType.get_signless(1), 1)
        rest = self._product(self.extents)
        for at, step, offset, extent in zip(
            position, strides, offsets[:-1], self.extents[:-1], strict=True
        ):
            there = arith.addi(self.times(at, step), offset)
            holds = arith.cmpi(arith.CmpIPredicate.ult, there, extent)
            inside = arith.andi(inside, holds)
            rest = arith.divui(rest, arith.maxui(extent, self.index(1)))
            line = arith.addi(line, arith.muli(there, rest))
        offset, width = offsets[-1], self.extents[-1]
        zero, steps = self.index(0), self.index(stride)
        first = arith.ceildivsi(arith.maxsi(arith.subi(zero, offset), zero), steps)
        behind = arith.ceildivsi(arith.maxsi(arith.subi(width, offset), zero), steps)
        behind = arith.maxsi(arith.minsi(behind, self.positions[-1]), first)
        into = arith.addi(line, arith.addi(self.times(first, stride), offset))

        def add() -> None:
            read = arith.addi(source, first)
            count = arith.subi(behind, first)
            if stride == 1:
                self._each_vector(count, lambda at, lanes: self._add(read, into, at, at, lanes))
            else:
                self.repeat(
                    zero, count, lambda at: self._add(read, into, at, self.times(at, stride), 1)
                )

        self.choose(inside, add, lambda: None)

    def _add(
        self, source: ir.Value, target: ir.Value, at: ir.Value, there: ir.Value, lanes: int
    ) -> None:
        read, written = arith.addi(source, at), arith.addi(target, there)
        plus = arith.addf if isinstance(self.element, ir.FloatType) else arith.addi
        if lanes == 1:
            total = memref.load(self.image, [written])
            total = plus(total, memref.load(self.source, [read]))
            memref.store(total, self.image, [written])
        else:
            total = plus(self.load(self.image, written), self.load(self.source, read))
            self.store(total, self.image, written)

    def _clear(self, at: ir.Value, lanes: int) -> None:
        if lanes == 1:
            is_float = isinstance(self.element, ir.FloatType)
            zero = (ir.FloatAttr if is_float else ir.IntegerAttr).get(self.element, 0)
            memref.store(arith.constant(self.element, zero), self.image, [at])
        else:
            self.store(self.splat(0), self.image, at)

    def _each_vector(self, count: ir.Value, body: Callable[[ir.Value, int], None]) -> None:
        """Emit `body` for `count` elements: at each vector, then at each of the rest."""
        whole = arith.divui(count, self.index(self.lanes))
        self.repeat(
            self.index(0), whole, lambda number: body(self.times(number, self.lanes), self.lanes)
        )
        self.repeat(self.times(whole, self.lanes), count, lambda at: body(at, 1))

    def _split(self, number: ir.Value, sizes: list[ir.Value]) -> list[ir.Value]:
        """The coordinates of `number` along axes of `sizes`."""
        found: list[ir.Value] = []
        for axis in range(len(sizes) - 1, -1, -1):
            found.insert(0, number if axis == 0 else arith.remui(number, sizes[axis]))
            number = number if axis == 0 else arith.divui(number, sizes[axis])
        return found

    def _product(self, sizes: list[ir.Value]) -> ir.Value:
        total = self.index(1)
        for size in sizes:
            total = arith.muli(total, size)
        return total
