"""Winograd convolution: a kernel that runs all of its steps for some tiles at a time.

A workgroup computes a block of tiles of the image by some panels of features. The tiles are
transformed, channel by channel, into one matrix [tiles, channels] for each of the products of a
tile; each is multiplied by its panel of the weights, and the accumulators are transformed into
pixels of the result. The intermediates are in scratch memory of the workgroup.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...cpu_model import CpuModel
from ...dialects.graph.winograd import KERNEL, winograd_transforms
from ...mlir import arith, ir, scf, vector
from .emitter import (
    LhsBlock,
    Prefetch,
    Registers,
    VectorEmitter,
    VectorSlice,
    even_tiles,
    long_vectors,
)
from .epilogue import Epilogue, OutputPosition

SCRATCH_SHARE = 3 / 8
"""Share of the L2 for the scratch memory of a workgroup."""
LONG_SCRATCH_SHARE = 3 / 4
"""The same if the weights exceed the L2: the larger the blocks, the less often weights are read."""
MIN_WORKGROUPS = 4
"""Workgroups that a convolution should split into, for threads to share."""


@dataclass(frozen=True)
class WinogradShape:
    """The sizes of a convolution and of its tiles."""

    image: tuple[int, int, int, int]
    result: tuple[int, int, int, int]
    low: tuple[int, int]
    tile: int
    k: int
    """Channels in a group, over which the features of a panel are summed (K)."""
    nr: int
    """Features in a panel."""
    lanes: int
    mr: int
    """Tiles that are multiplied at a time, in registers (MR)."""
    cpu: CpuModel

    @property
    def flops(self) -> int:
        """FLOPs of the products, without the transforms."""
        return 2 * self.products * self.tiles * self.k * self.result[3]

    @property
    def size(self) -> int:
        """Pixels of the image in a tile, along an axis."""
        return self.tile + KERNEL - 1

    @property
    def products(self) -> int:
        return self.size**2

    @property
    def channels(self) -> int:
        return self.image[3]

    @property
    def parts(self) -> list[VectorSlice]:
        """Vectors in a panel."""
        return long_vectors(self.nr, self.lanes)

    @property
    def panels(self) -> int:
        return self.result[3] // self.nr

    @property
    def grid(self) -> tuple[int, int]:
        """Tiles along both axes of the result."""
        return -(-self.result[1] // self.tile), -(-self.result[2] // self.tile)

    @property
    def tiles(self) -> int:
        """Tiles of the whole batch."""
        return self.result[0] * self.grid[0] * self.grid[1]

    @property
    def tiles_per_workgroup(self) -> int:
        """Tiles in a workgroup: as many as the scratch budget holds, in even blocks."""
        weights = self.products * self.k * self.result[3] * 4
        share = SCRATCH_SHARE if weights <= self.cpu.l2_bytes else LONG_SCRATCH_SHARE
        held = int(self.cpu.l2_bytes * share) // (self.products * (self.channels + self.nr) * 4)
        most = max(self.mr, held // self.mr * self.mr)
        return -(-self.tiles // -(-self.tiles // most))

    @property
    def blocks(self) -> int:
        return -(-self.tiles // self.tiles_per_workgroup)

    @property
    def groups(self) -> int:
        """Groups of panels: more than one if there are few blocks."""
        wanted = -(-MIN_WORKGROUPS // self.blocks)
        return next(n for n in range(min(wanted, self.panels), 0, -1) if self.panels % n == 0)

    @property
    def workgroups(self) -> int:
        return self.blocks * self.groups

    @property
    def entering(self) -> int:
        """Elements of one product's matrix of the image, [tiles, channels], padded by a vector:
        matrices a power of two apart would compete for too few cache sets."""
        return self.tiles_per_workgroup * self.channels + self.lanes

    @property
    def leaving(self) -> int:
        """Elements of one product's result, [tiles, width], padded by a vector."""
        return self.tiles_per_workgroup * self.nr + self.lanes

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup."""
        return self.products * (self.entering + self.leaving)


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

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the groups of panels of a block of tiles are
        consecutive."""
        shape = self.shape
        block = arith.divui(workgroup_id, self.index(shape.groups))
        group = arith.remui(workgroup_id, self.index(shape.groups))
        first = self.times(block, shape.tiles_per_workgroup)
        before = self.times(workgroup_id, shape.scratch)
        accumulators = self.add(before, shape.products * shape.entering)
        self.repeat(0, shape.tiles_per_workgroup, lambda tile: self._enter(first, tile, before))
        panels = shape.panels // shape.groups
        start = self.times(group, panels)

        def panel(index: ir.Value) -> None:
            self.repeat(0, shape.products, lambda p: self._multiply(p, index, before, accumulators))
            self.repeat(
                0,
                shape.tiles_per_workgroup,
                lambda tile: self._leave(first, tile, index, accumulators),
            )

        self.repeat(start, arith.addi(start, self.index(panels)), panel)

    # Tiles of the image

    def _enter(self, first: ir.Value, tile: ir.Value, before: ir.Value) -> None:
        """Transform a tile of the block that begins with tile `first`."""
        shape = self.shape
        spot = self._spot(first, tile)
        corner = [self.add(at, -low) for at, low in zip(spot.corner, shape.low, strict=True)]
        extents = shape.image[1:3]
        inside = self._all_inside(corner, shape.size, extents)
        target = self.add(before, self.times(tile, shape.channels))
        branches = scf.IfOp(inside, has_else=True)
        with ir.InsertionPoint(branches.then_block):
            self._channels(lambda c: self._inner(spot.batch, corner, c), target)
            scf.YieldOp([])
        with ir.InsertionPoint(branches.else_block):
            self._channels(self._border(spot.batch, corner), target)
            scf.YieldOp([])

    def _channels(self, read: Callable[[ir.Value], list[Registers]], target: ir.Value) -> None:
        """Transform a tile, whose vectors `read` loads, for all of its channels."""
        shape = self.shape

        def step(channel: ir.Value, registers: Registers) -> Registers:
            at = self.add(target, channel)
            for number, value in enumerate(self._both_axes(self.transforms.image, read(channel))):
                position = self.add(at, number * shape.entering)
                self.store(value, self.scratch, position)
            return registers

        self.loop((self.index(0), self.index(shape.channels)), [], step, shape.lanes)

    def _inner(
        self, batch: ir.Value, corner: Sequence[ir.Value], channel: ir.Value
    ) -> list[Registers]:
        """Load the vectors of a tile that lies within the image."""
        shape = self.shape
        start = self.add(self._pixel(batch, corner[0], corner[1]), channel)
        _, _, width, channels = shape.image
        return [
            [
                self.load(self.image, self.add(start, (row * width + column) * channels))
                for column in range(shape.size)
            ]
            for row in range(shape.size)
        ]

    def _border(
        self, batch: ir.Value, corner: Sequence[ir.Value]
    ) -> Callable[[ir.Value], list[Registers]]:
        """A function that loads a tile partly outside the image, with zeros there."""
        shape, zero = self.shape, self.index(0)
        axes = []
        for start, extent in zip(corner, shape.image[1:3], strict=True):
            last = self.index(extent - 1)
            positions = [self.add(start, step) for step in range(shape.size)]
            held = [arith.minsi(arith.maxsi(position, zero), last) for position in positions]
            inside = [
                arith.cmpi(arith.CmpIPredicate.eq, position, kept)
                for position, kept in zip(positions, held, strict=True)
            ]
            axes.append(list(zip(held, inside, strict=True)))
        spots = [
            [
                (self._pixel(batch, row, column), arith.andi(row_inside, column_inside))
                for column, column_inside in axes[1]
            ]
            for row, row_inside in axes[0]
        ]

        def read(channel: ir.Value) -> list[Registers]:
            return [
                [
                    arith.select(
                        inside, self.load(self.image, self.add(at, channel)), self.splat(0)
                    )
                    for at, inside in line
                ]
                for line in spots
            ]

        return read

    def _pixel(self, batch: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
        """The offset of a pixel of the image."""
        _, height, width, channels = self.shape.image
        line = self.add(self.times(batch, height), row)
        return self.times(self.add(self.times(line, width), column), channels)

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
        done, tiles = 0, even_tiles(shape.tiles_per_workgroup, shape.mr)
        per_row = -(-shape.k * shape.nr // shape.tiles_per_workgroup)
        step = -(-shape.nr // sum(count for count, _ in tiles))
        following = self.add(weights, shape.k * shape.nr)
        for count, size in tiles:

            def tile(number: ir.Value, size: int = size, done: int = done) -> None:
                row = self.add(self.times(number, size), done)
                at = self.add(left, self.times(row, shape.channels))
                rows = LhsBlock(self.scratch, at, size, shape.channels, shape.nr)
                totals = self.zeros(size, shape.parts)
                ahead = Prefetch(self.add(following, self.times(row, per_row)), step)
                totals = self.multiply(rows, self.weights, weights, shape.k, totals, ahead)
                start = self.add(right, self.times(row, shape.nr))
                self.store_all(totals, self.scratch, start)

            self.repeat(0, count, tile)
            done += count * size

    # Tiles of the result

    def _leave(
        self, first: ir.Value, tile: ir.Value, panel: ir.Value, accumulators: ir.Value
    ) -> None:
        """Transform the products of a tile into pixels of the result."""
        shape = self.shape
        spot = self._spot(first, tile)
        inside = self._all_inside(spot.corner, shape.tile, shape.result[1:3])
        source = self.add(accumulators, self.times(tile, shape.nr))
        branches = scf.IfOp(inside, has_else=True)
        with ir.InsertionPoint(branches.then_block):
            self._positions(spot, panel, source, lambda row, column, write: write())
            scf.YieldOp([])
        with ir.InsertionPoint(branches.else_block):
            self._positions(spot, panel, source, self._where_inside(spot))
            scf.YieldOp([])

    def _positions(
        self,
        spot: "_Spot",
        panel: ir.Value,
        source: ir.Value,
        guard: Callable[[int, int, Callable[[], None]], None],
    ) -> None:
        """Store the pixels of a tile, each under `guard`, for all vectors of a panel."""
        shape = self.shape
        _, height, width, channels = shape.result
        line = self.add(self.times(spot.batch, height), spot.corner[0])
        corner = self.times(self.add(self.times(line, width), spot.corner[1]), channels)

        def step(column: ir.Value, registers: Registers) -> Registers:
            at = self.add(source, column)
            accumulators = [
                self.load(self.scratch, self.add(at, number * shape.leaving))
                for number in range(shape.products)
            ]
            square = [
                accumulators[n : n + shape.size] for n in range(0, shape.products, shape.size)
            ]
            values = self._both_axes(self.transforms.inverse, square)
            feature = self.add(self.times(panel, shape.nr), column)
            start = self.add(corner, feature)
            for number, value in enumerate(values):
                y, x = divmod(number, shape.tile)

                def write(y: int = y, x: int = x, value: ir.Value = value) -> None:
                    position = OutputPosition(
                        feature, self.add(start, (y * width + x) * channels), shape.lanes
                    )
                    (done,) = self.epilogue([position], [value])
                    self.store(done, self.output, position.offset)

                guard(y, x, write)
            return registers

        self.loop((self.index(0), self.index(shape.nr)), [], step, shape.lanes)

    def _where_inside(self, spot: "_Spot") -> Callable[[int, int, Callable[[], None]], None]:
        """A guard that stores only the pixels inside the result."""
        shape = self.shape
        below = arith.CmpIPredicate.slt
        inside = [
            [
                arith.cmpi(below, self.add(start, step), self.index(extent))
                for step in range(shape.tile)
            ]
            for start, extent in zip(spot.corner, shape.result[1:3], strict=True)
        ]

        def guard(row: int, column: int, write: Callable[[], None]) -> None:
            branch = scf.IfOp(arith.andi(inside[0][row], inside[1][column]))
            with ir.InsertionPoint(branch.then_block):
                write()
                scf.YieldOp([])

        return guard

    # What both ends share

    def _spot(self, first: ir.Value, tile: ir.Value) -> "_Spot":
        """The position of a tile of a block. Excess tiles repeat the last one."""
        shape = self.shape
        rows, columns = shape.grid
        at = arith.minui(arith.addi(first, tile), self.index(shape.tiles - 1))
        batch = arith.divui(at, self.index(rows * columns))
        rest = arith.remui(at, self.index(rows * columns))
        row = arith.divui(rest, self.index(columns))
        column = arith.remui(rest, self.index(columns))
        return _Spot(batch, [self.times(row, shape.tile), self.times(column, shape.tile)])

    def _all_inside(
        self, corner: Sequence[ir.Value], size: int, extents: Sequence[int]
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
