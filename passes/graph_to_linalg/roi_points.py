"""The sampling points of the bins of regions of interest (ONNX RoiAlign), and the pixels of bins
(ONNX MaxRoiPool)."""

from collections.abc import Sequence
from typing import Any

from ...mlir import ir
from .numbers import Number, both, from_index


def points_of(
    attrs: dict[str, Any],
    corners: Sequence[Number],
    at: Sequence[ir.Value],
    extents: Sequence[ir.Value],
) -> tuple["BinPoints", "BinPoints"]:
    """The points along both axes of the bin in row and column `at` of the region with the `corners`
    x1, y1, x2, y2, in an image of `extents`; `attrs` are those of `graph.roi_align`."""
    x1, y1, x2, y2 = (each * attrs["scale"] - 0.5 * attrs["half_pixel"] for each in corners)
    rows = BinPoints(y1, y2, at[0], attrs["height"], extents[0], attrs)
    return rows, BinPoints(x1, x2, at[1], attrs["width"], extents[1], attrs)


class BinPoints:
    """The sampling points of one bin along one axis."""

    def __init__(
        self,
        start: Number,
        end: Number,
        bin_index: ir.Value,
        bins: int,
        extent: ir.Value,
        attrs: dict[str, Any],
    ):
        dtype = start.dtype
        span = end - start if attrs["half_pixel"] else (end - start).max(1)
        size = span / bins
        ratio = attrs["ratio"]
        self.count = size * 0 + ratio if ratio > 0 else size.ceil().max(0)
        self.index_count = self.count.index()
        self._first = start + from_index(bin_index, dtype) * size
        self._step = size / self.count.max(1)
        self._extent = from_index(extent, dtype)

    def neighbours(self, i: ir.Value) -> list[tuple[ir.Value, Number]]:
        """The two elements around point `i`, with their weights."""
        dtype = self._step.dtype
        p = self._first + (from_index(i, dtype) + 0.5) * self._step
        inside = both(p.is_("ge", -1), p.is_("le", self._extent))
        last = self._extent - 1
        p = p.max(0).min(last)
        low = p.floor()
        part = p - low
        high = (low + 1).min(last)
        return [
            (low.index(), (1 - part).where(inside, 0)),
            (high.index(), part.where(inside, 0)),
        ]

    def weighted(self, number: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
        """The same, with the weights as values."""
        return [(at, weight.value) for at, weight in self.neighbours(number)]


def rounded(x: Number) -> Number:
    """Round to the nearest integer, halves away from 0."""
    up = (x + 0.5).floor()
    down = (x - 0.5).ceil()
    return up.where(x.is_("ge", 0), down)


def bin_of(
    start: Number, end: Number, bin_index: ir.Value, bins: int, extent: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The first position of a bin, and the one after its last."""
    dtype = start.dtype
    size = (end - start + 1).max(1) / bins
    bin_number, behind = from_index(bin_index, dtype), from_index(extent, dtype)
    low = (bin_number * size).floor() + start
    high = ((bin_number + 1) * size).ceil() + start
    return low.max(0).min(behind).index(), high.max(0).min(behind).index()
