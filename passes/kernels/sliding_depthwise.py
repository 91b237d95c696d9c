"""A depthwise convolution fused with the steps around it, by a sliding window of image rows.

A workgroup computes adjacent rows of the result, of one image or of several, some at a time: the
first step computes the image rows that none of the rows before has read; the convolution and the
last matmul follow. The image rows are in a ring buffer of the workgroup (storage folding, Ragan-
Kelley et al.: Halide, 2013), so that each is computed once but at the edges of workgroups, and
memory does not grow with the height of images. Any size of the images may be known only at run
time.

If no matmul follows, and a matmul comes first, a workgroup may compute one panel of channels of all
rows instead, so that none is computed twice. The run chooses what costs less.
"""

from dataclasses import dataclass

from ...mlir import arith, ir
from .direct_convolution import DirectConvEmitter
from .emitter import Registers
from .fused_depthwise import DepthwiseStepsEmitter, StageOperands
from .image_ring import ImageRing, RingConvEmitter
from .loops import while_
from .matmul_blocks import RowGaps
from .packed_matmul import MatmulEmitter
from .sizes import product
from .sliding_depthwise_shape import SlidingDepthwiseShape

MOST_PIXELS = 1 << 18
"""Pixels of image rows, at most, of which some are multiplied at once."""

_BELOW = arith.CmpIPredicate.ult


