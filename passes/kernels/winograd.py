"""Winograd convolution: a kernel that runs all of its steps for some tiles at a time.

A workgroup computes a block of tiles of the image by some panels of features. The tiles are
transformed, channel by channel, into one matrix [tiles, channels] for each of the products of a
tile; each is multiplied by its panel of the weights, and the accumulators are transformed into
pixels of the result. The intermediates are in scratch memory of the workgroup.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.graph.winograd import winograd_transforms
from ...mlir import arith, ir, memref, vector
from .emitter import LhsBlock, Prefetch, Registers, VectorEmitter
from .epilogue import Epilogue, OutputPosition
from .image_extents import ImageSizes
from .register_tiles import RegisterTiles, even_register_tiles, falling_tiles
from .sizes import Index, product
from .winograd_shape import MAX_WORKGROUPS, WinogradShape


class WinogradEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: WinogradShape,
        image: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.image, self.weights = shape, image, weights
        self.output, self.scratch, self.epilogue = output, scratch, epilogue
        self.transforms = winograd_transforms(shape.tile)

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the dynamic sizes of the image, then of the result;
        the groups of panels of a block of tiles are consecutive. If there are more than workgroups,
        each computes several."""
        shape = self.shape
        self.sizes = ImageSizes.of(shape.image, shape.result, dynamic)
        self.counts = shape.count(self.sizes)
        units = self.index(product(self.counts.blocks, self.counts.groups))
        scratch = self.times(workgroup_id, shape.scratch)

        def unit(number: ir.Value, registers: Registers) -> Registers:
            self._unit(number, scratch)
            return registers

        self.loop((workgroup_id, units), [], unit, MAX_WORKGROUPS)

    def _unit(self, number: ir.Value, before: ir.Value) -> None:
        """Emit a block of tiles by a group of panels, with scratch memory from `before` on."""
        shape, share = self.shape, self.counts.share
        groups = self.index(self.counts.groups)
        block, group = arith.divui(number, groups), arith.remui(number, groups)
        first = self.times(block, share)
        accumulators = self.add(before, shape.products * shape.entering)
        self.repeat(0, share, lambda tile: self._enter(first, tile, before))
        panels = self._quotient(shape.panels, self.counts.groups)
        start = self.times(group, panels)

        def panel(index: ir.Value) -> None:
            self.repeat(0, shape.products, lambda p: self._multiply(p, index, before, accumulators))
            self.repeat(0, share, lambda tile: self._leave(first, tile, index, accumulators))

        self.repeat(start, arith.addi(start, self.index(panels)), panel)

    def _quotient(self, a: int, b: Index) -> Index:
        return a // b if isinstance(b, int) else arith.divui(self.index(a), b)

    # Tiles of the image

    def _enter(self, first: ir.Value, tile: ir.Value, before: ir.Value) -> None:
        """Transform a tile of the block that begins with tile `first`. One that is partly outside
        of the image is copied first, with zeros there, so that all have one piece of code."""
        shape = self.shape
        spot = self._spot(first, tile)
        corner = [self.add(at, -low) for at, low in zip(spot.corner, shape.low, strict=True)]
        extents = (self.sizes.height, self.sizes.width)
        inside = self._all_inside(corner, shape.size, extents)
        copy = self.add(before, shape.products * (shape.entering + shape.leaving))
        self.choose(inside, lambda: None, lambda: self._copy(spot.batch, corner, copy))
        memory, start, line = (
            arith.select(inside, here, copied)
            for here, copied in (
                (_resized(self.image), _resized(self.scratch)),
                (self._pixel(spot.batch, *corner), copy),
                (
                    self.index(product(self.sizes.width, shape.channels)),
                    self.index(shape.size * shape.channels),
                ),
            )
        )
        lines = [self.add(start, self.times(line, row)) for row in range(shape.size)]
        target = self.add(before, self.times(tile, shape.channels))

        def step(channel: ir.Value, registers: Registers) -> Registers:
            square = [
                [
                    self.load(memory, self.add(at, column * shape.channels))
                    for column in range(shape.size)
                ]
                for at in [self.add(line, channel) for line in lines]
            ]
            at = self.add(target, channel)
            for number, value in enumerate(self._both_axes(self.transforms.image, square)):
                self.store(value, self.scratch, self.add(at, number * shape.entering))
            return registers

        self.loop((self.index(0), self.index(shape.channels)), [], step, shape.lanes)

    def _copy(self, batch: ir.Value, corner: Sequence[ir.Value], target: ir.Value) -> None:
        """Copy the pixels of a tile from `corner` on, with zeros for those outside of the image."""
        shape, extents = self.shape, (self.sizes.height, self.sizes.width)

        def pixel(number: ir.Value) -> None:
            size = self.index(shape.size)
            steps = arith.divui(number, size), arith.remui(number, size)
            at = [arith.addi(start, step) for start, step in zip(corner, steps, strict=True)]
            source = self._pixel(batch, *at)
            copied = self.add(target, self.times(number, shape.channels))

            def channels(value: Callable[[ir.Value], ir.Value]) -> None:
                def step(channel: ir.Value, registers: Registers) -> Registers:
                    self.store(value(channel), self.scratch, self.add(copied, channel))
                    return registers

                self.loop((self.index(0), self.index(shape.channels)), [], step, shape.lanes)

            self.choose(
                self._all_inside(at, 1, extents),
                lambda: channels(lambda c: self.load(self.image, self.add(source, c))),
                lambda: channels(lambda _: self.splat(0)),
            )

        self.repeat(0, shape.products, pixel)

    def _pixel(self, batch: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
        """The offset of a pixel of the image."""
        line = self.add(self.times(batch, self.sizes.height), row)
        pixel = self.add(self.times(line, self.sizes.width), column)
        return self.times(pixel, self.shape.channels)

    # Products

    def _multiply(
        self, product: ir.Value, panel: ir.Value, before: ir.Value, accumulators: ir.Value
    ) -> None:
        """Multiply all tiles of a block by a panel of the weights of one product."""
        shape = self.shape
        line = self.add(self.times(panel, shape.products), product)
        weights = self.times(line, shape.k * shape.nr)
        group = arith.divui(panel, self.index(shape.panels * shape.k // shape.channels))
        left = self.add(before, self.times(product, shape.entering))
        left = self.add(left, self.times(group, shape.k))
        right = self.add(accumulators, self.times(product, shape.leaving))
        tiles = self._register_tiles()
        per_row = -(-shape.k * shape.nr // shape.tiles_per_workgroup)
        step = -(-shape.nr // self._tiles_ahead())
        following = self.add(weights, shape.k * shape.nr)
        for tile in tiles:

            def multiply(number: ir.Value, tile: RegisterTiles = tile) -> None:
                row = self.add(self.times(number, tile.size), tile.first)
                at = self.add(left, self.times(row, shape.channels))
                rows = LhsBlock(self.scratch, at, tile.size, shape.channels, shape.nr)
                totals = self.zeros(tile.size, shape.parts)
                ahead = Prefetch(self.add(following, self.times(row, per_row)), step)
                totals = self.multiply(rows, self.weights, weights, shape.k, totals, ahead)
                start = self.add(right, self.times(row, shape.nr))
                self.store_all(totals, self.scratch, start)

            self.repeat(0, tile.count, multiply)

    def _register_tiles(self) -> list[RegisterTiles]:
        """The register tiles of a block, whose rows are tiles of the image."""
        share, most = self.counts.share, self.shape.mr
        return (
            even_register_tiles(share, most)
            if isinstance(share, int)
            else falling_tiles(self, share, most)
        )

    def _tiles_ahead(self) -> int:
        """Register tiles of a block, over which prefetches are spread."""
        return -(-self.shape.tiles_per_workgroup // self.shape.mr)

    # Tiles of the result

    def _leave(
        self, first: ir.Value, tile: ir.Value, panel: ir.Value, accumulators: ir.Value
    ) -> None:
        """Transform the products of a tile into pixels of the result."""
        shape = self.shape
        spot = self._spot(first, tile)
        extents = (self.sizes.result_height, self.sizes.result_width)
        inside = self._all_inside(spot.corner, shape.tile, extents)
        source = self.add(accumulators, self.times(tile, shape.nr))
        write_inside = self._write_inside(spot)

        def write(pixels: "_Pixels", values: Registers) -> None:
            self.choose(
                inside,
                lambda: self._write_all(pixels, values),
                lambda: write_inside(pixels, values),
            )

        self._pixels(spot, panel, source, write)

    def _pixels(
        self,
        spot: "_Spot",
        panel: ir.Value,
        source: ir.Value,
        write: Callable[["_Pixels", Registers], None],
    ) -> None:
        """Compute the pixels of a tile, and `write` them, for each vector of a panel."""
        shape = self.shape
        channels, width = shape.result[3], self.sizes.result_width
        line = self.add(self.times(spot.batch, self.sizes.result_height), spot.corner[0])
        corner = self.times(self.add(self.times(line, width), spot.corner[1]), channels)
        below = [product(product(width, channels), row) for row in range(shape.tile)]

        def step(column: ir.Value, registers: Registers) -> Registers:
            at = self.add(source, column)
            accumulators = [
                self.load(self.scratch, self.add(at, number * shape.leaving))
                for number in range(shape.products)
            ]
            square = [
                accumulators[n : n + shape.size] for n in range(0, shape.products, shape.size)
            ]
            feature = self.add(self.times(panel, shape.nr), column)
            pixels = _Pixels(at, feature, self.add(corner, feature), below)
            write(pixels, self._both_axes(self.transforms.inverse, square))
            return registers

        self.loop((self.index(0), self.index(shape.nr)), [], step, shape.lanes)

    def _write_all(self, pixels: "_Pixels", values: Registers) -> None:
        """Write the `values` of a tile inside the result, from registers."""
        for number, value in enumerate(values):
            y, x = divmod(number, self.shape.tile)
            line = self.add(pixels.start, pixels.below[y])
            self._write(pixels, self.add(line, x * self.shape.result[3]), value)

    def _write_inside(self, spot: "_Spot") -> Callable[["_Pixels", Registers], None]:
        """A function that writes the values of pixels inside the result. They go through memory, as
        a loop is less code than an epilogue for each of them."""
        shape, none = self.shape, self.index(0)
        extents = (self.sizes.result_height, self.sizes.result_width)
        rows, columns = (
            arith.minsi(self.index(shape.tile), arith.subi(self.index(extent), start))
            for start, extent in zip(spot.corner, extents, strict=True)
        )

        def write(pixels: "_Pixels", values: Registers) -> None:
            for number, value in enumerate(values):
                self.store(value, self.scratch, self.add(pixels.source, number * shape.leaving))

            def row(y: ir.Value, registers: Registers) -> Registers:
                source = self.add(pixels.source, self.times(y, shape.tile * shape.leaving))
                line = self.add(pixels.start, self.times(y, pixels.below[1]))

                def pixel(x: ir.Value, inner: Registers) -> Registers:
                    at = self.add(source, self.times(x, shape.leaving))
                    offset = self.add(line, self.times(x, shape.result[3]))
                    self._write(pixels, offset, self.load(self.scratch, at))
                    return inner

                self.loop((none, columns), [], pixel)
                return registers

            self.loop((none, rows), [], row)

        return write

    def _write(self, pixels: "_Pixels", offset: ir.Value, value: ir.Value) -> None:
        """Write a vector of a pixel at `offset`."""
        position = OutputPosition(pixels.feature, offset, self.shape.lanes)
        (done,) = self.epilogue([position], [value])
        self.store(done, self.output, offset)

    # What both ends share

    def _spot(self, first: ir.Value, tile: ir.Value) -> "_Spot":
        """The position of a tile of a block. Excess tiles repeat the last one."""
        rows, columns = self.counts.grid
        last = self.add(self.index(self.counts.tiles), -1)
        at = arith.minui(arith.addi(first, tile), last)
        image = self.index(product(rows, columns))
        batch, rest = arith.divui(at, image), arith.remui(at, image)
        row = arith.divui(rest, self.index(columns))
        column = arith.remui(rest, self.index(columns))
        size = self.shape.tile
        return _Spot(batch, [self.times(row, size), self.times(column, size)])

    def _all_inside(
        self, corner: Sequence[ir.Value], size: int, extents: Sequence[Index]
    ) -> ir.Value:
        """True (an i1) if `size` pixels along both axes, from `corner` on, lie within `extents`."""
        parts = []
        for start, extent in zip(corner, extents, strict=True):
            end = self.add(start, size)
            parts.append(arith.cmpi(arith.CmpIPredicate.sge, start, self.index(0)))
            parts.append(arith.cmpi(arith.CmpIPredicate.sle, end, self.index(extent)))
        return arith.andi(arith.andi(parts[0], parts[1]), arith.andi(parts[2], parts[3]))

    def _both_axes(self, matrix: np.ndarray, square: list[Registers]) -> Registers:
        """``matrix square matrix^T``, row by row."""
        columns = [self._along(matrix, list(column)) for column in zip(*square, strict=True)]
        return [
            value for row in zip(*columns, strict=True) for value in self._along(matrix, list(row))
        ]

    def _along(self, matrix: np.ndarray, values: Registers) -> Registers:
        """``matrix values``, with the common part of two results computed once."""
        if _mirrored(matrix):
            return self._from_sums(matrix, values)
        results: dict[int, ir.Value] = {}
        for first, second in _mirrored(matrix.T):
            a, b = matrix[first], matrix[second]
            same = self._combine([(f, v) for f, g, v in zip(a, b, values, strict=True) if f == g])
            turned = self._combine([(f, v) for f, g, v in zip(a, b, values, strict=True) if f != g])
            results[first] = arith.addf(same, turned)
            results[second] = arith.subf(same, turned)
        for row in set(range(len(matrix))) - results.keys():
            results[row] = self._combine(list(zip(matrix[row], values, strict=True)))
        return [results[row] for row in range(len(matrix))]

    def _from_sums(self, matrix: np.ndarray, values: Registers) -> Registers:
        """``matrix values`` for a matrix with columns that are equal up to signs: their values are
        added and subtracted once."""
        pairs = _mirrored(matrix)
        single = set(range(len(values))) - {i for pair in pairs for i in pair}
        total = {pair: arith.addf(values[pair[0]], values[pair[1]]) for pair in pairs}
        difference = {pair: arith.subf(values[pair[0]], values[pair[1]]) for pair in pairs}
        results = []
        for row in matrix:
            terms = [(row[i], values[i]) for i in single]
            for pair in pairs:
                known = total if row[pair[0]] == row[pair[1]] else difference
                terms.append((row[pair[0]], known[pair]))
            results.append(self._combine(terms))
        return results

    def _combine(self, terms: Sequence[tuple[float, ir.Value]]) -> ir.Value:
        """The sum of values times their factors."""
        result: ir.Value | None = None
        for factor, value in sorted((t for t in terms if t[0]), key=lambda term: abs(term[0]) != 1):
            if result is None:
                result = value if factor == 1 else arith.mulf(value, self.splat(factor))
            elif abs(factor) == 1:
                result = (arith.addf if factor == 1 else arith.subf)(result, value)
            else:
                result = vector.fma(value, self.splat(factor), result)
        assert result is not None
        return result


@dataclass(frozen=True)
class _Spot:
    """The position of a tile: its image, and its first row and column of the result."""

    batch: ir.Value
    corner: list[ir.Value]


@dataclass(frozen=True)
class _Pixels:
    """Source and target of a vector of the pixels of a tile."""

    source: ir.Value
    """The offset of the first product in the scratch memory."""
    feature: ir.Value
    start: ir.Value
    """The offset of the first pixel in the result."""
    below: list[Index]
    """The offsets of the rows of the tile from the first one."""


def _resized(memory: ir.Value) -> ir.Value:
    """A buffer as one of dynamic size."""
    type_ = ir.MemRefType(memory.type)
    return memref.cast(
        ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], type_.element_type), memory
    )


def _mirrored(matrix: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of columns whose entries are equal up to their signs."""
    pairs: list[tuple[int, int]] = []
    free = list(range(matrix.shape[1]))
    while free:
        first = free.pop(0)
        same = [i for i in free if np.array_equal(abs(matrix[:, i]), abs(matrix[:, first]))]
        if same:
            free.remove(same[0])
            pairs.append((first, same[0]))
    return pairs
