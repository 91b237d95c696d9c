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

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape
from .direct_convolution import DirectConvEmitter
from .emitter import Registers
from .fused_depthwise import DepthwiseSteps, DepthwiseStepsEmitter, StageOperands
from .image_extents import ImageSizes, known_sizes
from .loops import while_
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import Index, index, product

PIXELS = 48
"""Pixels that are multiplied at a time, at least: weights are read each time."""
ROWS = 16
"""Rows of a workgroup, at least, if each thread has one: image rows at its edges are computed
twice."""
SHARES = 4
"""Workgroups for each thread, at most."""
FEW_ROWS = 4
"""Rows for each thread below which threads share the pixels of rows, and not the rows."""
MANY_PIXELS = 16
"""Pixels for each thread from which they do."""
WEIGHTS_SHARE = 1 / 2
"""L2 budget for the weights, as a share: larger weights are better split between threads than read
by each."""
PANEL_PIXELS = 192
"""Pixels that a workgroup of one panel multiplies at a time, at least."""
PANEL_IMAGE_SHARE = 1
"""L2 budget, as a share, for the images that workgroups of one panel read again and again."""


_BELOW = arith.CmpIPredicate.ult


def row_shares(rows: int, threads: int) -> int:
    """Workgroups for each of `threads` that share `rows` of all images."""
    return min(max(rows // (ROWS * threads), 1), SHARES)


@dataclass(frozen=True)
class SlidingDepthwiseShape(DepthwiseSteps):
    """The sizes of a kernel."""

    threads: int
    splits_panels: bool = False
    """True if workgroups may be panels of channels: the first step is a matmul of the same panels,
    and no matmul follows."""

    @property
    def reach(self) -> int:
        """Image rows that one row of the result spans."""
        return (self.depthwise.kernel[0] - 1) * self.depthwise.dilations[0] + 1

    @property
    def is_static(self) -> bool:
        """True if no size depends on the run."""
        return None not in (*self.depthwise.image, *self.depthwise.result)

    @property
    def flops(self) -> int | None:
        """FLOPs of the ops; None if they depend on sizes known only at run time."""
        convolution = self.depthwise.flops
        if convolution is None or not self.is_static:
            return None
        images = self.depthwise.image[0] or 0
        steps = ((self.first, self.depthwise.image), (self.last, self.depthwise.result))
        for step, image in steps:
            if isinstance(step, DirectConvShape):
                convolution += step.flops or 0
            elif step is not None:
                height, width, _ = known_sizes(image)
                convolution += 2 * images * height * width * step.k * step.columns
        return convolution

    # Workgroups

    @property
    def workgroups(self) -> ir.Value:
        """Workgroups, if no size depends on the run, at the insertion point."""
        return self.count_workgroups()

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups, for the sizes that depend on the run, in the order of `split_sizes`."""
        _, given = self.split_sizes(dynamic)
        sizes = ImageSizes.of(self.depthwise.image, self.depthwise.result, given)
        shares = self._row_shares(sizes)
        if not self.splits_panels:
            return shares
        return arith.select(self.is_by_panels(sizes), index(self.depthwise.panels), shares)

    def _row_shares(self, sizes: ImageSizes) -> ir.Value:
        """Workgroups that share the rows of all images."""
        rows = index(product(sizes.images, sizes.result_height))
        shares = arith.divui(rows, index(ROWS * self.threads))
        shares = arith.minui(arith.maxui(shares, index(1)), index(SHARES))
        return arith.muli(shares, index(self.threads))

    def is_by_panels(self, sizes: ImageSizes) -> ir.Value:
        """A flag: workgroups are panels of channels. Threads had better share many weights;
        otherwise, images fit in the cache, and threads without a panel lose no more than is
        computed twice at the edges of shares of rows."""
        assert isinstance(self.first, MatmulShape)
        convolution, panels = self.depthwise, self.depthwise.panels
        weights = self.first.k * self.first.columns + convolution.taps * panels * convolution.nr
        if 4 * weights > self.first.cpu.l2_bytes * WEIGHTS_SHARE:
            return arith.constant(ir.IntegerType.get_signless(1), 1)
        pixels = product(product(sizes.images, sizes.height), sizes.width)
        budget = int(self.first.cpu.l2_bytes * PANEL_IMAGE_SHARE) // (4 * self.first.k)
        fits = arith.cmpi(_BELOW, index(pixels), index(budget))
        idle = -panels % self.threads
        rows = product(sizes.images, sizes.height)
        twice = max(self.reach - convolution.strides[0], 0) * panels
        edges = arith.subi(self._row_shares(sizes), index(1))
        unequal, computed = index(product(rows, idle)), arith.muli(edges, index(twice))
        return arith.andi(fits, arith.cmpi(arith.CmpIPredicate.ule, unequal, computed))

    def split_sizes(
        self, dynamic: Sequence[ir.Value]
    ) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
        """The sizes of the first convolution, if there is one, and those of the depthwise one."""
        if not isinstance(self.first, DirectConvShape):
            return (), dynamic
        count = [*self.first.image, *self.first.result].count(None)
        return dynamic[:count], dynamic[count:]

    def count_columns(self, rows: Index, pixels: Index) -> ir.Value:
        """The parts of rows that are computed by different workgroups, for `rows` of `pixels`: one
        for each thread, or one in all."""
        if self.depthwise.has_known_width:
            return index(1)
        few = arith.cmpi(_BELOW, index(rows), index(FEW_ROWS * self.threads))
        many = arith.cmpi(_BELOW, index(MANY_PIXELS * self.threads), index(pixels))
        return arith.select(arith.andi(few, many), index(self.threads), index(1))

    # Memory

    def scratch(self, width: int | Dim, positions: int | Dim) -> tuple[int | Dim, ...]:
        """Elements of each intermediate of a workgroup, for images of `width` and results of
        `positions` pixels in a row: those of `rows_at_a_time` rows, at most."""
        channels, features = self.depthwise.image[3], self.depthwise.result[3]
        read = self.reach * width + PIXELS * self.depthwise.strides[0]
        return (
            *([read * channels] if self.first is not None else []),
            *([(positions + PIXELS) * features] if self.last is not None else []),
        )

    def rows_at_a_time(self, sizes: ImageSizes) -> ir.Value:
        """Result rows that are computed at a time: those of `PIXELS` pixels, or of `PANEL_PIXELS`
        by a panel, rounded up. All panels are in the memory of one workgroup of all channels, and
        of those beside it."""
        pixels = index(PIXELS)
        if self.splits_panels:
            pixels = arith.select(self.is_by_panels(sizes), index(PANEL_PIXELS), pixels)
        longest = arith.maxui(index(sizes.width), index(sizes.result_width))
        return arith.ceildivui(pixels, arith.maxui(longest, index(1)))


class RingConvEmitter(DirectConvEmitter):
    """Reads the image from a ring buffer: row i is in row i % `ring_rows` of the buffer."""

    ring_rows: ir.Value

    def first_row(self, origin: ir.Value, top: ir.Value) -> ir.Value:
        """The ring's row of image row `top`, which may be above the image, so that rows inside are
        at most one turn of the ring further."""
        above = arith.minsi(top, self.index(0))
        row = arith.remui(arith.subi(top, above), self.ring_rows)
        return arith.addi(origin, arith.addi(row, above))

    def row_offset(self, origin: ir.Value, first: ir.Value, tap: ir.Value) -> ir.Value:
        """The elements between the row that kernel row 0 reads and that of `tap`."""
        plain = super().row_offset(origin, first, tap)
        row = arith.addi(arith.subi(first, origin), self.times(tap, self.shape.dilations[0]))
        turns = arith.cmpi(arith.CmpIPredicate.sge, row, self.ring_rows)
        whole = self.times(self.ring_rows, product(self.sizes.width, self.pixel_stride))
        return arith.select(turns, arith.subi(plain, whole), plain)


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
        stride = shape.depthwise.strides[0]
        ring = self.add(self.times(self.add(self.at_a_time, -1), stride), shape.reach)
        self.ring = _Ring(self.times(ring, workgroup_id), ring)
        self.target = arith.muli(self.at_a_time, workgroup_id)
        if isinstance(self.depthwise, RingConvEmitter):
            self.depthwise.ring_rows = ring

        rows = self.index(product(sizes.images, sizes.result_height))
        columns = arith.minui(shape.count_columns(rows, sizes.result_width), workgroups)
        shares = arith.divui(workgroups, columns)
        share, part = arith.divui(workgroup_id, columns), arith.remui(workgroup_id, columns)
        self._set_span(part, columns)
        low = arith.divui(arith.muli(share, rows), shares)
        high = arith.divui(arith.muli(self.add(share, 1), rows), shares)
        while_(
            [low, self.index(0)],
            lambda row, _: arith.cmpi(_BELOW, row, high),
            lambda row, done: self._rows(row, high, done),
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

    def _set_span(self, part: ir.Value, parts: ir.Value) -> None:
        """Set the pixels of rows that are computed: `part` of `parts`."""
        shape, sizes = self.shape.depthwise, self.depthwise.sizes
        pixels, width = self.index(sizes.result_width), self.index(sizes.width)
        self.whole = arith.cmpi(arith.CmpIPredicate.eq, parts, self.index(1))
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

    def _rows(self, row: ir.Value, high: ir.Value, done: ir.Value) -> Registers:
        """Emit some rows from `row` on, counted over all images, up to `high`; the image rows
        before `done` are in the ring. Returns the row behind, and the image rows done then."""
        sizes = self.depthwise.sizes
        height = self.index(sizes.result_height)
        batch, position = arith.divui(row, height), arith.remui(row, height)
        left = arith.minui(arith.subi(high, row), arith.subi(height, position))
        count = arith.minui(left, self.at_a_time)
        origin = self.times(batch, sizes.height)
        if self.first is not None:
            begins = arith.cmpi(arith.CmpIPredicate.eq, position, self.index(0))
            done = arith.select(begins, self.index(0), done)
            done = self._compute(batch, position, count, done)
            origin = self.ring.first
        target = row if self.last is None else self.target
        self.depthwise.rows_of(position, count, origin, target, self.panels)
        if self.last is not None:
            self._multiply_result(self.last, target, row, count)
        return [arith.addi(row, count), done]

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
        """Emit the image rows from `start` to `end` by a matmul: those before the ring's end, then
        those behind; or the pixels of each that are read."""
        width, two = self.index(self.depthwise.sizes.width), self.index(2)
        turn = arith.subi(arith.addi(start, self.ring.rows), arith.remui(start, self.ring.rows))
        turn = arith.minui(turn, end)
        panels = self.panels if self.shape.splits_panels else (0, first.shape.panels)

        def part(number: ir.Value) -> None:
            behind = arith.cmpi(arith.CmpIPredicate.ne, number, self.index(0))
            low, high = arith.select(behind, turn, start), arith.select(behind, end, turn)
            low = arith.select(self.whole, low, arith.addi(start, number))
            pixels = arith.muli(arith.subi(high, low), width)
            pixels = arith.select(self.whole, pixels, self.read.pixels)
            row = arith.addi(arith.muli(arith.addi(origin, low), width), self.read.first)
            result = arith.addi(arith.muli(self.ring.place(low), width), self.read.first)
            self.repeat(*panels, lambda panel: first.rows(row, result, panel, pixels))

        self.repeat(0, arith.select(self.whole, two, arith.subi(end, start)), part)

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


@dataclass(frozen=True)
class _Ring:
    """Rows of a buffer that hold the latest rows of an image: `rows` of them, from `first` on."""

    first: ir.Value
    rows: ir.Value

    def place(self, row: ir.Value) -> ir.Value:
        """The row of the buffer for row `row` of the image."""
        return arith.addi(self.first, arith.remui(row, self.rows))
