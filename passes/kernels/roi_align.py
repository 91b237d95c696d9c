"""Regions of interest of channels-last images, by vectors of channels.

A workgroup computes a row of bins of a region. The points of a bin are computed once for a block of
channels; the pixels around a point are read as vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...mlir import arith, ir, vector
from .emitter import Registers, VectorEmitter, VectorSlice, lanes_of, long_vectors
from .image_extents import Extents
from .sizes import Index, index, product

_REGISTERS = 8
"""Registers of sums that are computed at a time, at most."""


class Points(Protocol):
    """The points of a bin along one axis."""

    @property
    def index_count(self) -> ir.Value:
        """Their number."""
        ...

    def weighted(self, number: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
        """The two pixels around a point, with their weights."""
        ...


@dataclass(frozen=True)
class RoiAlignShape:
    """`regions` of images, each of `bins` along both axes; None for what only the run knows."""

    image: Extents
    regions: int | None
    bins: tuple[int, int]
    lanes: int
    take_max: bool

    flops = 0

    @property
    def channels(self) -> int:
        return self.image[3]

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of regions is known."""
        assert self.regions is not None
        return self.regions * self.bins[0]

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups, for the dynamic sizes of the image, then the number of regions."""
        return index(product(self.sizes(dynamic)[3], self.bins[0]))

    def sizes(self, dynamic: Sequence[ir.Value]) -> list[Index]:
        """Images, their rows and pixels, and regions; those that are None from `dynamic`."""
        left = iter(dynamic)
        given = (*self.image[:3], self.regions)
        return [next(left) if size is None else size for size in given]


Sample = Callable[[ir.Value, ir.Value, ir.Value], tuple[ir.Value, Points, Points]]
"""The image of a region, and the points of the bin in a row and a column of it along both axes."""


class RoiAlignEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(self, shape: RoiAlignShape, sample: Sample, image: ir.Value, result: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.sample, self.image, self.result = shape, sample, image, result

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the dynamic sizes of the image, then the number of
        regions."""
        rows, columns = self.shape.bins
        self.images, self.height, self.width, _ = self.shape.sizes(dynamic)
        region = arith.divui(workgroup_id, self.index(rows))
        row = arith.remui(workgroup_id, self.index(rows))
        first = self.times(workgroup_id, columns)

        def each(column: ir.Value) -> None:
            image, *points = self.sample(region, row, column)
            target = self.times(arith.addi(first, column), self.shape.channels)
            self._bin(self.times(image, self.height), points[0], points[1], target)

        self.repeat(0, columns, each)

    def _bin(self, top: ir.Value, rows: Points, columns: Points, target: ir.Value) -> None:
        """Emit a bin of the image that begins in row `top` of all, into the result from `target`
        on: blocks of channels, then the rest."""
        channels, block = self.shape.channels, _REGISTERS * self.lanes
        whole = channels // block

        def emit(first: ir.Value, count: int) -> None:
            parts = long_vectors(count, self.lanes)
            self._channels(top, rows, columns, first, parts, self.add(target, first))

        if whole:
            self.repeat(0, whole, lambda number: emit(self.times(number, block), block))
        if channels % block:
            emit(self.index(whole * block), channels % block)

    def _channels(
        self,
        top: ir.Value,
        rows: Points,
        columns: Points,
        first: ir.Value,
        parts: list[VectorSlice],
        target: ir.Value,
    ) -> None:
        """Emit the channels from `first` on that fill `parts`."""
        lanes = [part.lanes for part in parts]
        mask = self.first_lanes(parts[-1].count)

        def row_of_points(number: ir.Value, registers: Registers) -> Registers:
            lines = [
                (self.times(self.add(top, row), self.width), weight)
                for row, weight in rows.weighted(number)
            ]

            def point(number: ir.Value, registers: Registers) -> Registers:
                for column, across in columns.weighted(number):
                    for line, along in lines:
                        pixel = self.times(self.add(line, column), self.shape.channels)
                        found = self.load_all(self.image, self.add(pixel, first), lanes, mask)
                        weight = arith.mulf(along, across)
                        registers = [
                            self._combined(total, value, weight)
                            for total, value in zip(registers, found, strict=True)
                        ]
                return registers

            return self.loop((self.index(0), columns.index_count), registers, point)

        initial = float("-inf") if self.shape.take_max else 0.0
        totals = [self.splat(initial, size) for size in lanes]
        totals = self.loop((self.index(0), rows.index_count), totals, row_of_points)
        count = arith.muli(rows.index_count, columns.index_count)
        for part, total in zip(parts, totals, strict=True):
            masked = mask if part.count < part.lanes else None
            self.store(
                self._finished(total, count), self.result, self.add(target, part.start), masked
            )

    def _combined(self, total: ir.Value, value: ir.Value, weight: ir.Value) -> ir.Value:
        weights = vector.broadcast(value.type, weight)
        if self.shape.take_max:
            return arith.maximumf(total, arith.mulf(value, weights))
        return vector.fma(value, weights, total)

    def _finished(self, total: ir.Value, count: ir.Value) -> ir.Value:
        """The result of a bin of `count` points; 0 if it has none."""
        zero = self.splat(0, lanes_of(total))
        if not self.shape.take_max:
            number = arith.index_cast(
                ir.IntegerType.get_signless(32), arith.maxui(count, self.index(1))
            )
            points = arith.sitofp(ir.F32Type.get(), number)
            total = arith.divf(total, vector.broadcast(total.type, points))
        return arith.select(self.compare(arith.CmpIPredicate.eq, count, 0), zero, total)
