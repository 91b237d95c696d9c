"""Pools of channels-first images, by vectors of pixels.

A workgroup computes some rows of the result, or tiles of them. The rows of a window are combined
first, in a line that stays in the L1 cache and has the padding around it; then what the windows
take of that line. Any size of the image may be known only at run time.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, lanes_of
from .image_extents import ImageSizes
from .pooling import Combine, PoolShape, TapEmitter
from .sizes import product

MOST_STRIDE = 4
"""Distance of windows along rows, at most: as many vectors are loaded for each."""
MOST_REACH = 256
"""Pixels of a row from the first to the last of a window, at most."""
LEAST_ROW = 16
"""Pixels of a row of the result that fill vectors well."""
_LINE = 384
"""Pixels of a line, without those that vectors read beyond its end."""
_LINES = 4
"""Lines that are computed before the first of them is read: a vector that was stored in parts just
before has to wait for them."""
_UNROLL = 4
"""Vectors that are computed at a time."""
_MOST_UNROLLED = 8
"""Taps along an axis that are unrolled, at most."""


def reason_against_planes(
    kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], row: object
) -> str | None:
    """The reason why windows are not for this kernel; `row` is the length of the result's rows."""
    if len(kernel) > 2:
        return "it has more than two spatial axes"
    if strides[-1] > MOST_STRIDE or (kernel[-1] - 1) * dilations[-1] >= MOST_REACH:
        return "its windows are long, or far apart"
    return "its rows are short" if isinstance(row, int) and row < LEAST_ROW else None


@dataclass(frozen=True)
class _Tile:
    """Pixels [`left`, `right`) of the rows of the result, the column `origin` of the image at which
    their line begins, and the columns [`first`, `last`) that are inside it."""

    left: ir.Value
    right: ir.Value
    origin: ir.Value
    first: ir.Value
    last: ir.Value


