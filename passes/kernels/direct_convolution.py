"""Direct convolution: a kernel that keeps a tile of the result in registers.

A workgroup computes some rows of the result by one panel of features. Each row is cut into tiles of
pixels. A tile is accumulated over all taps and channels in registers, goes through the epilogue and
is stored. Nothing is padded: the bounds of the loop over the kernel's rows skip rows outside the
image. Border tiles skip the taps that fall outside, if the length of rows is known at compile time.
Otherwise they read zeros instead, and the last tile of a row overlaps the one before it.

In a depthwise convolution, a tap multiplies vectors of channels, and channels are not summed.
"""

from collections.abc import Callable, Sequence

from ...mlir import arith, ir, memref, vector
from .direct_conv_rows import ConvRow, DirectConvRows, KernelRow, Panel, Pixel
from .direct_conv_shape import RowTile
from .emitter import Registers, VectorSlice
from .epilogue import OutputPosition
from .sizes import product

MANY_CHANNELS = 16
"""Channels of a pixel outside the image, from which it is cheaper to discard their sums than to
mask each."""


class DirectConvEmitter(DirectConvRows):
    """Emits the kernel: what is done with a tile of pixels."""

    def border_taps(self, lefts: Sequence[ir.Value]) -> KernelRow:
        """See `DirectConvRows`."""
        shape = self.shape

        def taps(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            def tap(number: ir.Value, registers: Registers) -> Registers:
                step = self.times(number, shape.dilations[1])
                read = [self.clamped(image, self.add(left, step)) for left in lefts]
                line = self.add(weights, self.times(number, shape.channels * shape.nr))
                return self.multiply_inside(read, line, registers)

            bounds = (self.index(0), self.index(shape.kernel[1]))
            return self.loop(bounds, accumulators, tap)

        return taps

    def accumulate(
        self,
        base: ir.Value,
        row: ConvRow,
        panel: Panel,
        offsets: Sequence[ir.Value],
        taps: KernelRow,
    ) -> None:
        """See `DirectConvRows`."""
        shape = self.shape
        features = [self.add(panel.feature, part.start) for part in shape.parts]
        masks = [self.mask_of(part) for part in shape.parts]
        spots = [
            OutputPosition(at, self.add(offset, part.start), part.lanes, mask)
            for offset in offsets
            for part, at, mask in zip(shape.parts, features, masks, strict=True)
        ]

        def plane(
            image: ir.Value, weights: ir.Value, inside: tuple[ir.Value, ir.Value], sums: Registers
        ) -> Registers:
            def kernel_row(tap: ir.Value, registers: Registers) -> Registers:
                line = self.times(tap, shape.row_weights)
                start = self.add(image, self.row_offset(row.origin, row.first, tap))
                return taps(start, self.add(weights, line), registers)

            sums = self.beside(len(offsets), inside, weights, sums)
            return self.loop(inside, sums, kernel_row)

        accumulators = self.no_products(len(offsets))
        if row.plane is None:
            accumulators = plane(base, panel.weights, row.taps, accumulators)
        else:
            accumulators = self._all_planes(base, row, panel.weights, accumulators, plane)
        accumulators = self.totals(accumulators)
        for spot, value in zip(spots, self.epilogue(spots, accumulators), strict=True):
            self.store(value, self.output, spot.offset, spot.mask)

    def _all_planes(
        self,
        base: ir.Value,
        row: ConvRow,
        weights: ir.Value,
        accumulators: Registers,
        plane: Callable[..., Registers],
    ) -> Registers:
        """Accumulate the planes of the kernel: each by `plane`, which receives the image and the
        weights of the plane, and the bounds of its kernel rows inside the image."""
        shape, planes = self.shape, self.shape.planes
        line = product(self.sizes.width, self.pixel_stride)
        step = product(self.sizes.height, line)
        size = shape.kernel[0] * shape.row_weights
        none = self.index(0)

        def tap(number: ir.Value, registers: Registers) -> Registers:
            assert row.plane is not None
            at = self.add(row.plane, self.times(number, planes.dilation))
            is_inside = self.compare(arith.CmpIPredicate.ult, at, self.sizes.planes)
            first, last = (arith.select(is_inside, bound, none) for bound in row.taps)
            image = self.add(base, self.times(at, step))
            rows = self.add(weights, self.times(number, size))
            return plane(image, rows, (first, last), registers)

        return self.loop((self.index(0), self.index(planes.kernel)), accumulators, tap)

    def no_products(self, pixels: int) -> Registers:
        """The accumulators of `pixels` pixels before anything is added."""
        shape = self.shape
        return self.zeros(pixels * shape.registers_per_pixel // len(shape.parts), shape.parts)

    def totals(self, accumulators: Registers) -> Registers:
        """The sums of products of some pixels, one for each of `parts`, from the accumulators."""
        return accumulators

    def beside(
        self,
        pixels: int,
        inside: tuple[ir.Value, ir.Value],
        weights: ir.Value,
        accumulators: Registers,
    ) -> Registers:
        """Accumulate the kernel rows that are not within the bounds `inside` the image, for all of
        `pixels` pixels of a row. Padded with zeros, they change nothing."""
        del pixels, inside, weights
        return accumulators

    def taps_of(self, tile: RowTile) -> KernelRow:
        """See `DirectConvRows`."""
        shape = self.shape

        def pixel(image: ir.Value, position: int) -> Pixel:
            return Pixel(self.add(image, position * shape.strides[1] * self.pixel_stride))

        def as_one_run(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            pixels = [pixel(image, position) for position in range(tile.pixels)]
            count = shape.kernel[1] * shape.channels
            return self.channels(count, pixels, weights, accumulators)

        def one_by_one(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            for tap, inside in enumerate(tile.inside):
                accumulators = self.outside(tile, tap, weights, accumulators)
                if inside:
                    start = self.add(image, tap * shape.dilations[1] * self.pixel_stride)
                    line = self.add(weights, tap * shape.channels * shape.nr)
                    parts = shape.registers_per_pixel
                    pixels = [pixel(start, position) for position in inside]
                    where = [n for p in inside for n in range(p * parts, (p + 1) * parts)]
                    some = [accumulators[n] for n in where]
                    some = self.multiply_tap(pixels, line, some)
                    accumulators = list(accumulators)
                    for n, value in zip(where, some, strict=True):
                        accumulators[n] = value
            return accumulators

        def in_a_loop(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            def tap(number: ir.Value, registers: Registers) -> Registers:
                start = self.add(image, self.times(number, shape.dilations[1] * self.pixel_stride))
                pixels = [pixel(start, position) for position in range(tile.pixels)]
                line = self.add(weights, self.times(number, shape.channels * shape.nr))
                return self.multiply_tap(pixels, line, registers)

            return self.loop((self.index(0), self.index(shape.kernel[1])), accumulators, tap)

        if tile.is_interior and shape.is_one_run and not shape.is_depthwise:
            return as_one_run
        is_long = tile.is_interior and shape.is_long
        return in_a_loop if is_long else one_by_one

    def outside(
        self, tile: RowTile, tap: int, weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate `tap` of a kernel row, whose weights are given, for the pixels of `tile` for
        which it is beside the image. Padded with zeros, they change nothing."""
        del tile, tap, weights
        return accumulators

    # Products

    def multiply_inside(
        self, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate one tap of the `pixels` inside the image. The others are masked, or, if there
        are many channels to mask, accumulated in vain."""
        if self.shape.channels < MANY_CHANNELS:
            return self.multiply_tap(pixels, weights, accumulators)
        unmasked = [Pixel(pixel.offset) for pixel in pixels]
        sums = self.multiply_tap(unmasked, weights, accumulators)
        parts = self.shape.registers_per_pixel
        flags = [pixel.inside for pixel in pixels for _ in range(parts)]
        return [
            new if inside is None else arith.select(inside, new, old)
            for inside, new, old in zip(flags, sums, accumulators, strict=True)
        ]

    def multiply_tap(
        self, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate one tap of some pixels."""
        if self.shape.is_depthwise:
            return self.vectors(pixels, weights, accumulators)
        return self.channels(self.shape.channels, pixels, weights, accumulators)

    def vectors(
        self, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate one depthwise tap, vectors of channels, of some pixels."""
        columns = self._load_panel(self.weights, weights)
        results = list(accumulators)
        for number, pixel in enumerate(pixels):
            values = self._load_panel(self.image, pixel.offset)
            at = number * len(columns)
            for index, (value, column) in enumerate(zip(values, columns, strict=True), start=at):
                if pixel.inside is not None:
                    zero = arith.constant(
                        value.type,
                        ir.DenseElementsAttr.get_splat(value.type, ir.FloatAttr.get_f32(0)),
                    )
                    value = arith.select(pixel.inside, value, zero)
                results[index] = vector.fma(value, column, results[index])
        return results

    def _load_panel(self, memory: ir.Value, offset: ir.Value) -> Registers:
        """Load the vectors of a panel from `offset` of `memory` on."""
        parts = self.shape.parts
        return self.load_all(
            memory, offset, [part.lanes for part in parts], self.mask_of(parts[-1])
        )

    def mask_of(self, part: VectorSlice) -> ir.Value | None:
        """The mask of the features in a vector of a panel; None if they fill it."""
        return None if part.count == part.lanes else self.first_lanes(part.count)

    def channels(
        self, count: int, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate `count` consecutive channels of some pixels."""
        shape = self.shape

        def channel(index: ir.Value, registers: Registers) -> Registers:
            step = self.times(index, self.channel_stride)
            line = self.add(weights, self.times(index, shape.nr))
            columns = self._load_panel(self.weights, line)
            registers = list(registers)
            for number, pixel in enumerate(pixels):
                scalar = memref.load(self.image, [self.add(pixel.offset, step)])
                if pixel.inside is not None:
                    nothing = arith.constant(ir.F32Type.get(), 0.0)
                    scalar = arith.select(pixel.inside, scalar, nothing)
                self.multiply_add(scalar, columns, registers, number * len(columns))
            return registers

        return self.loop((self.index(0), self.index(count)), accumulators, channel)
