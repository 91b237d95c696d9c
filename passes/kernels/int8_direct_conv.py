"""Direct convolution of 8-bit integers: the f32 kernel with a group of four channels in place of
each channel, and a dot product in place of the multiply-add."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape
from .direct_convolution import DirectConvEmitter, Pixel
from .emitter import Registers, VectorSlice, short_vectors
from .group_dot import INT8_DOTS, GroupDot


@dataclass(frozen=True)
class Int8DirectConvShape(DirectConvShape):
    """A convolution whose channels are counted in groups of four."""

    dot: GroupDot = INT8_DOTS["avx512vnni"]

    @property
    def flops_per_image(self) -> int:
        """See `DirectConvShape`."""
        return self.dot.size * super().flops_per_image

    @property
    def parts(self) -> list[VectorSlice]:
        """See `DirectConvShape`: vectors of the length that the instruction takes."""
        return short_vectors(self.nr, self.lanes)


class Int8DirectConvEmitter(DirectConvEmitter):
    """Emits the kernel. Indices of the image and the weights count groups of four."""

    shape: Int8DirectConvShape

    @property
    def accumulator(self) -> ir.Type:
        """See `VectorEmitter`."""
        return self.shape.dot.accumulator

    def channels(
        self, count: int, pixels: Sequence[Pixel], weights: ir.Value, accumulators: Registers
    ) -> Registers:
        """See `DirectConvEmitter`."""
        shape, dot = self.shape, self.shape.dot

        def group(index: ir.Value, registers: Registers) -> Registers:
            line = self.add(weights, self.times(index, shape.nr))
            columns = [
                dot.load(self.weights, self.times(self.add(line, part.start), dot.size))
                for part in shape.parts
            ]
            registers = list(registers)
            for number, pixel in enumerate(pixels):
                at = self.times(self.add(pixel.offset, index), dot.size)
                held = dot.load_one(self.image, at)
                if pixel.inside is not None:
                    held = arith.select(pixel.inside, held, arith.constant(held.type, 0))
                factor = dot.repeated(held)
                for part, column in enumerate(columns, start=number * len(columns)):
                    registers[part] = dot.multiply_add(registers[part], factor, column)
            return registers

        return self.loop((self.index(0), self.index(count)), accumulators, group)
