"""Regions of interest: a loop nest over the result, with loops over a bin in its body."""

from typing import Any

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import read_in_loops
from .generic import loop_index, parallel
from .loops import for_range
from .lowering import Lowering, lowers
from .numbers import Number, both, from_index
from .reduction import accumulator


@lowers(graph.RoiAlignOp)
def roi_align(
    ctx: Lowering, op: graph.RoiAlignOp, x: ir.Value, rois: ir.Value, batch: ir.Value
) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    regions, wide = _Regions(ctx, op, x, rois, batch), accumulator(source.dtype)
    scale, shift = attrs["scale"], 0.5 * attrs["half_pixel"]
    columns = [ctx.index(i) for i in range(4)]
    take_max = attrs["mode"] == "max"

    def element() -> ir.Value:
        region, channel, row, column = (loop_index(i) for i in range(4))
        image = regions.image(region)
        x1, y1, x2, y2 = (regions.number(region, c) * scale - shift for c in columns)
        rows = _Points(y1, y2, row, attrs["height"], regions.extents[0], attrs)
        cols = _Points(x1, x2, column, attrs["width"], regions.extents[1], attrs)
        initial = ctx.scalar(graph.lowest(wide) if take_max else 0, wide)

        def point(i: ir.Value, j: ir.Value, total: ir.Value) -> ir.Value:
            shares = [
                regions.element(image, channel, r, c) * row_weight * column_weight
                for r, row_weight in rows.neighbours(i)
                for c, column_weight in cols.neighbours(j)
            ]
            combined = Number(total, wide)
            for share in shares:
                combined = combined.max(share) if take_max else combined + share
            return combined.value

        def line(i: ir.Value, total: ir.Value) -> ir.Value:
            return for_range(cols.index_count, total, lambda j, now: point(i, j, now))

        total = Number(for_range(rows.index_count, initial, line), wide)
        count = rows.count * cols.count
        total = total if take_max else total / count.max(1)
        return total.where(count.is_("gt", 0), 0).to(source.dtype).value

    return parallel([], [], ctx.empty(result), element)


@lowers(graph.MaxRoiPoolOp)
def max_roi_pool(ctx: Lowering, op: graph.MaxRoiPoolOp, x: ir.Value, rois: ir.Value) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    regions, wide = _Regions(ctx, op, x, rois, None), accumulator(source.dtype)
    columns = [ctx.index(i) for i in range(1, 5)]

    def element() -> ir.Value:
        region, channel, row, column = (loop_index(i) for i in range(4))
        image = regions.image(region)
        x1, y1, x2, y2 = (_rounded(regions.number(region, c) * attrs["scale"]) for c in columns)
        top, bottom = _bin(y1, y2, row, attrs["height"], regions.extents[0])
        left, right = _bin(x1, x2, column, attrs["width"], regions.extents[1])
        lowest = ctx.scalar(graph.lowest(wide), wide)

        def line(i: ir.Value, best: ir.Value) -> ir.Value:
            def step(j: ir.Value, now: ir.Value) -> ir.Value:
                return regions.element(image, channel, i, j).max(Number(now, wide)).value

            return for_range(right, best, step, start=left)

        best = Number(for_range(bottom, lowest, line, start=top), wide)
        slt = arith.CmpIPredicate.slt
        filled = both(arith.cmpi(slt, top, bottom), arith.cmpi(slt, left, right))
        return best.where(filled, 0).to(source.dtype).value

    return parallel([], [], ctx.empty(result), element)


class _Regions:
    """Reads of images and of the table of regions. Created outside of a body, used inside."""

    def __init__(
        self,
        ctx: Lowering,
        op: graph.RoiAlignOp | graph.MaxRoiPoolOp,
        x: ir.Value,
        rois: ir.Value,
        batch: ir.Value | None,
    ):
        source = graph.type_of(op.x)
        self._x, self._rois, self._batch = read_in_loops(ctx, x, source), rois, batch
        self._dtype, self._wide = source.dtype, accumulator(source.dtype)
        self._last = ctx.index(source.shape[0] - 1)
        self._zero = ctx.index(0)
        if batch is not None:
            assert isinstance(op, graph.RoiAlignOp)
            self._batch_dtype = graph.type_of(op.batch).dtype
        self.extents = [ctx.index(size) for size in source.shape[2:]]

    def image(self, region: ir.Value) -> ir.Value:
        """The batch index of the image of `region`."""
        if self._batch is None:
            number = Number(tensor.extract(self._rois, [region, self._zero]), self._dtype)
        else:
            number = Number(tensor.extract(self._batch, [region]), self._batch_dtype)
        return arith.maxsi(arith.minsi(number.index(), self._last), self._zero)

    def number(self, region: ir.Value, column: ir.Value) -> Number:
        found = tensor.extract(self._rois, [region, column])
        return Number(found, self._dtype).to(self._wide)

    def element(self, image: ir.Value, channel: ir.Value, row: ir.Value, column: ir.Value):
        found = tensor.extract(self._x, [image, channel, row, column])
        return Number(found, self._dtype).to(self._wide)


class _Points:
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


def _rounded(x: Number) -> Number:
    """Round to the nearest integer, halves away from 0."""
    up = (x + 0.5).floor()
    down = (x - 0.5).ceil()
    return up.where(x.is_("ge", 0), down)


def _bin(
    start: Number, end: Number, bin_index: ir.Value, bins: int, extent: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The first position of a bin, and the one after its last."""
    dtype = start.dtype
    size = (end - start + 1).max(1) / bins
    bin_number, behind = from_index(bin_index, dtype), from_index(extent, dtype)
    low = (bin_number * size).floor() + start
    high = ((bin_number + 1) * size).ceil() + start
    return low.max(0).min(behind).index(), high.max(0).min(behind).index()
