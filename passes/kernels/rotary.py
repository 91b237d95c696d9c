"""A kernel that turns the pairs of a rotary embedding: elements of the two halves of a row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import VectorEmitter

WORKGROUP_BYTES = 32 << 10
"""Bytes of rows that a workgroup turns, about."""


@dataclass(frozen=True)
class RotaryRows:
    """Rows of `width` elements of f32, the first ``2 half`` of which are turned; both are multiples
    of `lanes`. The rows have axes of sizes `outer`; the angles of a row are at the sum of its
    indices times `strides`, in elements."""

    outer: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    half: int
    lanes: int

    flops = None

    @property
    def rows(self) -> int:
        """All rows."""
        return math.prod(self.outer)

    @property
    def chunk(self) -> int:
        """Rows of a workgroup."""
        return max(1, WORKGROUP_BYTES // (4 * self.width))

    @property
    def workgroups(self) -> int:
        """The number of workgroups."""
        return -(-self.rows // self.chunk)


class RotaryEmitter(VectorEmitter):
    """Emits the kernel."""

    def __init__(self, shape: RotaryRows, x: ir.Value, cos: ir.Value, sin: ir.Value, y: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.x, self.angles, self.y = shape, x, (cos, sin), y

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self.shape
        first = self.times(workgroup_id, shape.chunk)
        end = arith.minui(self.add(first, shape.chunk), self.index(shape.rows))
        self.repeat(first, end, self._row)

    def _row(self, row: ir.Value) -> None:
        shape, half = self.shape, self.shape.half
        start, angle = self.times(row, shape.width), self._angle(row)
        for at in range(0, half, shape.lanes):
            cos, sin = (self.load(each, self.add(angle, at)) for each in self.angles)
            places = [self.add(start, at), self.add(start, half + at)]
            a, b = (self.load(self.x, place) for place in places)
            turned = [
                arith.subf(arith.mulf(a, cos), arith.mulf(b, sin)),
                arith.addf(arith.mulf(b, cos), arith.mulf(a, sin)),
            ]
            for value, place in zip(turned, places, strict=True):
                self.store(value, self.y, place)
        for at in range(2 * half, shape.width, shape.lanes):
            self.store(self.load(self.x, self.add(start, at)), self.y, self.add(start, at))

    def _angle(self, row: ir.Value) -> ir.Value:
        """The first angle of a row."""
        at = self.index(0)
        sizes = list(zip(self.shape.outer, self.shape.strides, strict=True))
        for size, stride in reversed(sizes):
            if stride:
                at = self.add(at, self.times(arith.remui(row, self.index(size)), stride))
            row = arith.divui(row, self.index(size))
        return at


def strides_of(held: Sequence[int], outer: Sequence[int], half: int) -> tuple[int, ...]:
    """The strides, for axes of sizes `outer`, of angles whose leading sizes are `held`, which
    broadcast to these."""
    strides: list[int] = []
    stride = half
    padded = [1] * (len(outer) - len(held)) + list(held)
    for size in reversed(padded):
        strides.insert(0, stride if size != 1 else 0)
        stride *= size
    return tuple(strides)
