"""Direct convolution, from the outside in: the rows of a workgroup, and the tiles of pixels that
each row is cut into."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape, Planes, RowTile
from .emitter import Registers, VectorEmitter
from .epilogue import Epilogue
from .sizes import Index, product

KernelRow = Callable[[ir.Value, ir.Value, Registers], Registers]
"""A function that accumulates the taps of a row of the kernel for the pixels of a tile: it receives
where the row of the image and its weights begin, and the accumulators."""

MAX_UNROLLED_TAPS = 16
"""Taps along a row that are unrolled at most: filters of signals have hundreds."""


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
        last. Only for rows whose length is known at run time."""
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
    def channel_stride(self) -> Index:
        """Stride from one channel of a pixel to the next, in elements."""
        if not self.shape.planar:
            return 1
        return product(product(self.sizes.height, self.sizes.width), self.sizes.planes)

    # The kernel, from the outside in

    def workgroup(self, workgroup_id: ir.Value, *sizes: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the panels of one chunk of rows are consecutive."""
        self.bind(*sizes)
        shape = self.shape
        panel = arith.remui(workgroup_id, self.index(shape.panels))
        number = arith.divui(workgroup_id, self.index(shape.panels))
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
        line = product(self.sizes.width, self.pixel_stride)
        first = self.first_row(origin, top)
        image = self.times(first, line)
        image = self.add(image, self.times(self._first_channel(panel), self.channel_stride))
        feature = self._first_feature(panel)
        size = shape.planes.kernel * shape.kernel[0] * shape.row_weights
        columns = product(self.sizes.result_width, shape.result[3])
        result = self.add(self.times(row, columns), feature)
        self._tiles(
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
        line = product(self.sizes.width, self.pixel_stride)
        return self.times(tap, product(line, self.shape.dilations[0]))

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

    def _tiles(self, row: ConvRow, panel: Panel) -> None:
        """Emit the tiles of a row."""
        if not self.shape.has_known_width or self.shape.kernel[1] > MAX_UNROLLED_TAPS:
            self._choose_tiles(row, panel)
            return
        for start, count, tile in _runs(self.shape.tiles()):
            first = start // self.shape.tile_w

            def emit(index: ir.Value, tile: RowTile = tile) -> None:
                self._tile(tile, self.times(index, self.shape.tile_w), row, panel)

            self.repeat(first, first + count, emit)

    def _choose_tiles(self, row: ConvRow, panel: Panel) -> None:
        """Emit the tiles of a row whose length is known at run time, or of which many may reach
        beyond the image, in the width that costs the least."""
        length = self._row_length()
        options = []
        for width in self.shape.widths:
            tiles = arith.ceildivui(length, self.index(width))
            options.append((width, tiles, self.times(tiles, self.shape.tile_cost(width))))

        def best(left: Sequence[tuple[int, ir.Value, ir.Value]]) -> None:
            (width, tiles, cost), *others = left
            if not others:
                self._overlapping_tiles(width, tiles, row, panel)
                return
            least = others[0][2]
            for _, _, other in others[1:]:
                least = arith.minui(least, other)
            wins = arith.cmpi(arith.CmpIPredicate.ule, cost, least)
            self.choose(
                wins,
                lambda: self._overlapping_tiles(width, tiles, row, panel),
                lambda: best(others),
            )

        best(options)

    def _overlapping_tiles(self, pixels: int, tiles: ir.Value, row: ConvRow, panel: Panel) -> None:
        """Emit `tiles` tiles of `pixels` pixels, of which the last one ends with the row: those
        whose taps all fall into the image, then the others, at both ends."""
        shape, low = self.shape, self.shape.low[1]
        step = pixels * shape.strides[1]
        reach = (pixels - 1) * shape.strides[1] + (shape.kernel[1] - 1) * shape.dilations[1]
        room = self.add(self.index(self.sizes.width), low - reach - 1 + step)
        if self.span is None:
            begin, first = self.index(0), self.index(-(-low // step))
        else:
            begin = self.span[0]
            inside = arith.subi(self.index(-(-low // shape.strides[1])), begin)
            first = arith.maxsi(arith.ceildivsi(inside, self.index(pixels)), self.index(0))
            room = arith.subi(room, self.times(begin, shape.strides[1]))
        first = arith.minui(first, tiles)
        last = arith.floordivsi(room, self.index(step))
        whole = arith.divui(self._row_length(), self.index(pixels))
        last = arith.maxsi(arith.minsi(last, whole), first)
        inner = shape.interior(pixels)

        def place(number: ir.Value) -> ir.Value:
            at = self.times(number, pixels)
            return at if self.span is None else arith.addi(begin, at)

        self.repeat(first, last, lambda at: self._tile(inner, place(at), row, panel))
        end = arith.subi(self._last_column(), self.index(pixels - 1))

        def border(number: ir.Value) -> None:
            before = arith.cmpi(arith.CmpIPredicate.ult, number, first)
            behind = arith.addi(arith.subi(number, first), last)
            at = place(arith.select(before, number, behind))
            self._border_tile(pixels, arith.minsi(at, end), row, panel)

        self.repeat(0, arith.subi(tiles, arith.subi(last, first)), border)

    def _row_length(self) -> ir.Value:
        """The pixels of a row that are computed."""
        if self.span is None:
            return self.index(self.sizes.result_width)
        return arith.subi(self.span[1], self.span[0])

    def _last_column(self) -> ir.Value:
        """The last pixel of a row that is computed."""
        end = self.index(self.sizes.result_width) if self.span is None else self.span[1]
        return self.add(end, -1)

    def _tile(self, tile: RowTile, start: ir.Value, row: ConvRow, panel: Panel) -> None:
        """Emit a tile that begins at pixel `start`."""
        shape = self.shape
        left = self.add(self.times(start, shape.strides[1]), -shape.low[1])
        base = self.add(row.image, self.times(left, self.pixel_stride))
        result = self.add(row.result, self.times(start, shape.result[3]))
        offsets = [self.add(result, i * shape.result[3]) for i in range(tile.pixels)]
        self.accumulate(base, row, panel, offsets, self.taps_of(tile))

    def _border_tile(self, pixels: int, start: ir.Value, row: ConvRow, panel: Panel) -> None:
        """Emit a tile that begins at pixel `start`, of which taps or pixels may fall outside: the
        image is zero there, and the last pixel of the row is computed instead of what follows."""
        shape, last = self.shape, self._last_column()
        first = self.index(0) if self.span is None else self.span[0]
        places = [arith.minsi(arith.maxsi(self.add(start, i), first), last) for i in range(pixels)]
        offsets = [self.add(row.result, self.times(at, shape.result[3])) for at in places]
        lefts = [self.add(self.times(at, shape.strides[1]), -shape.low[1]) for at in places]
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
