"""Images sampled at given points, channels last: pixels around a point are read as vectors.

A workgroup computes consecutive points. What a point needs of its coordinates is computed once for
a block of channels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .emitter import VectorEmitter, long_vectors
from .sizes import Index, index, product

_REGISTERS = 8
"""Registers of sums that are computed at a time, at most."""
POINTS = 64
"""Points of a workgroup."""


@dataclass(frozen=True)
class SampleTap:
    """A pixel near a point: its number in the image, its weight (f32; None for 1, if there is no
    other pixel), and whether it counts (an i1; None for yes)."""

    pixel: ir.Value
    weight: ir.Value | None
    inside: ir.Value | None


Taps = Callable[[ir.Value], Sequence[SampleTap]]
"""The pixels near a point, by its number among those of all images."""


@dataclass(frozen=True)
class SampleShape:
    """Images, points of each and pixels of each, to be sampled in all of their `channels`; None for
    what only the run knows."""

    extents: tuple[int | None, int | None, int | None]
    channels: int
    lanes: int

    flops = 0

    @property
    def workgroups(self) -> int:
        """Workgroups, if the numbers are known."""
        images, points, _ = self.extents
        assert images is not None
        assert points is not None
        return -(-images * points // POINTS)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups, for the sizes that are None."""
        images, points, _ = self.sizes(dynamic)
        return arith.ceildivui(index(product(images, points)), index(POINTS))

    def sizes(self, dynamic: Sequence[ir.Value]) -> list[Index]:
        """The extents; those that are None from `dynamic`."""
        left = iter(dynamic)
        return [next(left) if size is None else size for size in self.extents]


class SampleEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(self, shape: SampleShape, taps: Taps, image: ir.Value, result: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.taps, self.image, self.result = shape, taps, image, result

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        images, points, pixels = map(index, self.shape.sizes(dynamic))
        first = self.times(workgroup_id, POINTS)
        last = arith.minui(self.add(first, POINTS), arith.muli(images, points))

        def each(point: ir.Value) -> None:
            start = arith.muli(arith.divui(point, points), pixels)
            self._point(start, self.taps(point), self.times(point, self.shape.channels))

        self.repeat(first, last, each)

    def _point(self, start: ir.Value, taps: Sequence[SampleTap], target: ir.Value) -> None:
        """Emit a point of the image that begins at pixel `start`."""
        channels, block = self.shape.channels, _REGISTERS * self.lanes
        sources = [self.times(arith.addi(start, tap.pixel), channels) for tap in taps]
        whole = channels // block
        if whole:
            self.repeat(
                0, whole,
                lambda at: self._channels(sources, taps, target, self.times(at, block), block),
            )  # fmt: skip
        if channels % block:
            self._channels(sources, taps, target, self.index(whole * block), channels % block)

    def _channels(
        self,
        sources: Sequence[ir.Value],
        taps: Sequence[SampleTap],
        target: ir.Value,
        first: ir.Value,
        count: int,
    ) -> None:
        """Emit `count` channels from `first` on."""
        parts = long_vectors(count, self.lanes)
        lanes, mask = [part.lanes for part in parts], self.first_lanes(parts[-1].count)
        totals: Sequence[ir.Value] = []
        for source, tap in zip(sources, taps, strict=True):
            at = arith.addi(source, first)
            found: Sequence[ir.Value] = self.load_all(self.image, at, lanes, mask)
            if tap.inside is not None:  # what is outside may be no number
                zeros = [self.splat(0, size) for size in lanes]
                found = [arith.select(tap.inside, *pair) for pair in zip(found, zeros, strict=True)]
            if tap.weight is not None:
                weights = [vector.broadcast(value.type, tap.weight) for value in found]
                if totals:
                    found = list(map(vector.fma, found, weights, totals))
                else:
                    found = list(map(arith.mulf, found, weights))
            totals = found
        for part, total in zip(parts, totals, strict=True):
            masked = mask if part.count < part.lanes else None
            self.store(total, self.result, self.add(arith.addi(target, first), part.start), masked)
