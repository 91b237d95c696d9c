"""The sizes of a depthwise convolution that is fused with the steps around it, and computed by a
sliding window of image rows; how workgroups share the rows, and how many they compute at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape
from .fused_depthwise import DepthwiseSteps
from .image_extents import ImageSizes, known_sizes
from .packed_matmul import MatmulShape
from .sizes import Index, index, product

PIXELS = 48
"""Pixels that are multiplied at a time, at least: weights are read each time."""
MORE_ROWS = 3
"""Rows beyond those of `PIXELS`, at most, where register tiles then overlap less."""
MOST_ROWS = 12
"""Rows at a time, at most: each has margins."""
RING_SHARE = 1 / 4
"""L2 budget, as a share, for the image rows of a workgroup that has more rows."""
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


_BELOW, _BELOW_OR_EQUAL = arith.CmpIPredicate.ult, arith.CmpIPredicate.ule


def row_shares(rows: int, threads: int) -> int:
    """Workgroups for each of `threads` that share `rows` of all images."""
    return min(max(rows // (ROWS * threads), 1), SHARES)


@dataclass(frozen=True)
class SlidingDepthwiseShape(DepthwiseSteps):
    """The sizes of a kernel."""

    threads: int
    margin: int
    """Pixels of zeros before and behind each image row in the ring: those that windows read beside
    it, at most."""
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
        stride, margin = self.depthwise.strides[0], self.margin
        margins = MOST_ROWS * margin
        read = (self.reach + stride - 1) * (width + margin) + margin
        read = read + 2 * (self._most_pixels + margins) * stride
        return (
            *([read * channels] if self.first is not None else []),
            *([(positions + self._most_pixels) * features] if self.last is not None else []),
        )

    def ring_rows(self, at_a_time: ir.Value) -> ir.Value:
        """Rows of the ring, if `at_a_time` result rows are computed at a time: those that they
        read, rounded up to a multiple of the rows that are new each time, so that none of these
        are behind the end of the ring, and others at its start."""
        stride = self.depthwise.strides[0]
        new = product(at_a_time, stride)
        held = arith.ceildivui(index(max(self.reach - stride, 0)), index(new))
        return arith.addi(index(new), index(product(held, new)))

    def rows_at_a_time(self, sizes: ImageSizes) -> ir.Value:
        """Result rows that are computed at a time: those of `PIXELS` pixels, or of `PANEL_PIXELS`
        by a panel, rounded up, or some more, if tiles then overlap less. All panels are in the
        memory of one workgroup of all channels, and of those beside it."""
        pixels, most = index(PIXELS), index(MOST_ROWS)
        if self.splits_panels:
            is_by_panels = self.is_by_panels(sizes)
            pixels = arith.select(is_by_panels, index(PANEL_PIXELS), pixels)
            most = arith.select(is_by_panels, index(SHARES * MOST_ROWS), most)
        most = arith.minui(most, arith.maxui(index(sizes.result_height), index(1)))
        longest = arith.maxui(index(sizes.width), index(sizes.result_width))
        least = arith.ceildivui(pixels, arith.maxui(longest, index(1)))
        least = arith.minui(least, most)
        if not self._matmuls:
            return least
        rows = index(product(sizes.images, sizes.result_height))
        share = arith.ceildivui(rows, self._row_shares(sizes))
        share = arith.minui(share, index(sizes.result_height))
        best, cost = least, self._multiplications(least, share, sizes)
        for more in range(1, MORE_ROWS + 1):
            wanted = arith.addi(least, index(more))
            needed = self._multiplications(wanted, share, sizes)
            few = arith.cmpi(_BELOW_OR_EQUAL, wanted, most)
            pixels = arith.muli(wanted, longest)
            fits = arith.cmpi(_BELOW_OR_EQUAL, pixels, index(self._most_pixels))
            better = arith.andi(arith.andi(few, fits), arith.cmpi(_BELOW, needed, cost))
            best, cost = (
                arith.select(better, new, old) for new, old in ((wanted, best), (needed, cost))
            )
        return best

    @property
    def _matmuls(self) -> list[MatmulShape]:
        """The steps that are matmuls."""
        return [step for step in (self.first, self.last) if isinstance(step, MatmulShape)]

    @property
    def _most_pixels(self) -> int:
        """Result pixels at a time, at most, if rows are more than `PIXELS` asks for."""
        if not self._matmuls:
            return PIXELS
        budget = self._matmuls[0].cpu.l2_bytes * RING_SHARE
        pixel = 2 * self.depthwise.strides[0] * self.depthwise.image[3]
        return max(PIXELS, int(budget) // (4 * pixel))

    def _multiplications(self, at_a_time: ir.Value, share: ir.Value, sizes: ImageSizes) -> ir.Value:
        """Multiplications of the matmuls of `share` result rows, so many at a time, with those
        that are repeated where register tiles overlap."""
        images = product(sizes.width, self.depthwise.strides[0]), sizes.result_width

        def rows_of(rows: ir.Value) -> ir.Value:
            total = index(0)
            for step, width in zip((self.first, self.last), images, strict=True):
                if isinstance(step, MatmulShape):
                    tiles = arith.ceildivui(arith.muli(rows, index(width)), index(step.mr))
                    each = index(step.mr * step.k * step.columns)
                    total = arith.addi(total, arith.muli(tiles, each))
            return total

        divisor = arith.maxui(at_a_time, index(1))
        whole, rest = arith.divui(share, divisor), arith.remui(share, divisor)
        return arith.addi(arith.muli(whole, rows_of(at_a_time)), rows_of(rest))
