"""Direct convolution of 8-bit integers on the tile registers of AMX.

The kernel is that of a matmul whose rows are the positions of the image, in memory order: with
strides of 1, the windows of successive positions are as far apart as the positions, and a tap of
the kernel is a distance from the position. Positions too near to the right or lower border to hold
a window are computed, too, and not stored.
"""

from dataclasses import dataclass

from ...mlir import arith, ir
from .amx_matmul import AmxMatmulEmitter, AmxMatmulShape
from .emitter import Registers
from .epilogue import OutputPosition

Extent = tuple[int, int]
"""Sizes along the height and the width."""


@dataclass(frozen=True)
class AmxConvShape(AmxMatmulShape):
    """A convolution without padding; `rows` are the positions up to the last with a window, `k` the
    products of a window."""

    image: Extent = (1, 1)
    result: Extent = (1, 1)
    kernel: Extent = (1, 1)
    dilations: Extent = (1, 1)

    @staticmethod
    def count_positions(images: int, image: Extent, result: Extent) -> int:
        """The positions of `images` images up to the last that holds a window."""
        last_row = (images - 1) * image[0] + result[0] - 1
        return last_row * image[1] + result[1]

    @property
    def row(self) -> int:
        """See `AmxMatmulShape`: from position to position, the channels."""
        return self.k // (self.kernel[0] * self.kernel[1])


class AmxConvEmitter(AmxMatmulEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    shape: AmxConvShape

    def step_offset(self, number: ir.Value) -> ir.Value:
        """See `AmxMatmulEmitter`: the tap, then its channels."""
        shape, size = self.shape, self.shape.dot.step
        steps = self.index(shape.row // size)
        tap, channels = arith.divui(number, steps), arith.remui(number, steps)
        columns = self.index(shape.kernel[1])
        down = self.times(arith.divui(tap, columns), shape.dilations[0] * shape.image[1])
        along = self.times(arith.remui(tap, columns), shape.dilations[1])
        position = self.times(arith.addi(down, along), shape.row)
        return self.add(position, self.times(channels, size))

    def store_row(
        self, row: ir.Value, positions: list[OutputPosition], accumulators: Registers
    ) -> None:
        """See `AmxMatmulEmitter`: nothing for positions that hold no window."""
        (height, width), (rows, pixels) = self.shape.image, self.shape.result
        line, pixel = (f(row, self.index(width)) for f in (arith.divui, arith.remui))
        inside = arith.andi(
            self.compare(arith.CmpIPredicate.ult, pixel, pixels),
            self.compare(arith.CmpIPredicate.ult, arith.remui(line, self.index(height)), rows),
        )
        store = super().store_row
        self.choose(inside, lambda: store(row, positions, accumulators), lambda: None)

    def result_row(self, row: ir.Value) -> ir.Value:
        """See `AmxMatmulEmitter`: the result position of an image position."""
        (height, width), (rows, pixels) = self.shape.image, self.shape.result
        line, pixel = (f(row, self.index(width)) for f in (arith.divui, arith.remui))
        image, y = (f(line, self.index(height)) for f in (arith.divui, arith.remui))
        return self.add(self.times(self.add(self.times(image, rows), y), pixels), pixel)
