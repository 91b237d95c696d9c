"""Direct convolution of 8-bit integers: the f32 kernel with a group of four channels in place of
each channel, and a dot product in place of the multiply-add.

Depthwise, vectors of channels are widened to 32 bits and multiplied by VPMADDWD, whose odd factors
are zero; or, along rows without dilation, four adjacent taps are a group (`is_windowed`): the
window of a pixel is that of the one before it, moved on by a byte (VPSHRDD).

An image may be padded with another value than zero: its zero point. That is read from memory, so
that layers that differ in it have one kernel.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...mlir import arith, ir, memref, vector
from .balanced_blocks import BLOCK_LINES, BesideWeights, FirstLine, block_loops, load_block
from .direct_conv_rows import KernelRow, Pixel
from .direct_conv_shape import DirectConvShape, RowTile
from .direct_convolution import DirectConvEmitter
from .emitter import Registers, VectorSlice, short_vectors
from .epilogue import Epilogue
from .group_dot import INT8_DOTS, GroupDot, WideningDot, add_all_products, add_word_products
from .int8_matmul import joined_bytes
from .sizes import Index

MOST_MULTIPLICATIONS = 1 << 24
"""Multiplications of a workgroup, at most: some 70 us of VPDPBUSD. With eight workgroups, a thread
waits for up to an eighth of the time of the kernel, where the other one is disturbed."""


def border_words(border: int, x_bytes: int) -> np.ndarray:
    """The words that kernels read of a `border`: the number, and each of its bytes four times."""
    repeated = [((border >> 8 * byte) & 0xFF) * 0x01010101 for byte in range(x_bytes)]
    return np.array([border, *repeated], np.uint32).view(np.int32)


@dataclass(frozen=True)
class Int8DirectConvShape(DirectConvShape):
    """A convolution whose channels are counted in groups of four, or one by one if it is
    depthwise."""

    dot: GroupDot = INT8_DOTS["avx512vnni"]
    has_border: bool = False
    """True if the image is padded with another value than zero."""
    factors: int = 0
    """Channels of a pixel, of which the last group may have fewer."""
    x_bytes: int = 1
    """Bytes of a channel: with two, a pixel has the low bytes of all channels, then the high
    ones."""

    is_windowed: bool = False
    """True for a depthwise convolution whose panels hold groups of taps: [kernel H, ceil(kernel
    W/4), n, 4]."""

    @property
    def tap_groups(self) -> int:
        """Groups of adjacent taps of a row of the kernel."""
        return -(-self.kernel[1] // self.dot.size)

    @property
    def row_weights(self) -> int:
        """See `DirectConvShape`; in groups."""
        return self.tap_groups * self.nr if self.is_windowed else super().row_weights

    @property
    def multiplies_groups(self) -> bool:
        """True if the weights are groups."""
        return self.is_windowed or not self.is_depthwise

    @property
    def most_rows(self) -> int | None:
        """See `DirectConvShape`: of batches, threads share small parts, of equal times."""
        width = self.result[2]
        if width is None:
            return None
        row = width * math.prod(self.kernel) * self.channels * self.group * self.nr
        return max(1, MOST_MULTIPLICATIONS // row)

    @property
    def group(self) -> int:
        """Adjacent factors of a channel as it is counted."""
        return 1 if self.is_depthwise else self.dot.size

    @property
    def flops_per_image(self) -> int:
        """See `DirectConvShape`."""
        return self.group * super().flops_per_image

    @property
    def rest(self) -> int:
        """Channels in the last group; 0 if it is full."""
        return self.factors % self.group

    @property
    def registers_per_pixel(self) -> int:
        """See `DirectConvShape`."""
        return super().registers_per_pixel * self.x_bytes

    @property
    def is_one_run(self) -> bool:
        """See `DirectConvShape`."""
        splits_blocks = self.is_balanced and self.channels % BLOCK_LINES
        return super().is_one_run and not self.rest and self.x_bytes == 1 and not splits_blocks

    @property
    def is_balanced(self) -> bool:
        """True if columns take the channels of a block in an order of their own."""
        return isinstance(self.dot, WideningDot) and self.dot.is_balanced

    @property
    def parts(self) -> list[VectorSlice]:
        """See `DirectConvShape`: vectors of the length that the instruction takes."""
        return short_vectors(self.nr, self.lanes)


class Int8DirectConvEmitter(DirectConvEmitter):
    """Emits the kernel. Indices of the weights count channels as the shape does, those of the image
    one by one."""

    shape: Int8DirectConvShape

    def __init__(
        self,
        shape: Int8DirectConvShape,
        image: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
        *beside: ir.Value,
    ):
        """`beside` are the buffers of `BesideWeights`, and `border_words` if there is a border."""
        super().__init__(shape, image, weights, output, epilogue)
        *others, border = beside if shape.has_border else (*beside, None)
        self.beside_weights = BesideWeights.of(shape.dot, others)
        self._border: list[ir.Value] = []
        if border is not None:
            words = range(1 + shape.x_bytes)
            self._border = [memref.load(border, [self.index(n)]) for n in words]

    @property
    def accumulator(self) -> ir.Type:
        """See `VectorEmitter`."""
        return self.shape.dot.accumulator

    @property
    def pixel_stride(self) -> int:
        """See `DirectConvEmitter`."""
        return self.shape.factors * self.shape.x_bytes

    @property
    def channel_stride(self) -> Index:
        """See `DirectConvEmitter`."""
        return self.shape.group

    # Products

    def channels(
        self, count: int, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """See `DirectConvEmitter`."""
        dot = self.shape.dot

        def factor(pixel: Pixel, byte: int, index: ir.Value, count: int | None) -> ir.Value:
            at = self.add(pixel.offset, self.times(index, dot.size))
            held = dot.load_one(self.image, self.add(at, byte * self.shape.factors), count)
            if pixel.inside is not None:
                held = arith.select(pixel.inside, held, self._border_group(byte))
            return dot.repeated(held)

        def group(
            index: ir.Value, registers: Registers, factors_read: int | None = None
        ) -> Registers:
            line = self.add(weights, self.times(index, self.shape.nr))
            factors = [
                partial(factor, pixel, byte, index, factors_read)
                for pixel in pixels
                for byte in range(self.shape.x_bytes)
            ]
            return self._add_products(registers, factors, line)

        def shuffled_group(index: ir.Value, registers: Registers, first_of: FirstLine) -> Registers:
            line = self.add(weights, self.times(index, self.shape.nr))
            step = self.times(first_of(index), dot.size)
            blocks = [partial(self._block, pixel, step) for pixel in pixels]
            return self._add_products(registers, blocks, line, order)

        rest, order = self.shape.rest, self.beside_weights.order
        full = count - 1 if rest else count
        if order is None:
            accumulators = self.loop((self.index(0), self.index(full)), accumulators, group)
        else:
            for first, last, first_of in block_loops(full):
                bounds = self.index(first), self.index(last)
                body = partial(shuffled_group, first_of=first_of)
                accumulators = self.loop(bounds, accumulators, body)
        return group(self.index(full), accumulators, rest) if rest else accumulators

    def _block(self, pixel: Pixel, step: ir.Value) -> ir.Value:
        """The block of channels at channel `step` of a pixel."""
        block = load_block(self.image, self.add(pixel.offset, step))
        if pixel.inside is None:
            return block
        return arith.select(pixel.inside, block, self._border_factor())

    def vectors(
        self, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """See `DirectConvEmitter`."""
        columns, masks = self._columns(weights), map(self.mask_of, self.shape.parts)
        parts = list(zip(self.shape.parts, columns, masks, strict=True))
        results = list(accumulators)
        for number, pixel in enumerate(pixels):
            for index, (part, column, mask) in enumerate(parts, start=number * len(parts)):
                at = self.add(pixel.offset, part.start)
                value = arith.extui(self._wide, self.load(self.image, at, mask))
                if pixel.inside is not None:
                    value = arith.select(pixel.inside, value, self._border_factor())
                results[index] = self._multiply_add(results[index], value, column)
        return results

    def _columns(self, line: ir.Value) -> list[ir.Value]:
        """The vectors of weights of a panel's line. Nothing behind the line is read: that of the
        last panel ends with the memory of the weights."""
        if self.shape.multiplies_groups:
            return self._groups(self.weights, line)
        starts = [self.add(line, part.start) for part in self.shape.parts]
        masks = map(self.mask_of, self.shape.parts)
        loaded = [self.load(self.weights, *at) for at in zip(starts, masks, strict=True)]
        return [arith.extsi(self._wide, value) for value in loaded]

    def _groups(self, memory: ir.Value, line: ir.Value) -> Registers:
        """The vectors of groups in `memory` for a panel's line."""
        dot, parts = self.shape.dot, self.shape.parts
        ats = [self.times(self.add(line, part.start), dot.size) for part in parts]
        return [dot.load(memory, at, part.count) for at, part in zip(ats, parts, strict=True)]

    @property
    def _wide(self) -> ir.VectorType:
        """The type of a vector of channels, or of their weights, as 32 bits."""
        return self.vector_of(self.lanes, self.accumulator)

    def _add_products(
        self,
        totals: Registers,
        factors: Sequence[Callable[[], ir.Value]],
        line: ir.Value,
        order: ir.Value | None = None,
    ) -> Registers:
        """Add the products of groups by a line of weights to `totals`; of blocks, if there is an
        `order` of their factors."""
        exact = None
        if self.beside_weights.exact is not None:
            number = arith.divui(line, self.index(self.shape.nr))
            exact = memref.load(self.beside_weights.exact, [number])
        columns = self._columns(line)
        orders = None if order is None else self._groups(order, line)
        return add_all_products(self, self.shape.dot, totals, factors, columns, exact, orders)

    def _multiply_add(self, total: ir.Value, factor: ir.Value, column: ir.Value) -> ir.Value:
        """Add the products of a vector of channels by a column to `total`."""
        words = ir.VectorType.get([2 * self.lanes], ir.IntegerType.get_signless(16))
        return add_word_products(
            total, vector.bitcast(words, factor), vector.bitcast(words, column)
        )

    def totals(self, accumulators: Registers) -> Registers:
        """See `DirectConvEmitter`."""
        if self.shape.x_bytes == 1:
            return accumulators
        return joined_bytes(accumulators, len(self.shape.parts))

    # Windows of taps

    def taps_of(self, tile: RowTile) -> KernelRow:
        """See `DirectConvEmitter`."""
        if not self.shape.is_windowed:
            return super().taps_of(tile)
        stride = self.shape.strides[1]
        inside = {at * stride + tap for tap, some in enumerate(tile.inside) for at in some}
        starts = [stride * pixel for pixel in range(tile.pixels)]

        def taps(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            def pixel(column: int) -> Pixel | None:
                offset = self.add(image, column * self.pixel_stride)
                return Pixel(offset) if column in inside else None

            pixels = [pixel(column) for column in range(starts[-1] + self.shape.kernel[1])]
            return self._add_windows([(pixels, starts)], weights, accumulators)

        return taps

    def border_taps(self, lefts: Sequence[ir.Value]) -> KernelRow:
        """See `DirectConvEmitter`."""
        if not self.shape.is_windowed:
            return super().border_taps(lefts)

        def taps(image: ir.Value, weights: ir.Value, accumulators: Registers) -> Registers:
            columns = range(self.shape.kernel[1])
            runs = [
                ([self.clamped(image, self.add(left, tap)) for tap in columns], [0])
                for left in lefts
            ]
            return self._add_windows(runs, weights, accumulators)

        return taps

    def _add_windows(
        self,
        runs: Sequence[tuple[Sequence[Pixel | None], Sequence[int]]],
        weights: ir.Value,
        accumulators: Registers,
    ) -> Registers:
        """Accumulate a row of taps, whose weights are given, of some pixels: `runs` of adjacent
        pixels of the image, None beside it, and where in them the windows begin."""
        shape, dot = self.shape, self.shape.dot
        results, step = list(accumulators), len(shape.parts)
        for number, part in enumerate(shape.parts):
            columns = [
                self.times(self.add(weights, group * shape.nr + part.start), dot.size)
                for group in range(shape.tap_groups)
            ]
            groups = [dot.load(self.weights, at, part.count) for at in columns]
            at = number
            for pixels, starts in runs:
                windows = self._windows([self._wide_factor(each, part) for each in pixels])
                for start in starts:
                    for group, line in enumerate(groups):
                        window = windows[start + group * dot.size]
                        results[at] = dot.multiply_add(results[at], window, line)
                    at += step
        return results

    def _wide_factor(self, pixel: Pixel | None, part: VectorSlice) -> ir.Value:
        """Channels of a pixel as i32."""
        border = self._border_factor_of_channels()
        if pixel is None:
            return border
        at = self.add(pixel.offset, part.start)
        value = arith.extui(self._wide, self.load(self.image, at, self.mask_of(part)))
        return value if pixel.inside is None else arith.select(pixel.inside, value, border)

    def _windows(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """The groups of four bytes that begin at each of `values`, whose others are zero; behind
        the last value there is nothing that counts."""
        size, window = self.shape.dot.size, self.splat(0, element=self.accumulator)
        byte, rest = (self.splat(bits, element=self.accumulator) for bits in (8, 8 * size - 8))
        found = []
        for number in range(len(values) + size - 1):
            window = arith.shrui(window, byte)
            if number < len(values):
                window = arith.ori(window, arith.shli(values[number], rest))
            if number >= size - 1:
                found.append(vector.bitcast(self.shape.dot.groups, window))
        return found

    # Padding

    def _border_group(self, byte: int) -> ir.Value:
        """A group of channels outside of the image, as an i32: their bytes of that number."""
        if self.shape.has_border:
            return self._border[1 + byte]
        return arith.constant(self.accumulator, 0)

    def _border_factor_of_channels(self) -> ir.Value:
        """A vector of channels outside of the image, as i32."""
        if self.shape.has_border:
            return vector.broadcast(self.vector_of(self.lanes, self.accumulator), self._border[0])
        return self.splat(0, element=self.accumulator)

    def _border_factor(self, byte: int = 0) -> ir.Value:
        """A vector of factors outside of the image."""
        if not self.shape.multiplies_groups:
            return self._border_factor_of_channels()
        return self.shape.dot.repeated(self._border_group(byte))

    def beside(
        self,
        pixels: int,
        inside: tuple[ir.Value, ir.Value],
        weights: ir.Value,
        accumulators: Registers,
    ) -> Registers:
        """See `DirectConvEmitter`."""
        shape = self.shape
        if not shape.has_border:
            return accumulators
        length, end = shape.row_weights // shape.nr, self.index(shape.kernel[0])

        def kernel_row(tap: ir.Value, sums: Registers) -> Registers:
            line = self.add(weights, self.times(tap, shape.row_weights))
            return self._border_sums(line, length, sums)

        first, last = arith.minsi(inside[0], end), inside[1]
        sums = self.loop((self.index(0), first), self.no_products(1), kernel_row)
        sums = self.loop((arith.maxsi(last, first), end), sums, kernel_row)
        return [
            arith.addi(total, more)
            for total, more in zip(accumulators, list(sums) * pixels, strict=True)
        ]

    def outside(
        self, tile: RowTile, tap: int, weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """See `DirectConvEmitter`."""
        shape, parts = self.shape, self.shape.registers_per_pixel
        beside = set(range(tile.pixels)) - set(tile.inside[tap])
        if not shape.has_border or not beside:
            return accumulators
        line = self.add(weights, tap * shape.channels * shape.nr)
        sums = self._border_sums(line, shape.channels, self.no_products(1))
        return [
            arith.addi(total, sums[n % parts]) if n // parts in beside else total
            for n, total in enumerate(accumulators)
        ]

    def multiply_inside(
        self, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """See `DirectConvEmitter`."""
        if self.shape.has_border:
            return self.multiply_tap(pixels, weights, accumulators)
        return super().multiply_inside(pixels, weights, accumulators)

    def _border_sums(self, line: ir.Value, count: int, sums: Registers) -> Registers:
        """Add the products of the border by `count` lines of weights to `sums`."""
        border_factors = [self._border_factor(byte) for byte in range(self.shape.x_bytes)]
        borders = [partial(lambda value: value, value) for value in border_factors]

        def step(index: ir.Value, registers: Registers) -> Registers:
            here = self.add(line, self.times(index, self.shape.nr))
            if self.shape.multiplies_groups:
                return self._add_products(registers, borders, here)
            return [
                self._multiply_add(total, border_factors[0], column)
                for total, column in zip(registers, self._columns(here), strict=True)
            ]

        return self.loop((self.index(0), self.index(count)), sums, step)
