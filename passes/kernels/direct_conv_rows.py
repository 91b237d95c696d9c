"""Direct convolution, from the outside in: the rows of a workgroup, and the tiles of pixels that
each row is cut into."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape, Planes, RowTile
from .emitter import Registers, VectorEmitter
from .epilogue import Epilogue
from .sizes import Index, index, product

KernelRow = Callable[[ir.Value, ir.Value, Registers], Registers]
"""A function that accumulates the taps of a row of the kernel for the pixels of a tile: it receives
where the row of the image and its weights begin, and the accumulators."""


@dataclass(frozen=True)
class Panel:
    """A panel of features: its first feature, and its weights, from the first tap of a row on."""

    feature: ir.Value
    weights: ir.Value


@dataclass(frozen=True)
class ConvRow:
    """A row of the result: offsets of the first pixel that its first taps read, without padding
    along the row, and of its first result; bounds of the kernel rows inside the image; the rows
    of the buffer that kernel row 0 reads, and in which the image begins; of a volume, the plane
    that the first taps read, which may be before it."""

    image: ir.Value
    result: ir.Value
    taps: tuple[ir.Value, ir.Value]
    first: ir.Value
    origin: ir.Value
    plane: ir.Value | None = None


@dataclass(frozen=True)
class Pixel:
    """A pixel that a tap reads: its offset, and a mask (i1) that is false outside of the image."""

    offset: ir.Value
    inside: ir.Value | None = None


@dataclass(frozen=True)
class _RowParts:
    """The first pixel of a row that is computed, the first whose taps all fall into the image, that
    behind the last of these, and that behind the last that is computed."""

    begin: ir.Value
    low: ir.Value
    high: ir.Value
    end: ir.Value


class DirectConvRows(VectorEmitter, ABC):
    """Emits the loops of the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: DirectConvShape,
        image: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.image, self.weights, self.output = shape, image, weights, output
        self.epilogue = epilogue
        self.span: tuple[ir.Value, ir.Value] | None = None
        """The pixels of each row that are computed, if not all: the first, and that behind the
        last."""
        self.image_margin = self.result_margin = 0
        """Pixels of the buffers of the image and the result before each row."""
        if shape.is_static:
            self.bind()

    def bind(self, *dynamic: ir.Value) -> None:
        """Set the dynamic sizes: those of the image, of the result, and the planes of both."""
        self.sizes = self.shape.sizes_of(dynamic)

    # The image in memory

    @property
    def image_rows(self) -> Index:
        """Rows of one image in memory, over all planes of a volume, and all channels if it is
        planar."""
        rows = product(self.sizes.height, self.sizes.planes)
        return product(rows, self.shape.image[3] if self.shape.planar else 1)

    @property
    def pixel_stride(self) -> int:
        """Stride from one pixel of a row to the next, in elements."""
        return 1 if self.shape.planar else self.shape.image[3]

    @property
    def row_stride(self) -> Index:
        """Stride from one row of the image to the next, in elements."""
        return product(_wider(self.sizes.width, self.image_margin), self.pixel_stride)

    @property
    def channel_stride(self) -> Index:
        """Stride from one channel of a pixel to the next, in elements."""
        if not self.shape.planar:
            return 1
        return product(product(self.sizes.height, self.sizes.width), self.sizes.planes)

    # The kernel, from the outside in

    def workgroup(self, workgroup_id: ir.Value, *sizes: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the panels of one chunk of rows, or of one segment, are
        consecutive."""
        self.bind(*sizes)
        shape = self.shape
        panel = arith.remui(workgroup_id, self.index(shape.panels))
        number = arith.divui(workgroup_id, self.index(shape.panels))
        if shape.segment is not None:
            number = self._in_segment(number, shape.segment)
        if shape.has_known_rows:
            first = self.times(number, shape.chunk)
            last = self.add(first, shape.chunk)
        else:
            planes = product(self.sizes.images, self.sizes.result_planes)
            rows = self.index(product(planes, self.sizes.result_height))
            chunk = shape.count_chunk(rows)
            first = self.times(number, chunk)
            last = arith.minui(arith.addi(first, chunk), rows)
        self.repeat(first, last, lambda row: self._row(row, panel))

    def _in_segment(self, number: ir.Value, pixels: int) -> ir.Value:
        """Compute only segment `number`, of all rows, of so many pixels; returns the number of its
        row."""
        width = self.index(self.sizes.result_width)
        count = self.index(self.shape.segments_of(self.sizes.result_width))
        first = self.times(arith.remui(number, count), pixels)
        self.span = first, arith.minui(self.add(first, pixels), width)
        return arith.divui(number, count)

    def _row(self, row: ir.Value, panel: ir.Value) -> None:
        """Emit one row of the result by a panel."""
        positions = self.index(self.sizes.result_height)
        batch, position = arith.divui(row, positions), arith.remui(row, positions)
        planes, first = self.shape.planes, None
        if planes != Planes():
            count = self.index(self.sizes.result_planes)
            batch, plane = arith.divui(batch, count), arith.remui(batch, count)
            first = self.add(self.times(plane, planes.stride), -planes.low)
        self.row_of(position, self.times(batch, self.image_rows), row, panel, first)

    def rows_of(
        self,
        position: ir.Value,
        count: Index,
        origin: ir.Value,
        row: ir.Value,
        panels: tuple[ir.Value, ir.Value] | None = None,
    ) -> None:
        """Emit `count` result rows of one image, from row `position` on, into the rows of the
        result buffer from `row` on, by all panels, or those from the first of `panels` to before
        the second. Row 0 of the image is row `origin` of its buffer."""

        def panel(panel: ir.Value) -> None:
            def line(line: ir.Value) -> None:
                self.row_of(self.add(position, line), origin, self.add(row, line), panel)

            self.repeat(0, count, line)

        first, behind = panels or (0, self.shape.panels)
        self.repeat(first, behind, panel)

    def row_of(
        self,
        position: ir.Value,
        origin: ir.Value,
        row: ir.Value,
        panel: ir.Value,
        plane: ir.Value | None = None,
    ) -> None:
        """Emit one row by a panel; see `rows_of`, and `ConvRow` for `plane`."""
        shape = self.shape
        top = self.add(self.times(position, shape.strides[0]), -shape.low[0])
        first = self.first_row(origin, top)
        image = self.times(first, self.row_stride)
        image = self.add(image, self.image_margin * self.pixel_stride)
        image = self.add(image, self.times(self._first_channel(panel), self.channel_stride))
        feature = self._first_feature(panel)
        size = shape.planes.kernel * shape.kernel[0] * shape.row_weights
        features = shape.result[3]
        columns = product(_wider(self.sizes.result_width, self.result_margin), features)
        result = self.add(self.times(row, columns), self.result_margin * features)
        result = self.add(result, feature)
        self.tiles(
            ConvRow(image, result, self._rows_inside(top), first, origin, plane),
            Panel(feature, self.times(panel, size)),
        )

    def first_row(self, origin: ir.Value, top: ir.Value) -> ir.Value:
        """The buffer's row of image row `top`, which may be above the image."""
        return self.add(origin, top)

    def row_offset(self, origin: ir.Value, first: ir.Value, tap: ir.Value) -> ir.Value:
        """The elements between row `first` of the buffer, which kernel row 0 reads, and the one
        that `tap` reads; the image begins in row `origin`."""
        del origin, first
        return self.times(tap, product(self.row_stride, self.shape.dilations[0]))

    def _first_feature(self, panel: ir.Value) -> ir.Value:
        """The first feature of a panel; the last panel ends with the features."""
        shape, feature = self.shape, self.times(panel, self.shape.nr)
        if shape.result[3] % shape.nr == 0:
            return feature
        return arith.minui(feature, self.index(shape.result[3] - shape.nr))

    def _first_channel(self, panel: ir.Value) -> ir.Value:
        """The first channel that a panel reads."""
        shape = self.shape
        if shape.is_depthwise:
            return self.times(panel, shape.nr)
        group = arith.divui(panel, self.index(shape.panels // shape.groups))
        return self.times(group, shape.channels)

    def _rows_inside(self, top: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Bounds of the kernel rows that fall into the image, if kernel row 0 is at row `top`."""
        shape, zero = self.shape, self.index(0)
        dilation = self.index(shape.dilations[0])
        before = arith.ceildivsi(arith.subi(zero, top), dilation)
        after = arith.ceildivsi(arith.subi(self.index(self.sizes.height), top), dilation)
        last = arith.minsi(after, self.index(shape.kernel[0]))
        if not shape.has_known_width:  # an image without pixels has nothing to read
            last = arith.minsi(last, self.times(self.index(self.sizes.width), shape.kernel[0]))
        return arith.maxsi(before, zero), last

    # Tiles of a row

    def tiles(self, row: ConvRow, panel: Panel) -> None:
        """Emit the tiles of a row."""
        if not self.shape.has_known_width or self.shape.is_long or self.span is not None:
            self._tiles_and_borders(row, panel)
        else:
            self.known_tiles(self.shape.tiles(), row, panel)

    def known_tiles(self, tiles: Sequence[tuple[int, RowTile]], row: ConvRow, panel: Panel) -> None:
        """Emit `tiles` of a row, each with its first pixel."""
        for start, count, tile in _runs(tiles):
            first = start // self.shape.tile_w

            def emit(number: ir.Value, tile: RowTile = tile) -> None:
                self.tile(tile, self.times(number, self.shape.tile_w), row, panel)

            self.repeat(first, first + count, emit)

    def _tiles_and_borders(self, row: ConvRow, panel: Panel) -> None:
        """Emit the tiles of a row whose length is known at run time, or of which many may reach
        beyond the image: interior tiles, and border tiles for the pixels at both ends, or for all
        if those between are too few for a tile."""
        parts, border = self._parts_of_row(), self.shape.border_w
        left = self.interior_tiles(parts.low, parts.high, row, panel)
        is_left = self.compare(arith.CmpIPredicate.ne, left, 0)
        behind = arith.select(is_left, parts.low, parts.high)
        before = arith.subi(parts.low, parts.begin)
        count = arith.addi(before, arith.subi(parts.end, behind))

        def border_tile(number: ir.Value) -> None:
            pixels = []
            for each in range(border):
                nth = self.add(self.times(number, border), each)
                nth = arith.minui(nth, self.add(count, -1))
                is_before = arith.cmpi(arith.CmpIPredicate.ult, nth, before)
                first = arith.select(is_before, parts.begin, arith.subi(behind, before))
                pixels.append(arith.addi(first, nth))
            self._border_tile(pixels, row, panel)

        self.repeat(0, arith.ceildivui(count, self.index(border)), border_tile)

    def interior_tiles(
        self, begin: ir.Value, end: ir.Value, row: ConvRow, panel: Panel
    ) -> ir.Value:
        """Emit the pixels from `begin` to before `end`, whose taps all fall into the image, in
        tiles, of which the last one may have half of the pixels, and overlaps others. Returns the
        pixels that are left, none or all, which are too few for it."""
        width = self.shape.tile_w
        half = max(1, width // 2)
        length, zero = arith.subi(end, begin), self.index(0)
        whole, rest = arith.divui(length, self.index(width)), arith.remui(length, self.index(width))
        is_long = self.compare(arith.CmpIPredicate.uge, length, width)
        is_more = arith.andi(is_long, self.compare(arith.CmpIPredicate.ugt, rest, half))
        whole = arith.select(is_more, self.add(whole, 1), whole)
        rest = arith.select(is_more, zero, rest)
        has_half = self.compare(arith.CmpIPredicate.uge, length, half)
        halves = arith.select(has_half, arith.ceildivui(rest, self.index(half)), zero)

        def tiles(first: ir.Value, count: ir.Value, size: int) -> None:
            tile, last = self.shape.interior(size), self.add(end, -size)

            def emit(number: ir.Value) -> None:
                start = arith.addi(first, self.times(number, size))
                self.tile(tile, arith.minsi(start, last), row, panel)

            self.repeat(zero, count, emit)

        tiles(begin, whole, width)
        if width > 1:
            tiles(arith.addi(begin, self.times(whole, width)), halves, half)
        return arith.select(has_half, zero, length)

    def _parts_of_row(self) -> _RowParts:
        """The pixels of a row that are computed, and those of them whose taps are all inside."""
        shape = self.shape
        stride, low = shape.strides[1], shape.low[1]
        begin, end = self.span or (self.index(0), self.index(self.sizes.result_width))
        reach = (shape.kernel[1] - 1) * shape.dilations[1]
        inside = arith.minsi(arith.maxsi(self.index(-(-low // stride)), begin), end)
        room = self.add(self.index(self.sizes.width), low - reach - 1 + stride)
        outside = arith.minsi(arith.floordivsi(room, self.index(stride)), end)
        return _RowParts(begin, inside, arith.maxsi(outside, inside), end)

    def tile(self, tile: RowTile, start: ir.Value, row: ConvRow, panel: Panel) -> None:
        """Emit a tile that begins at pixel `start`."""
        shape = self.shape
        left = self.add(self.times(start, shape.strides[1]), -shape.low[1])
        base = self.add(row.image, self.times(left, self.pixel_stride))
        result = self.add(row.result, self.times(start, shape.result[3]))
        offsets = [self.add(result, i * shape.result[3]) for i in range(tile.pixels)]
        self.accumulate(base, row, panel, offsets, self.taps_of(tile))

    def _border_tile(self, pixels: Sequence[ir.Value], row: ConvRow, panel: Panel) -> None:
        """Emit a tile of any `pixels`, of which taps may fall outside: the image is zero there."""
        shape = self.shape
        offsets = [self.add(row.result, self.times(at, shape.result[3])) for at in pixels]
        lefts = [self.add(self.times(at, shape.strides[1]), -shape.low[1]) for at in pixels]
        self.accumulate(row.image, row, panel, offsets, self.border_taps(lefts))

    def clamped(self, image: ir.Value, column: ir.Value) -> Pixel:
        """The pixel in `column` of the row at `image`; column 0, masked, instead of one outside."""
        inside = self.compare(arith.CmpIPredicate.ult, column, self.sizes.width)
        held = arith.select(inside, column, self.index(0))
        return Pixel(self.add(image, self.times(held, self.pixel_stride)), inside)

    # Tiles

    @abstractmethod
    def taps_of(self, tile: RowTile) -> KernelRow:
        """A function that accumulates the taps of a kernel row inside the image."""

    @abstractmethod
    def border_taps(self, lefts: Sequence[ir.Value]) -> KernelRow:
        """A function that accumulates the taps of a kernel row, for pixels whose first taps are in
        the columns `lefts`, of which any may be beside the image."""

    @abstractmethod
    def accumulate(
        self,
        base: ir.Value,
        row: ConvRow,
        panel: Panel,
        offsets: Sequence[ir.Value],
        taps: KernelRow,
    ) -> None:
        """Emit a tile: accumulate `taps` of all kernel rows, apply the epilogue, and store the
        pixels at `offsets` of the result."""


def _wider(width: Index, margin: int) -> Index:
    """`width` pixels and those of a margin."""
    if isinstance(width, int):
        return width + margin
    return arith.addi(width, index(margin)) if margin else width


def _runs(tiles: Sequence[tuple[int, RowTile]]) -> list[tuple[int, int, RowTile]]:
    """The tiles of a row: interior ones of one width grouped in runs, every other one alone. A run
    is its first pixel, the number of tiles, and one of them."""
    runs: list[tuple[int, int, RowTile]] = []
    for start, tile in tiles:
        if runs and tile.is_interior and tile == runs[-1][2]:
            first, count, _ = runs[-1]
            runs[-1] = (first, count + 1, tile)
        else:
            runs.append((start, 1, tile))
    return runs
