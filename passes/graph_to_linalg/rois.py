"""Regions of interest: a kernel for channels-last images on CPUs, otherwise a loop nest over the
result, with loops over a bin in its body."""

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import read_in_loops
from .generic import loop_index, parallel
from .loops import for_range
from .lowering import Lowering, lowers
from .numbers import Number, both
from .reduction import accumulator
from .roi_align_kernel import align_by_kernel, pool_by_kernel
from .roi_points import bin_of, points_of, rounded


@lowers(graph.RoiAlignOp)
def roi_align(
    ctx: Lowering, op: graph.RoiAlignOp, x: ir.Value, rois: ir.Value, batch: ir.Value
) -> ir.Value:
    if (y := align_by_kernel(ctx, op, x, rois, batch)) is not None:
        return y
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    regions, wide = _Regions(ctx, op, x, rois, batch), accumulator(source.dtype)
    take_max = attrs["mode"] == "max"
    columns = [ctx.index(column) for column in range(4)]
    spatial, channels = ((1, 2), 3) if attrs["layout"] == "channels_last" else ((2, 3), 1)

    def element() -> ir.Value:
        at = [loop_index(i) for i in range(4)]
        image, channel = regions.image(at[0]), at[channels]
        corners = [regions.number(at[0], column) for column in columns]
        rows, cols = points_of(attrs, corners, [at[axis] for axis in spatial], regions.extents)
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
    if (y := pool_by_kernel(ctx, op, x, rois)) is not None:
        return y
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    spatial, channels = ((1, 2), 3) if attrs["layout"] == "channels_last" else ((2, 3), 1)
    regions, wide = _Regions(ctx, op, x, rois, None), accumulator(source.dtype)
    columns = [ctx.index(i) for i in range(1, 5)]

    def element() -> ir.Value:
        region, channel = loop_index(0), loop_index(channels)
        row, column = (loop_index(axis) for axis in spatial)
        image = regions.image(region)
        x1, y1, x2, y2 = (rounded(regions.number(region, c) * attrs["scale"]) for c in columns)
        top, bottom = bin_of(y1, y2, row, attrs["height"], regions.extents[0])
        left, right = bin_of(x1, x2, column, attrs["width"], regions.extents[1])
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
        self._last_channel = op.attrs.get("layout") == "channels_last"
        sizes = source.shape[1:3] if self._last_channel else source.shape[2:]
        self.extents = [ctx.index(size) for size in sizes]

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
        at = (row, column, channel) if self._last_channel else (channel, row, column)
        found = tensor.extract(self._x, [image, *at])
        return Number(found, self._dtype).to(self._wide)
