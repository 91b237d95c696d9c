"""Pools of channels-last images, by vectors of channels.

A workgroup computes some rows of the result, or parts of them. Nothing is padded: a window takes
the elements that lie inside the image, and only windows at its borders test which. Any size of the
image but its channels may be known only at run time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import Registers, VectorEmitter
from .image_extents import Extents, ImageSizes
from .sizes import Index, index, product

WORKGROUPS = 16
"""Workgroups of a pool, at most."""
ELEMENTS = 1 << 15
"""Elements that a workgroup reads, at least."""
_UNROLL = 4
"""Vectors of channels that are computed at a time, at most."""
_BELOW = arith.CmpIPredicate.ult

Combine = Callable[[ir.Value, ir.Value], ir.Value]
Finish = Callable[[ir.Value, ir.Value | None], ir.Value]
"""The vector to store, from a combined one and the number of elements that count (an index, or None
for all of a window)."""


@dataclass(frozen=True)
class PoolShape:
    """Windows of `kernel` elements on `image`; vectors have `lanes` elements, of one pixel.

    An element of the padding that counts lies up to `low` before the image, or up to `counted`
    behind it; None if none counts.
    """

    image: Extents
    result: Extents
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    low: tuple[int, int]
    lanes: int
    counted: tuple[int, int] | None = None

    flops = 0

    @property
    def channels(self) -> int:
        return self.image[3]

    @property
    def taps(self) -> int:
        """Elements of a window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes are known."""
        images, height, width, channels = (size or 0 for size in self.result)
        reads = images * height * width * channels * self.taps
        return min(max(reads // ELEMENTS, 1), WORKGROUPS)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups, for the dynamic sizes of the image, then of the result."""
        sizes = ImageSizes.of(self.image, self.result, dynamic)
        if None not in self.result:
            return index(self.workgroups)
        pixels = product(product(sizes.images, sizes.result_height), sizes.result_width)
        reads = index(product(pixels, self.channels * self.taps))
        wanted = arith.maxui(arith.divui(reads, index(ELEMENTS)), index(1))
        return arith.minui(wanted, index(WORKGROUPS))


@dataclass(frozen=True)
class _Window:
    """Where windows begin: the offset of the first tap in memory. The first tap along both axes
    that lies inside the image, and that behind the last."""

    offset: ir.Value
    rows: tuple[ir.Value, ir.Value]
    columns: tuple[ir.Value, ir.Value]


class TapEmitter(VectorEmitter):
    """Emits what kernels of pools share: the taps of windows that lie inside an image."""

    sizes: ImageSizes

    def __init__(self, shape: PoolShape, image: ir.Value, result: ir.Value, combine: Combine):
        super().__init__(shape.lanes, ir.MemRefType(image.type).element_type)
        self.shape, self.image, self.result, self.combine = shape, image, result, combine

    def inside(self, start: ir.Value, size: Index, axis: int) -> tuple[ir.Value, ir.Value]:
        """Bounds of the taps along `axis` that lie inside of `size` elements, if the first tap is
        at `start`."""
        dilation, taps = self.index(self.shape.dilations[axis]), self.shape.kernel[axis]
        before = arith.ceildivsi(arith.subi(self.index(0), start), dilation)
        first = arith.minsi(arith.maxsi(before, self.index(0)), self.index(taps))
        return first, arith.maxsi(self.taps_before(start, size, axis), first)

    def taps_before(self, start: ir.Value, end: Index, axis: int) -> ir.Value:
        """The taps along `axis` that lie before `end`."""
        dilation = self.index(self.shape.dilations[axis])
        after = arith.ceildivsi(arith.subi(self.index(end), start), dilation)
        return arith.minsi(after, self.index(self.shape.kernel[axis]))