class PlanePoolEmitter(TapEmitter):
    """Emits the kernel. The images of the `shape` are planes of one channel."""

    def __init__(
        self,
        shape: PoolShape,
        image: ir.Value,
        result: ir.Value,
        combine: Combine,
        initial: float,
        wide: ir.Type,
        mean: str | None = None,
    ):
        """`initial` is neutral to `combine`, which is applied to elements of type `wide`. `mean` is
        None for a pool that is no mean, or says which windows are whole: all or some."""
        super().__init__(shape, image, result, combine)
        self.element, self.neutral, self.mean = wide, initial, mean
        self.end = self.index(0)  # of the elements that the workgroup writes in rows of one tile
        stride, lanes = shape.strides[1], shape.lanes
        self.reach = (shape.kernel[1] - 1) * shape.dilations[1] + 1
        self.tile = max((_LINE - self.reach) // stride // lanes, 1) * lanes
        line = (self.tile - 1) * stride + self.reach + lanes * stride * _UNROLL
        self.line_size = -(-line // lanes) * lanes
        self.lines = memref.alloca(ir.MemRefType.get([self.line_size * _LINES], wide), [], [])
        self.rest = memref.alloca(ir.MemRefType.get([lanes], wide), [], [])
        if mean == "some":
            self.counts = memref.alloca(ir.MemRefType.get([self.tile], wide), [], [])

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the dynamic sizes of the image, then of the result."""
        shape = self.shape
        self.sizes = sizes = ImageSizes.of(shape.image, shape.result, dynamic)
        count = shape.count_workgroups(*dynamic)
        rows = self.index(product(sizes.images, sizes.result_height))
        pixels = self.index(sizes.result_width)
        # Few long rows, such as sequences, are shared by their tiles.
        units = arith.muli(rows, arith.ceildivui(pixels, self.index(self.tile)))
        first = arith.divui(arith.muli(workgroup_id, units), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), units), count)

        def tile(number: ir.Value) -> None:
            left = self.times(number, self.tile)
            columns = self._tile(left, arith.minui(self.add(left, self.tile), pixels))
            self._clear()
            if self.mean == "some":
                self._count_columns(columns)
            skipped = arith.muli(number, rows)
            top = arith.subi(arith.maxui(first, skipped), skipped)
            bottom = arith.minui(arith.subi(behind, skipped), rows)
            is_whole = self.compare(arith.CmpIPredicate.ule, pixels, self.tile)
            end = arith.muli(bottom, pixels)
            self.end = arith.select(is_whole, end, self.index(0))
            self._rows_of(columns, top, bottom)

        at_least_one = arith.maxui(rows, self.index(1))
        tiles = arith.divui(first, at_least_one), arith.ceildivui(behind, at_least_one)
        self.repeat(*tiles, tile)

    def _tile(self, left: ir.Value, right: ir.Value) -> _Tile:
        shape = self.shape
        origin = self.add(self.times(left, shape.strides[1]), -shape.low[1])
        pixels = arith.subi(arith.subi(right, left), self.index(1))
        end = arith.addi(origin, self.add(self.times(pixels, shape.strides[1]), self.reach))
        first = arith.maxsi(origin, self.index(0))
        last = arith.maxsi(arith.minsi(end, self.index(self.sizes.width)), first)
        return _Tile(left, right, origin, first, last)

    def _clear(self) -> None:
        """Emit lines of padding, of which rows overwrite what is inside the image."""

        def store(at: ir.Value, registers: Registers) -> Registers:
            self.store(self.splat(self.neutral), self.lines, at)
            return registers

        self.loop((self.index(0), self.index(self.line_size * _LINES)), [], store, self.lanes)

    def _count_columns(self, tile: _Tile) -> None:
        """Emit the columns of each window that count."""

        def count(number: ir.Value) -> None:
            pixel = arith.addi(tile.left, number)
            start = self.add(self.times(pixel, self.shape.strides[1]), -self.shape.low[1])
            memref.store(self._count(start, 1), self.counts, [number])

        self.repeat(self.index(0), arith.subi(tile.right, tile.left), count)

    def _count(self, start: ir.Value, axis: int) -> ir.Value:
        """The taps along `axis` that count, of a window from `start` on, or one if none does."""
        size = (self.sizes.height, self.sizes.width)[axis]
        if self.shape.counted is None:
            first, behind = self.inside(start, size, axis)
            taps = arith.subi(behind, first)
        else:
            end = self.add(self.index(size), self.shape.counted[axis])
            taps = self.taps_before(start, end, axis)
        taps = arith.maxsi(taps, self.index(1))
        number = arith.index_castui(ir.IntegerType.get_signless(32), taps)
        return arith.uitofp(self.element, number)

    def _rows_of(self, tile: _Tile, top: ir.Value, bottom: ir.Value) -> None:
        """Emit the pixels of a tile in the rows [`top`, `bottom`), counted over all planes."""

        def several(first: ir.Value, registers: Registers) -> Registers:
            count = arith.minui(arith.subi(bottom, first), self.index(_LINES))
            for step in (self._fill_line, self._read_line):
                self.repeat(
                    self.index(0), count,
                    lambda number, step=step: step(
                        tile, arith.addi(first, number), self.times(number, self.line_size)
                    ),
                )  # fmt: skip
            return registers

        self.loop((top, bottom), [], several, _LINES)

    def _fill_line(self, tile: _Tile, row: ir.Value, line: ir.Value) -> None:
        """Emit the line of a row of the result."""
        shape, sizes = self.shape, self.sizes
        height = self.index(sizes.result_height)
        plane, top = arith.divui(row, height), self._top_of(row)
        rows = self.inside(top, sizes.height, axis=0)
        above = arith.addi(self.times(plane, sizes.height), top)
        source = arith.addi(self.times(above, sizes.width), tile.first)
        inside = arith.addi(line, arith.subi(tile.first, tile.origin))
        count = arith.subi(tile.last, tile.first)
        is_whole = self.compare(
            arith.CmpIPredicate.eq, arith.subi(rows[1], rows[0]), shape.kernel[0]
        )
        kernel_rows = self.index(0), self.index(shape.kernel[0])
        self.choose(
            is_whole,
            lambda: self._combine_rows(source, inside, count, kernel_rows, True),
            lambda: self._combine_rows(source, inside, count, rows, False),
        )

    def _read_line(self, tile: _Tile, row: ir.Value, line: ir.Value) -> None:
        """Emit the pixels of a tile in a row of the result."""
        of_rows = self._count(self._top_of(row), 0) if self.mean == "some" else None
        target = arith.addi(arith.muli(row, self.index(self.sizes.result_width)), tile.left)
        self._combine_columns(line, target, arith.subi(tile.right, tile.left), of_rows)

    def _top_of(self, row: ir.Value) -> ir.Value:
        """The row of a plane at which windows begin."""
        position = arith.remui(row, self.index(self.sizes.result_height))
        return self.add(self.times(position, self.shape.strides[0]), -self.shape.low[0])

    def _combine_rows(
        self,
        source: ir.Value,
        inside: ir.Value,
        count: ir.Value,
        rows: tuple[ir.Value, ir.Value],
        is_whole: bool,
    ) -> None:
        """Emit `count` elements of the line, from `inside` on: the combined `rows` of a window."""
        shape, sizes = self.shape, self.sizes
        step = self.times(self.index(sizes.width), shape.dilations[0])
        pixels = self.index(product(product(sizes.images, sizes.height), sizes.width))

        def body(at: ir.Value, lanes: int, mask: ir.Value | None = None) -> None:
            here = arith.addi(source, at)

            def load(row: ir.Value) -> ir.Value:
                return self._read(self.image, arith.addi(here, arith.muli(row, step)), lanes)

            unrolled = is_whole and shape.kernel[0] <= _MOST_UNROLLED
            taps = [self.index(row) for row in range(shape.kernel[0])] if unrolled else rows
            total = self._combined_taps(taps, load, lanes)
            if mask is not None:
                total = arith.select(mask, total, self.splat(self.neutral, lanes))
            self.store(total, self.lines, arith.addi(inside, at))

        def few() -> None:
            """Read beyond the row, where that is inside of the image."""
            last = arith.muli(arith.subi(rows[1], self.index(1)), step)
            behind = arith.addi(self.add(source, self.lanes), last)
            mask = self.lanes_below(count)
            self.choose(
                arith.cmpi(arith.CmpIPredicate.sle, behind, pixels),
                lambda: body(self.index(0), self.lanes, mask),
                lambda: self.repeat(self.index(0), count, lambda at: body(at, 1)),
            )

        self._in_vectors(count, body, few)

    def _combine_columns(
        self, line: ir.Value, target: ir.Value, count: ir.Value, of_rows: ir.Value | None
    ) -> None:
        """Emit `count` pixels of the result from a line. Of a window, as many elements
        count as `of_rows` times those along its row."""
        shape = self.shape

        def combined(at: ir.Value, lanes: int) -> ir.Value:
            start = arith.addi(line, self.times(at, shape.strides[1]))

            def load(column: ir.Value) -> ir.Value:
                place = arith.addi(start, self.times(column, shape.dilations[1]))
                return self._strided(place, lanes)

            unrolled = shape.kernel[1] <= _MOST_UNROLLED * 2
            columns = [self.index(column) for column in range(shape.kernel[1])]
            taps = columns if unrolled else (self.index(0), self.index(shape.kernel[1]))
            total = self._combined_taps(taps, load, lanes)
            return self._finished(total, at, of_rows)

        def body(at: ir.Value, lanes: int) -> None:
            self.store(combined(at, lanes), self.result, arith.addi(target, at))

        def one(at: ir.Value) -> None:
            value = vector.broadcast(self.vector_of(1), memref.load(self.rest, [at]))
            self.store(value, self.result, arith.addi(target, at))

        def few() -> None:
            """Write beyond the row, where later ones of the workgroup are written."""
            value = combined(self.index(0), self.lanes)

            def one_by_one() -> None:
                self.store(value, self.rest, self.index(0))
                self.repeat(self.index(0), count, one)

            self.choose(
                arith.cmpi(arith.CmpIPredicate.ule, self.add(target, self.lanes), self.end),
                lambda: self.store(value, self.result, target),
                one_by_one,
            )

        self._in_vectors(count, body, few)

    def _combined_taps(
        self,
        taps: list[ir.Value] | tuple[ir.Value, ir.Value],
        load: Callable[[ir.Value], ir.Value],
        lanes: int,
    ) -> ir.Value:
        """The combination of what `load` gives for each of a list of taps, or those within
        bounds."""
        if isinstance(taps, list):
            return functools.reduce(self.combine, map(load, taps))
        (total,) = self.loop(
            taps, [self.splat(self.neutral, lanes)],
            lambda tap, found: [self.combine(found[0], load(tap))],
        )  # fmt: skip
        return total

    def _finished(self, total: ir.Value, at: ir.Value, of_rows: ir.Value | None) -> ir.Value:
        if self.mean is None:
            return total
        lanes = lanes_of(total)
        if of_rows is None:
            return arith.mulf(total, self.splat(1 / self.shape.taps, lanes))
        counts = vector.load(total.type, self.counts, [at])
        counts = arith.mulf(counts, vector.broadcast(total.type, of_rows))
        return arith.divf(total, counts)

    def _in_vectors(
        self,
        count: ir.Value,
        body: Callable[[ir.Value, int], None],
        few: Callable[[], None],
    ) -> None:
        """Emit `body` for `count` elements: in several vectors, in one, and in a last one that ends
        where they do; or `few`, if they do not fill a vector."""
        done = self.index(0)
        for lanes in (self.lanes * _UNROLL, self.lanes):
            end = arith.subi(count, arith.remui(count, self.index(lanes)))

            def run(at: ir.Value, registers: Registers, lanes: int = lanes) -> Registers:
                body(at, lanes)
                return registers

            self.loop((done, end), [], run, lanes)
            done = end

        def several() -> None:
            body(arith.subi(count, self.index(self.lanes)), self.lanes)

        fills = self.compare(arith.CmpIPredicate.uge, count, self.lanes)
        is_left = arith.cmpi(arith.CmpIPredicate.ult, done, count)
        self.choose(is_left, lambda: self.choose(fills, several, few), lambda: None)

    def _strided(self, at: ir.Value, lanes: int) -> ir.Value:
        """Elements of the line from `at` on, as far apart as windows are."""
        stride = self.shape.strides[1]
        loaded = self.load(self.lines, at, lanes=lanes * stride)
        if stride == 1:
            return loaded
        return vector.shuffle(loaded, loaded, list(range(0, lanes * stride, stride)))

    def _read(self, memory: ir.Value, at: ir.Value, lanes: int) -> ir.Value:
        loaded = self.load(memory, at, lanes=lanes)
        wide = self.vector_of(lanes)
        return loaded if loaded.type == wide else arith.extf(wide, loaded)
