"""Direct convolution: a kernel that keeps a tile of the result in registers.

A workgroup computes some rows of the result by one panel of features. Each row is cut into tiles of
pixels. A tile is accumulated over all taps and channels in registers, goes through the epilogue and
is stored. Nothing is padded: the bounds of the loop over the kernel's rows skip rows outside the
image, and border tiles, whose positions are known at compile time, skip the taps that fall outside.

In a depthwise convolution, a tap multiplies vectors of channels, and channels are not summed.
"""

import math
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter, VectorSlice, long_vectors
from .epilogue import Epilogue, OutputPosition

MIN_WORKGROUPS = 8
"""Workgroups that a convolution should split into, for threads to share."""


@dataclass(frozen=True)
class DirectConvShape:
    """The sizes of a convolution and of its tiles."""

    image: tuple[int, int, int, int]
    result: tuple[int, int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    low: tuple[int, int]
    nr: int
    """Features in a panel."""
    groups: int
    tile_w: int
    lanes: int
    planar: bool = False
    """True if the image is channels-first (NCHW) in memory."""

    @property
    def image_rows(self) -> int:
        """Rows of one image in memory, over all planes if it is planar."""
        return self.image[1] * (self.image[3] if self.planar else 1)

    @property
    def pixel(self) -> int:
        """Stride from one pixel of a row to the next, in elements."""
        return 1 if self.planar else self.image[3]

    @property
    def channel(self) -> int:
        """Stride from one channel of a pixel to the next, in elements."""
        return self.image[1] * self.image[2] if self.planar else 1

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.result) * math.prod(self.kernel) * self.channels

    @property
    def channels(self) -> int:
        """Channels that a panel reads, which are those of its group."""
        return self.image[3] // self.groups

    @property
    def is_depthwise(self) -> bool:
        """True if every channel has its own kernel, so that a panel spans many groups."""
        return self.groups == self.image[3] == self.result[3]

    @property
    def panels(self) -> int:
        return self.result[3] // self.nr

    @property
    def parts(self) -> list[VectorSlice]:
        """Vectors in a panel."""
        return long_vectors(self.nr, self.lanes)

    @property
    def workgroups(self) -> int:
        """Workgroups."""
        return self.rows // self.chunk * self.panels

    @property
    def rows(self) -> int:
        """Rows of the result, over the whole batch."""
        return self.result[0] * self.result[1]

    @property
    def chunk(self) -> int:
        """Rows in a workgroup."""
        wanted = max(1, self.rows * self.panels // MIN_WORKGROUPS)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)

    def is_inside(self, position: int, tap: int) -> bool:
        """Return whether column `tap` of the kernel falls into the image at pixel `position`."""
        column = position * self.strides[1] - self.low[1] + tap * self.dilations[1]
        return 0 <= column < self.image[2]

    def tiles(self) -> list[range]:
        """The pixels of a row, tile by tile."""
        starts = range(0, self.result[2], self.tile_w)
        return [range(s, min(s + self.tile_w, self.result[2])) for s in starts]

    def is_interior(self, tile: range) -> bool:
        """Return whether a tile is full and all of its taps fall into the image."""
        taps = range(self.kernel[1])
        inside = all(self.is_inside(position, tap) for position in tile for tap in taps)
        return inside and len(tile) == self.tile_w

    @property
    def is_one_run(self) -> bool:
        """True if the taps of a kernel row are contiguous in memory."""
        return self.dilations[1] == 1 and self.groups == 1 and not self.planar


class DirectConvEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: DirectConvShape,
        image: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.image, self.weights, self.output = shape, image, weights, output
        self.epilogue = epilogue

    # The kernel, from the outside in

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the panels of one chunk of rows are consecutive."""
        shape = self.shape
        panel = arith.remui(workgroup_id, self.index(shape.panels))
        chunk = arith.divui(workgroup_id, self.index(shape.panels))
        first = self.times(chunk, shape.chunk)
        bounds = (first, self.add(first, shape.chunk))

        def row(index: ir.Value, registers: Registers) -> Registers:
            self.row(index, panel)
            return registers

        self.loop(bounds, [], row)

    def row(self, row: ir.Value, panel: ir.Value) -> None:
        """Emit one row of the result by a panel."""
        positions = self.index(self.shape.result[1])
        batch, position = arith.divui(row, positions), arith.remui(row, positions)
        self.row_of(position, self.times(batch, self.shape.image_rows), row, panel)

    def rows_of(self, position: ir.Value, count: int, origin: ir.Value, row: ir.Value) -> None:
        """Emit `count` result rows of one image, from row `position` on, into the rows of the
        result buffer from `row` on. Row 0 of the image is row `origin` of its buffer."""

        def panel(panel: ir.Value) -> None:
            def line(line: ir.Value) -> None:
                self.row_of(self.add(position, line), origin, self.add(row, line), panel)

            self.repeat(0, count, line)

        self.repeat(0, self.shape.panels, panel)

    def row_of(self, position: ir.Value, origin: ir.Value, row: ir.Value, panel: ir.Value) -> None:
        """Emit one row by a panel; see `rows_of`."""
        shape = self.shape
        top = self.add(self.times(position, shape.strides[0]), -shape.low[0])
        first = self.times(self.add(origin, top), shape.image[2] * shape.pixel)
        first = self.add(first, self.times(self._first_channel(panel), shape.channel))
        taps = self._rows_inside(top)
        feature = self.times(panel, shape.nr)
        size = shape.kernel[0] * shape.kernel[1] * shape.channels * shape.nr
        start = self.times(panel, size)
        offset = self.add(self.times(row, shape.result[2] * shape.result[3]), feature)
        for tiles in _runs(shape):
            if len(tiles) == 1:
                self.tile(tiles[0], None, first, start, taps, feature, offset)
                continue
            bounds = (self.index(tiles[0].start // shape.tile_w),)
            bounds = (*bounds, self.index(tiles[-1].start // shape.tile_w + 1))

            def body(index: ir.Value, registers: Registers, tile: range = tiles[0]) -> Registers:
                position = self.times(index, shape.tile_w)
                self.tile(tile, position, first, start, taps, feature, offset)
                return registers

            self.loop(bounds, [], body)

    def _first_channel(self, panel: ir.Value) -> ir.Value:
        """The first channel that a panel reads."""
        shape = self.shape
        if shape.is_depthwise:
            return self.times(panel, shape.nr)
        group = arith.divui(panel, self.index(shape.panels // shape.groups))
        return self.times(group, shape.channels)

    def _rows_inside(self, top: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Bounds of the kernel rows that fall into the image, if kernel row 0 is at row `top`."""
        shape, zero = self.shape, self.index(0)
        dilation = self.index(shape.dilations[0])
        before = arith.ceildivsi(arith.subi(zero, top), dilation)
        after = arith.ceildivsi(arith.subi(self.index(shape.image[1]), top), dilation)
        return arith.maxsi(before, zero), arith.minsi(after, self.index(shape.kernel[0]))

    def tile(
        self,
        tile: range,
        position: ir.Value | None,
        first: ir.Value,
        weights: ir.Value,
        taps: tuple[ir.Value, ir.Value],
        feature: ir.Value,
        offset: ir.Value,
    ) -> None:
        """Emit a tile at pixel `position`, or at `tile` itself if that is None.

        At `position`, the same taps must fall into the image as at `tile`.
        """
        shape = self.shape
        where = self.index(tile.start) if position is None else position
        left = self.add(self.times(where, shape.strides[1]), -shape.low[1])
        base = self.add(first, self.times(left, shape.pixel))
        accumulators = self.zeros(len(tile), shape.parts)

        def row(tap: ir.Value, registers: Registers) -> Registers:
            pixels = self.times(tap, shape.dilations[0] * shape.image[2] * shape.pixel)
            line = self.times(tap, shape.kernel[1] * shape.channels * shape.nr)
            return self.taps(tile, self.add(base, pixels), self.add(weights, line), registers)

        accumulators = self.loop(taps, accumulators, row)
        at = self.add(offset, self.times(where, shape.result[3]))
        spots = self._spots(len(tile), feature, at)
        for spot, value in zip(spots, self.epilogue(spots, accumulators), strict=True):
            self.store(value, self.output, spot.offset)

    def _spots(self, count: int, feature: ir.Value, offset: ir.Value) -> list[OutputPosition]:
        """Result positions of the registers of a tile of `count` pixels that begins at `offset`."""
        shape = self.shape
        features = [self.add(feature, part.start) for part in shape.parts]
        return [
            OutputPosition(
                at, self.add(offset, position * shape.result[3] + part.start), part.lanes
            )
            for position in range(count)
            for part, at in zip(shape.parts, features, strict=True)
        ]

    def taps(
        self, tile: range, image: ir.Value, weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate all taps of one kernel row."""
        shape = self.shape
        if shape.is_interior(tile) and shape.is_one_run:
            count = shape.kernel[1] * shape.channels
            return self.channels(count, list(range(len(tile))), image, weights, accumulators)
        for tap in range(shape.kernel[1]):
            inside = [i for i, position in enumerate(tile) if shape.is_inside(position, tap)]
            if inside:
                pixel = self.add(image, tap * shape.dilations[1] * shape.pixel)
                panel = self.add(weights, tap * shape.channels * shape.nr)
                if shape.is_depthwise:
                    accumulators = self.vectors(inside, pixel, panel, accumulators)
                else:
                    accumulators = self.channels(shape.channels, inside, pixel, panel, accumulators)
        return accumulators

    def vectors(
        self, positions: list[int], image: ir.Value, weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """Accumulate one depthwise tap, vectors of channels, at some pixels of a tile."""
        shape = self.shape
        columns = self._vectors(self.weights, weights)
        accumulators = list(accumulators)
        for position in positions:
            at = position * len(columns)
            pixel = self.add(image, position * shape.strides[1] * shape.image[3])
            values = self._vectors(self.image, pixel)
            for index, (value, column) in enumerate(zip(values, columns, strict=True), start=at):
                accumulators[index] = vector.fma(value, column, accumulators[index])
        return accumulators

    def _vectors(self, memory: ir.Value, offset: ir.Value) -> Registers:
        """Load the vectors of a panel from `offset` of `memory` on."""
        return self.load_all(memory, offset, [part.lanes for part in self.shape.parts])

    def channels(
        self,
        count: int,
        positions: list[int],
        image: ir.Value,
        weights: ir.Value,
        accumulators: Registers,
    ) -> Registers:
        """Accumulate `count` consecutive channels at some pixels of a tile."""
        shape = self.shape
        stride = shape.strides[1] * shape.pixel

        def channel(index: ir.Value, registers: Registers) -> Registers:
            pixel = self.add(image, self.times(index, shape.channel))
            line = self.add(weights, self.times(index, shape.nr))
            columns = self._vectors(self.weights, line)
            registers = list(registers)
            for position in positions:
                scalar = memref.load(self.image, [self.add(pixel, position * stride)])
                self.multiply_add(scalar, columns, registers, position * len(columns))
            return registers

        return self.loop((self.index(0), self.index(count)), accumulators, channel)


def _runs(shape: DirectConvShape) -> list[list[range]]:
    """The tiles of a row: interior ones grouped in runs, every other one alone."""
    runs: list[list[range]] = []
    for tile in shape.tiles():
        if runs and shape.is_interior(tile) and shape.is_interior(runs[-1][0]):
            runs[-1].append(tile)
        else:
            runs.append([tile])
    return runs