class PoolEmitter(TapEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: PoolShape,
        image: ir.Value,
        result: ir.Value,
        combine: Combine,
        initial: ir.Value,
        finish: Finish,
    ):
        """`initial` is a vector, neutral to `combine`."""
        super().__init__(shape, image, result, combine)
        self.initial, self.finish = initial, finish

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the dynamic sizes of the image, then of the result."""
        shape = self.shape
        self.sizes = sizes = ImageSizes.of(shape.image, shape.result, dynamic)
        count = shape.count_workgroups(*dynamic)
        rows = self.index(product(sizes.images, sizes.result_height))
        # Few long rows, such as sequences, are cut into parts.
        parts = arith.ceildivui(count, arith.maxui(rows, self.index(1)))
        units, pixels = arith.muli(rows, parts), self.index(sizes.result_width)
        first = arith.divui(arith.muli(workgroup_id, units), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), units), count)

        def unit(number: ir.Value) -> None:
            row, part = arith.divui(number, parts), arith.remui(number, parts)
            left = arith.divui(arith.muli(part, pixels), parts)
            right = arith.divui(arith.muli(self.add(part, 1), pixels), parts)
            self._row(row, left, right)

        self.repeat(first, behind, unit)

    def _row(self, row: ir.Value, left: ir.Value, right: ir.Value) -> None:
        """Emit the pixels in [`left`, `right`) of a row, counted over all images: those whose
        windows lie inside the image, then the others, at both ends."""
        shape, sizes = self.shape, self.sizes
        height = self.index(sizes.result_height)
        batch, position = arith.divui(row, height), arith.remui(row, height)
        top = self.add(self.times(position, shape.strides[0]), -shape.low[0])
        rows = self.inside(top, sizes.height, axis=0)
        line = arith.addi(self.times(batch, sizes.height), top)
        line = self.times(self.times(line, sizes.width), shape.channels)
        target = self.times(arith.muli(row, self.index(sizes.result_width)), shape.channels)

        first = self.index(-(-shape.low[1] // shape.strides[1]))
        first = arith.minui(arith.maxui(first, left), right)
        reach = (shape.kernel[1] - 1) * shape.dilations[1] + 1
        room = self.add(self.index(sizes.width), shape.low[1] - reach + shape.strides[1])
        last = arith.floordivsi(room, self.index(shape.strides[1]))
        last = arith.maxsi(arith.minsi(last, right), first)
        whole = arith.cmpi(
            arith.CmpIPredicate.eq, arith.subi(rows[1], rows[0]), self.index(shape.kernel[0])
        )
        last = arith.select(whole, last, first)

        def begin(pixel: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
            column = self.add(self.times(pixel, shape.strides[1]), -shape.low[1])
            offset = arith.addi(line, self.times(column, shape.channels))
            return column, offset, arith.addi(target, self.times(pixel, shape.channels))

        def inner(pixel: ir.Value) -> None:
            _, offset, result = begin(pixel)
            self._channels(result, lambda at, count: self._whole(offset, at, count))

        def border(number: ir.Value) -> None:
            before = arith.cmpi(_BELOW, number, arith.subi(first, left))
            skipped = arith.subi(last, first)
            pixel = arith.addi(left, number)
            pixel = arith.select(before, pixel, arith.addi(pixel, skipped))
            column, offset, result = begin(pixel)
            window = _Window(offset, rows, self.inside(column, sizes.width, axis=1))
            counted = self._counted(window, top, column)
            self._channels(result, lambda at, n: self._partial(window, at, n), counted)

        self.repeat(first, last, inner)
        others = arith.subi(arith.subi(right, left), arith.subi(last, first))
        self.repeat(0, others, border)

    def _counted(self, window: _Window, top: ir.Value, column: ir.Value) -> ir.Value:
        """The elements of a window that count; one if there are none."""
        shape, sizes = self.shape, self.sizes
        if shape.counted is None:
            counts = [arith.subi(behind, first) for first, behind in (window.rows, window.columns)]
        else:
            ends = [
                self.add(self.index(size), padding)
                for size, padding in zip((sizes.height, sizes.width), shape.counted, strict=True)
            ]
            counts = [
                self.taps_before(start, end, axis)
                for axis, (start, end) in enumerate(zip((top, column), ends, strict=True))
            ]
        return arith.maxsi(arith.muli(*counts), self.index(1))

    # Channels

    def _channels(
        self,
        result: ir.Value,
        compute: Callable[[ir.Value, int], Registers],
        counted: ir.Value | None = None,
    ) -> None:
        """Emit a pixel, stored from `result` on: `compute` returns some vectors of channels. The
        last vector overlaps the one before it, if channels do not fill vectors."""
        shape = self.shape
        step = shape.lanes * _UNROLL
        many = shape.channels // step * step

        def vectors(at: ir.Value, count: int) -> None:
            values = [self.finish(value, counted) for value in compute(at, count)]
            self.store_all(values, self.result, arith.addi(result, at))

        if many:
            self.loop(
                (self.index(0), self.index(many)), [],
                lambda at, registers: (vectors(at, _UNROLL), registers)[1], step=step,
            )  # fmt: skip
        left = (shape.channels - many) // shape.lanes
        if left:
            vectors(self.index(many), left)
        if shape.channels % shape.lanes:
            vectors(self.index(shape.channels - shape.lanes), 1)

    def _whole(self, offset: ir.Value, at: ir.Value, count: int) -> Registers:
        """`count` vectors of channels, from channel `at` on, of a window inside the image."""
        shape = self.shape
        start = arith.addi(offset, at)

        def kernel_row(tap: ir.Value, found: Registers) -> Registers:
            line = arith.addi(start, self._row_offset(tap))
            for column in range(shape.kernel[1]):
                here = self.add(line, column * shape.dilations[1] * shape.channels)
                found = self._combined(found, here)
            return found

        bounds = (self.index(0), self.index(shape.kernel[0]))
        return self.loop(bounds, [self.initial] * count, kernel_row)

    def _partial(self, window: _Window, at: ir.Value, count: int) -> Registers:
        """`count` vectors of channels, from channel `at` on, of a window at the border."""
        shape = self.shape
        start = arith.addi(window.offset, at)

        def kernel_row(tap: ir.Value, found: Registers) -> Registers:
            line = arith.addi(start, self._row_offset(tap))

            def column(tap: ir.Value, found: Registers) -> Registers:
                step = self.times(tap, shape.dilations[1] * shape.channels)
                return self._combined(found, arith.addi(line, step))

            return self.loop(window.columns, found, column)

        return self.loop(window.rows, [self.initial] * count, kernel_row)

    def _row_offset(self, tap: ir.Value) -> ir.Value:
        step = self.times(tap, self.shape.dilations[0] * self.shape.channels)
        return self.times(step, self.sizes.width)

    def _combined(self, found: Registers, at: ir.Value) -> Registers:
        """`found` with what lies from `at` on."""
        loaded = self.load_all(self.image, at, [self.lanes] * len(found))
        return list(map(self.combine, found, loaded))
