"""Images with zeros beside and between their elements, for kernels that copy vectors.

A thread writes one pixel: all of its channels at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .thread_emitter import Number, ThreadEmitter

THREADS = 128
"""Threads of a workgroup; each writes a pixel."""


@dataclass(frozen=True)
class ImageShape:
    """An image ``[N, spatial..., C]`` in memory, element ``[i, j, ...]`` at index ``offset + i *
    strides[0] + j * strides[1] + ...``, to be written with borders and more channels."""

    sizes: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    low: tuple[int, ...]
    """Pixels of the border before the image, along each spatial axis."""
    result: tuple[int, ...]
    """The sizes of the result, of which the channels are a power of two."""

    @property
    def pixels(self) -> int:
        count = 1
        for size in self.result[:-1]:
            count *= size
        return count

    @property
    def workgroups(self) -> int:
        return -(-self.pixels // THREADS)


class ImageEmitter(ThreadEmitter):
    """Emits the kernel."""

    def __init__(
        self,
        shape: ImageShape,
        image: ir.Value,
        result: ir.Value,
        element: Callable[[ir.Value], ir.Value],
    ):
        """`element` computes an element of the result from one of the image."""
        super().__init__()
        self.shape, self.image, self.result = shape, image, result
        self.element = element

    def workgroup(self, number: ir.Value) -> None:
        """Emit the workgroup with the given number."""
        first = self.multiply(arith.index_castui(self.i32, number), THREADS)
        pixel = self.add(first, self.thread())
        inside = self.below(pixel, self.shape.pixels) if self.shape.pixels % THREADS else None
        self.when(inside, lambda: self._pixel(pixel))

    def _pixel(self, pixel: Number) -> None:
        shape = self.shape
        at: Number = shape.offset
        valid: list[ir.Value | None] = []
        rest = pixel
        for axis in reversed(range(len(shape.result) - 1)):
            rest, position = self.divide(rest, shape.result[axis])
            if axis:
                position = self.add(position, -shape.low[axis - 1])
            if shape.result[axis] != shape.sizes[axis]:
                valid.append(self.below(position, shape.sizes[axis]))
            at = self.add(at, self.multiply(position, shape.strides[axis]))
        inside = self.all_of(valid)
        if inside is not None:
            at = arith.select(inside, self.value(at), self.value(0))
        element = ir.MemRefType(self.result.type).element_type
        zero = arith.constant(element, 0.0)
        elements: list[ir.Value] = []
        for channel in range(shape.result[-1]):
            if channel >= shape.sizes[-1]:
                elements.append(zero)
                continue
            here = self.add(at, channel * shape.strides[-1])
            loaded = self.element(vector.extract(self.load(self.image, here, 1), [], [0]))
            elements.append(loaded if inside is None else arith.select(inside, loaded, zero))
        type_ = ir.VectorType.get([len(elements)], element)
        stored = vector.from_elements(type_, elements)
        self.store(stored, self.result, self.multiply(pixel, len(elements)))
