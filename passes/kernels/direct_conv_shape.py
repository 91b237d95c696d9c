"""The sizes of a direct convolution, and the tiles of pixels that its rows are cut into."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...cpu_model import CpuModel
from ...mlir import arith, ir
from .emitter import VectorSlice, long_vectors
from .image_extents import Extents, ImageSizes, known_sizes
from .sizes import Index, index, product

MIN_WORKGROUPS = 8
"""Workgroups that a convolution should split into, for threads to share."""
LONG_BORDER_PIXELS = 4
"""Pixels of a border tile of a long filter, unless half of an interior one is more."""
MOST_LONG_BORDER_PIXELS = 7
"""The same, at most."""
MAX_UNROLLED_TAPS = 16
"""Taps along a row that are unrolled at most: filters of signals have hundreds."""

SEGMENT_FLOPS = 1 << 21
"""FLOPs of a segment of a row by a panel, where segments are what threads share."""
L2_SHARE = 2
"""Share of the L2, as a divisor, that the image of a segment takes."""
MIN_SEGMENT_TILES = 8
"""Tiles of a segment, at least: the last ones overlap, or have bodies of their own."""

AnyShape = TypeVar("AnyShape", bound="DirectConvShape")


@dataclass(frozen=True)
class RowTile:
    """Adjacent pixels of a result row whose accumulators are in registers."""

    pixels: int
    inside: tuple[tuple[int, ...], ...]
    """For each tap of a kernel row, the pixels for which it falls into the image."""

    @property
    def is_interior(self) -> bool:
        """True if all taps of all pixels fall into the image."""
        return all(len(pixels) == self.pixels for pixels in self.inside)


@dataclass(frozen=True)
class Planes:
    """The first spatial axis of a volume, whose planes are images: planes of the image, all in one
    batch, and of the result (None if known only at run time), and the window along them."""

    image: int | None = 1
    result: int | None = 1
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    low: int = 0


@dataclass(frozen=True)
class DirectConvShape:
    """The sizes of a convolution and of its tiles."""

    image: Extents
    result: Extents
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    low: tuple[int, int]
    nr: int
    """Features in a panel. The last one begins in that before it, if they do not fill it."""
    groups: int
    tile_w: int
    """Pixels of a tile, at most."""
    lanes: int
    planar: bool = False
    """True if the image is channels-first (NCHW) in memory."""
    planes: Planes = Planes()
    """The planes of each image, if it is a volume."""
    segment: int | None = None
    """Pixels of a row of the result in a workgroup; None for whole rows (`in_segments`)."""

    @property
    def flops(self) -> int | None:
        """FLOPs; None if they depend on sizes known only at run time."""
        images = self.result[0]
        if images is None or None in (*self.result, self.planes.result):
            return None
        return images * self.flops_per_image

    @property
    def flops_per_image(self) -> int:
        """FLOPs of an image, whose sizes must be known."""
        assert self.planes.result is not None
        pixels = math.prod(known_sizes(self.result)) * self.planes.result
        return 2 * pixels * self.taps * self.channels

    @property
    def taps(self) -> int:
        """Taps of the kernel."""
        return math.prod(self.kernel) * self.planes.kernel

    @property
    def row_weights(self) -> int:
        """Weights of a row of the kernel in a panel."""
        return self.kernel[1] * self.channels * self.nr

    @property
    def channels(self) -> int:
        """Channels that a panel reads, which are those of its group."""
        return self.image[3] // self.groups

    @property
    def is_depthwise(self) -> bool:
        """True if every channel has its own kernel, so that a panel spans many groups."""
        return self.groups == self.image[3] == self.result[3]

    @property
    def panels(self) -> int:
        return -(-self.result[3] // self.nr)

    @property
    def parts(self) -> list[VectorSlice]:
        """Vectors in a panel."""
        return long_vectors(self.nr, self.lanes)

    @property
    def registers_per_pixel(self) -> int:
        """Accumulators of a pixel, some for each of `parts`."""
        return len(self.parts)

    @property
    def is_one_run(self) -> bool:
        """True if the taps of a kernel row are contiguous in memory."""
        return self.dilations[1] == 1 and self.groups == 1 and not self.planar

    @property
    def is_static(self) -> bool:
        """True if all sizes are known."""
        return None not in (*self.image, *self.result, self.planes.image, self.planes.result)

    def sizes_of(self, dynamic: Sequence[ir.Value]) -> ImageSizes:
        """All sizes, for the `dynamic` ones of the image, then of the result, then the planes."""
        planes = self.planes.image, self.planes.result
        return ImageSizes.of(self.image, self.result, dynamic, planes)

    # Rows, and their shares

    @property
    def has_known_rows(self) -> bool:
        """True if the number of rows is known."""
        return None not in (*self.result[:2], self.planes.result)

    @property
    def has_known_width(self) -> bool:
        """True if the tiles of a row, and the taps outside of the image, are known."""
        return self.image[2] is not None and self.result[2] is not None

    @property
    def rows(self) -> int:
        """Rows of the result, over the whole batch, which must be known."""
        images, height = self.result[:2]
        assert images is not None
        assert height is not None
        assert self.planes.result is not None
        return images * self.planes.result * height

    @property
    def chunk(self) -> int:
        """Rows in a workgroup, of a number that is known."""
        wanted = min(max(1, self.rows * self.panels // MIN_WORKGROUPS), self.rows)
        most = wanted if self.most_rows is None else min(wanted, self.most_rows)
        return next(n for n in range(most, 0, -1) if self.rows % n == 0)

    @property
    def most_rows(self) -> int | None:
        """Rows in a workgroup, at most; None if there is no limit."""
        return 1 if self.segment else None

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes that they depend on are known."""
        width = self.result[2]
        assert width is not None
        segments = self.segments_of(width)
        assert isinstance(segments, int)
        return self.rows // self.chunk * segments * self.panels

    def segments_of(self, width: Index) -> Index:
        """Segments of a row of the result of `width` pixels."""
        if self.segment is None:
            return 1
        if isinstance(width, int):
            return -(-width // self.segment)
        return arith.ceildivui(width, index(self.segment))

    def count_chunk(self, rows: ir.Value) -> ir.Value:
        """Rows in a workgroup, of `rows` in all; the last workgroups may have fewer."""
        share = arith.divui(arith.muli(rows, index(self.panels)), index(MIN_WORKGROUPS))
        if self.most_rows is not None:
            return arith.maxui(arith.minui(share, index(self.most_rows)), index(1))
        chunks = arith.ceildivui(rows, arith.maxui(share, index(1)))
        if self.panels % 2:  # an even number, which two threads or four share evenly
            chunks = arith.addi(chunks, arith.andi(chunks, index(1)))
        return arith.maxui(arith.ceildivui(rows, arith.maxui(chunks, index(1))), index(1))

    def count_workgroups(self, *sizes: ir.Value) -> ir.Value:
        """Workgroups, for the dynamic `sizes`: see `sizes_of`."""
        extents = self.sizes_of(sizes)
        chunks: Index
        if self.has_known_rows:
            chunks = self.rows // self.chunk
        else:
            planes = product(extents.images, extents.result_planes)
            rows = index(product(planes, extents.result_height))
            chunks = arith.ceildivui(rows, self.count_chunk(rows))
        parts = product(chunks, self.segments_of(extents.result_width))
        return index(product(parts, self.panels))

    # Tiles of a row

    @property
    def is_long(self) -> bool:
        """True if the taps along a row are a loop."""
        return self.kernel[1] > MAX_UNROLLED_TAPS

    @property
    def border_w(self) -> int:
        """Pixels of a border tile where not all tiles of a row are known. It is a body of code of
        its own, and so there is one width: that of the pixels at both ends of a row of which taps
        fall outside, if they are few. Long filters have many border tiles, which are not narrow,
        and equal in a row of known length."""
        widest, pixels = self.tile_w, self.result[2]
        if not self.is_long:
            behind = (self.kernel[1] - 1) * self.dilations[1] - self.low[1]
            outside = sum(max(0, -(-side // self.strides[1])) for side in (self.low[1], behind))
            return max(1, min(outside, widest))
        if pixels:
            return -(-pixels // -(-pixels // widest))
        return max(min(LONG_BORDER_PIXELS, widest), min(MOST_LONG_BORDER_PIXELS, widest // 2))

    def interior(self, pixels: int) -> RowTile:
        """The tile of `pixels` pixels whose taps all fall into the image."""
        return RowTile(pixels, (tuple(range(pixels)),) * self.kernel[1])

    def tiles(self) -> list[tuple[int, RowTile]]:
        """The tiles of a row of known length, each with its first pixel."""
        width = self.result[2]
        assert width is not None
        starts = range(0, width, self.tile_w)
        return [(start, self._tile(start, min(self.tile_w, width - start))) for start in starts]

    def _tile(self, start: int, pixels: int) -> RowTile:
        last = start + pixels - 1
        if self._is_inside(start, 0) and self._is_inside(last, self.kernel[1] - 1):
            return self.interior(pixels)
        inside = [
            tuple(i for i in range(pixels) if self._is_inside(start + i, tap))
            for tap in range(self.kernel[1])
        ]
        return RowTile(pixels, tuple(inside))

    def _is_inside(self, position: int, tap: int) -> bool:
        """Return whether column `tap` of the kernel falls into the image at pixel `position`."""
        width = self.image[2]
        assert width is not None
        column = position * self.strides[1] - self.low[1] + tap * self.dilations[1]
        return 0 <= column < width


def in_segments(shape: AnyShape, cpu: CpuModel, pixel_bytes: int) -> AnyShape:
    """`shape` with the rows of a sequence, whose pixels have `pixel_bytes`, cut into segments, if
    they are long.

    All panels of features read a segment while it is in the L2; and threads share the segments,
    where panels and sequences are few.
    """
    if (shape.image[1], shape.result[1], shape.planar) != (1, 1, False):
        return shape
    width, images = shape.result[2], shape.result[0] or 1
    wanted = []
    if shape.panels > 1 and not shape.is_depthwise:
        wanted.append(cpu.l2_bytes // L2_SHARE // (pixel_bytes * shape.strides[1]))
    if images * shape.panels < MIN_WORKGROUPS:
        wanted.append(SEGMENT_FLOPS // (2 * shape.taps * shape.channels * shape.nr))
    pixels = max(min(wanted, default=0), MIN_SEGMENT_TILES * shape.tile_w)
    if not wanted or (width is not None and width <= pixels):
        return shape
    if width is not None:
        pixels = -(-width // -(-width // pixels))
    return replace(shape, segment=-(-pixels // shape.tile_w) * shape.tile_w)
