"""A depthwise convolution of image rows in a ring buffer.

The rows have margins of zeros in the buffer, so that no window reads beside them, and all tiles of
a row are computed alike.
"""

from dataclasses import dataclass

from ...mlir import arith, ir
from .direct_conv_rows import ConvRow, Panel
from .direct_convolution import DirectConvEmitter


@dataclass(frozen=True)
class ImageRing:
    """Rows of a buffer that hold the latest rows of an image: `rows` of them, from `first` on, of
    which the one `shift` rows further holds row 0 of the image."""

    first: ir.Value
    rows: ir.Value
    shift: ir.Value

    def place(self, row: ir.Value) -> ir.Value:
        """The row of the buffer for row `row` of the image."""
        return arith.addi(self.first, arith.remui(arith.addi(row, self.shift), self.rows))


class RingConvEmitter(DirectConvEmitter):
    """Reads the image from a ring buffer."""

    ring: ImageRing

    def first_row(self, origin: ir.Value, top: ir.Value) -> ir.Value:
        """The ring's row of image row `top`, which may be above the image, so that rows inside are
        at most one turn of the ring further."""
        del origin
        above = arith.minsi(top, self.index(0))
        return arith.addi(self.ring.place(arith.subi(top, above)), above)

    def row_offset(self, origin: ir.Value, first: ir.Value, tap: ir.Value) -> ir.Value:
        """The elements between the row that kernel row 0 reads and that of `tap`."""
        plain = super().row_offset(origin, first, tap)
        row = arith.addi(arith.subi(first, origin), self.times(tap, self.shape.dilations[0]))
        turns = arith.cmpi(arith.CmpIPredicate.sge, row, self.ring.rows)
        whole = self.times(self.ring.rows, self.row_stride)
        return arith.select(turns, arith.subi(plain, whole), plain)

    def clear_margins(self, panels: tuple[ir.Value, ir.Value]) -> None:
        """Fill the margins of all rows with zeros, for the panels from the first of `panels` to
        before the second. The margin behind a row is that before the next one."""
        shape = self.shape
        zeros = self.zeros(1, shape.parts)
        masks = [self.mask_of(part) for part in shape.parts]

        def pixel(number: ir.Value, panel: ir.Value) -> None:
            row = arith.divui(number, self.index(self.image_margin))
            column = arith.remui(number, self.index(self.image_margin))
            at = self.times(arith.addi(self.ring.first, row), self.row_stride)
            at = self.add(at, self.times(column, self.pixel_stride))
            at = self.add(at, self._first_feature(panel))
            for part, zero, mask in zip(shape.parts, zeros, masks, strict=True):
                self.store(zero, self.image, self.add(at, part.start), mask)

        pixels = self.times(self.add(self.ring.rows, 1), self.image_margin)
        self.repeat(*panels, lambda panel: self.repeat(0, pixels, lambda at: pixel(at, panel)))

    def tiles(self, row: ConvRow, panel: Panel) -> None:
        """See `DirectConvRows`. All are interior ones; pixels that are too few for a tile are
        computed one by one."""
        shape = self.shape
        width, pixels = shape.tile_w, shape.result[2]
        if shape.has_known_width and pixels is not None and self.span is None:
            starts = range(0, pixels, width)
            known = [(start, shape.interior(min(width, pixels - start))) for start in starts]
            return self.known_tiles(known, row, panel)
        begin, end = self.span or (self.index(0), self.index(self.sizes.result_width))
        left = self.interior_tiles(begin, end, row, panel)

        def pixel(number: ir.Value) -> None:
            self.tile(shape.interior(1), arith.addi(begin, number), row, panel)

        if width > 3:  # half of a tile is more than a pixel
            self.repeat(0, left, pixel)
        return None