class SlidingDepthwiseEmitter(DepthwiseStepsEmitter):
    """Emits the kernel, from the buffer of the image to that of the result."""

    behind_first = RingConvEmitter

    def __init__(
        self,
        shape: SlidingDepthwiseShape,
        image: ir.Value,
        steps: list[StageOperands],
        memory: list[ir.Value],
    ):
        super().__init__(shape, image, steps, memory)
        self.shape = shape
        if isinstance(self.depthwise, RingConvEmitter):
            self.depthwise.image_margin = shape.margin
        if isinstance(self.first, DirectConvEmitter):
            self.first.result_margin = shape.margin

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that depend on the run."""
        shape = self.shape
        of_first, of_depthwise = shape.split_sizes(dynamic)
        if isinstance(self.first, DirectConvEmitter):
            self.first.bind(*of_first)
        self.depthwise.bind(*of_depthwise)
        sizes = self.depthwise.sizes
        self.at_a_time = shape.rows_at_a_time(sizes)
        workgroups = shape.count_workgroups(*dynamic)
        workgroup_id, workgroups = self._set_panels(workgroup_id, workgroups)
        self.ring_rows = shape.ring_rows(self.at_a_time)
        self.first_of_ring = self.times(self.ring_rows, workgroup_id)
        self.target = arith.muli(self.at_a_time, workgroup_id)

        rows = self.index(product(sizes.images, sizes.result_height))
        columns = arith.minui(shape.count_columns(rows, sizes.result_width), workgroups)
        shares = arith.divui(workgroups, columns)
        share, part = arith.divui(workgroup_id, columns), arith.remui(workgroup_id, columns)
        self._set_span(part, columns)
        self._clear_margins()
        low = arith.divui(arith.muli(share, rows), shares)
        high = arith.divui(arith.muli(self.add(share, 1), rows), shares)
        while_(
            [low, self.index(0)],
            lambda row, _: arith.cmpi(_BELOW, row, high),
            lambda row, done: self._rows(row, low, high, done),
        )

    def _set_panels(
        self, workgroup_id: ir.Value, workgroups: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Set the panels of a workgroup of `workgroups`: all, or one. Returns its number among
        those that share the rows, and how many these are."""
        zero, one = self.index(0), self.index(1)
        self.panels = zero, self.index(self.shape.depthwise.panels)
        if not self.shape.splits_panels:
            return workgroup_id, workgroups
        alone = self.shape.is_by_panels(self.depthwise.sizes)
        self.panels = (
            arith.select(alone, workgroup_id, zero),
            arith.select(alone, self.add(workgroup_id, 1), self.panels[1]),
        )
        return arith.select(alone, zero, workgroup_id), arith.select(alone, one, workgroups)

    def _clear_margins(self) -> None:
        """Fill the margins of the rows in the ring with zeros."""
        if isinstance(self.depthwise, RingConvEmitter) and self.shape.margin:
            self._set_ring(self.index(0), self.index(0))
            self.depthwise.clear_margins(self.panels)

    def _set_span(self, part: ir.Value, parts: ir.Value) -> None:
        """Set the pixels of rows that are computed: `part` of `parts`."""
        shape, sizes = self.shape.depthwise, self.depthwise.sizes
        pixels, width = self.index(sizes.result_width), self.index(sizes.width)
        self.whole = arith.andi(
            arith.cmpi(arith.CmpIPredicate.eq, parts, self.index(1)),
            arith.cmpi(_BELOW, width, self.index(MOST_PIXELS)),
        )
        first = arith.divui(arith.muli(part, pixels), parts)
        behind = arith.divui(arith.muli(self.add(part, 1), pixels), parts)
        self.span = _Span(first, behind)
        if not shape.has_known_width:
            self.depthwise.span = (first, behind)
        reach = (shape.kernel[1] - 1) * shape.dilations[1] + 1

        def inside(column: ir.Value) -> ir.Value:
            return arith.minsi(arith.maxsi(column, self.index(0)), width)

        left = inside(self.add(self.times(first, shape.strides[1]), -shape.low[1]))
        last = self.times(self.add(behind, -1), shape.strides[1])
        right = arith.maxsi(inside(self.add(last, reach - shape.low[1])), left)
        whole = _Span(self.index(0), width)
        self.read = _Span(
            arith.select(self.whole, whole.first, left),
            arith.select(self.whole, whole.behind, right),
        )

    def _rows(self, row: ir.Value, low: ir.Value, high: ir.Value, done: ir.Value) -> Registers:
        """Emit some rows from `row` on, counted over all images, of those from `low` up to `high`;
        the image rows before `done` are in the ring. Returns the row behind, and the image rows
        done then."""
        sizes = self.depthwise.sizes
        height = self.index(sizes.result_height)
        batch, position = arith.divui(row, height), arith.remui(row, height)
        left = arith.minui(arith.subi(high, row), arith.subi(height, position))
        count = arith.minui(left, self.at_a_time)
        origin = self.times(batch, sizes.height)
        if self.first is not None:
            begins = arith.cmpi(arith.CmpIPredicate.eq, position, self.index(0))
            done = arith.select(begins, self.index(0), done)
            self._set_ring(low, arith.muli(batch, height))
            done = self._compute(batch, position, count, done)
            origin = self.ring.first
        target = row if self.last is None else self.target
        self.depthwise.rows_of(position, count, origin, target, self.panels)
        if self.last is not None:
            self._multiply_result(self.last, target, row, count)
        return [arith.addi(row, count), done]

    def _set_ring(self, low: ir.Value, image: ir.Value) -> None:
        """Set the ring of an image whose rows of the result begin at `image`, where those of the
        workgroup begin at `low`: its end is that of the image rows that are computed first."""
        convolution, ring = self.shape.depthwise, self.ring_rows
        begin = arith.subi(arith.maxui(low, image), image)
        last = self.times(self.add(arith.addi(begin, self.at_a_time), -1), convolution.strides[0])
        end = self.add(last, self.shape.reach - convolution.low[0])
        shift = arith.remui(arith.subi(ring, arith.remsi(end, ring)), ring)
        self.ring = ImageRing(self.first_of_ring, ring, shift)
        if isinstance(self.depthwise, RingConvEmitter):
            self.depthwise.ring = self.ring

    def _multiply_result(
        self, last: MatmulEmitter, target: ir.Value, row: ir.Value, count: ir.Value
    ) -> None:
        """Emit the last matmul of `count` rows from `target` on, into the rows from `row` on: at
        once, or the computed pixels of each."""
        width, one = self.index(self.depthwise.sizes.result_width), self.index(1)
        pixels = arith.select(self.whole, arith.muli(count, width), self.span.pixels)

        def part(number: ir.Value) -> None:
            first, result = (
                arith.addi(arith.muli(arith.addi(start, number), width), self.span.first)
                for start in (target, row)
            )
            last.rows(first, result, self.index(0), pixels)

        self.repeat(0, arith.select(self.whole, one, count), part)

    def _compute(
        self, batch: ir.Value, position: ir.Value, count: ir.Value, done: ir.Value
    ) -> ir.Value:
        """Emit the image rows that `count` result rows from `position` on read, those before `done`
        aside. Returns the image rows done then."""
        convolution, height = self.shape.depthwise, self.index(self.depthwise.sizes.height)
        stride, above = convolution.strides[0], convolution.low[0]

        def inside(row: ir.Value) -> ir.Value:
            return arith.minsi(arith.maxsi(row, self.index(0)), height)

        top = self.add(self.times(position, stride), -above)
        last = self.times(self.add(arith.addi(position, count), -1), stride)
        start = arith.maxui(inside(top), done)
        end = arith.maxui(inside(self.add(last, self.shape.reach - above)), start)
        if isinstance(self.first, MatmulEmitter):
            self._multiply(self.first, arith.muli(batch, height), start, end)
        elif self.first is not None:
            self._convolve(self.first, batch, start, end)
        return end

    def _multiply(
        self, first: MatmulEmitter, origin: ir.Value, start: ir.Value, end: ir.Value
    ) -> None:
        """Emit the image rows from `start` to `end` by a matmul: at once, as they are before the
        ring's end, or the pixels of each that are read."""
        width, one = self.index(self.depthwise.sizes.width), self.index(1)
        panels = self.panels if self.shape.splits_panels else (0, first.shape.panels)
        rows = arith.subi(end, start)
        pixels = arith.select(self.whole, arith.muli(rows, width), self.read.pixels)
        margin = self.shape.margin
        line = self.add(width, margin)
        gaps = RowGaps.between(self, width, margin, self.whole) if margin else None

        def part(number: ir.Value) -> None:
            low = arith.addi(start, number)
            row = arith.addi(arith.muli(arith.addi(origin, low), width), self.read.first)
            result = self.add(arith.muli(self.ring.place(low), line), margin)
            result = arith.addi(result, self.read.first)
            self.repeat(*panels, lambda panel: first.rows(row, result, panel, pixels, gaps))

        self.repeat(0, arith.select(self.whole, one, rows), part)

    def _convolve(
        self, first: DirectConvEmitter, batch: ir.Value, start: ir.Value, end: ir.Value
    ) -> None:
        """Emit the image rows from `start` to `end` by a convolution."""
        if not first.shape.has_known_width:
            first.span = (self.read.first, self.read.behind)
        origin = self.times(batch, first.image_rows)

        def panel(panel: ir.Value) -> None:
            self.repeat(
                start, end, lambda row: first.row_of(row, origin, self.ring.place(row), panel)
            )

        self.repeat(0, first.shape.panels, panel)


@dataclass(frozen=True)
class _Span:
    """Pixels of a row: the first, and that behind the last."""

    first: ir.Value
    behind: ir.Value

    @property
    def pixels(self) -> ir.Value:
        return arith.subi(self.behind, self.first)
