"""Pools and depthwise convolutions on GPUs, channels last: a thread computes a vector of channels
at one output position, tap by tap. Taps outside the image are skipped, so it needs no border."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir
from ...mlir import math as mlir_math
from .mma_operands import ImageWindows
from .thread_emitter import Number, Prepare, ThreadEmitter

THREADS = 256
"""Threads of a workgroup."""
MAX_TAPS = 64
"""Maximum taps: they are unrolled."""


@dataclass(frozen=True)
class WindowShape:
    """ImageWindows of an image, whose channels are computed `lanes` at a time."""

    windows: ImageWindows
    lanes: int

    @property
    def vectors(self) -> int:
        """Vectors of the result."""
        return self.windows.rows * self.windows.channels // self.lanes

    @property
    def workgroups(self) -> int:
        return -(-self.vectors // THREADS)


class WindowEmitter(ThreadEmitter):
    """Emits the kernel."""

    def __init__(self, shape: WindowShape, image: ir.Value):
        super().__init__()
        self.shape, self.image = shape, image

    def workgroup(
        self,
        number: ir.Value,
        prepare: Prepare,
        start: ir.Value,
        step: Callable[[ir.Value, Number, ir.Value, ir.Value | None], ir.Value],
    ) -> None:
        """Emit the workgroup with the given number.

        `step` maps the vector so far, which is `start` at first, the index of the tap's vector in
        an array ``[taps, C]``, the vector of the image, and the condition that it is inside to the
        vector with this tap.
        """
        shape, windows = self.shape, self.shape.windows
        first = self.multiply(arith.index_castui(self.i32, number), THREADS)
        index = self.add(first, self.thread())
        inside = self.below(index, shape.vectors) if shape.vectors % THREADS else None

        def body() -> None:
            position, part = self.divide(index, windows.channels // shape.lanes)
            channel = self.multiply(part, shape.lanes)
            finish = prepare(self.multiply(index, shape.lanes), channel, shape.lanes)
            row = windows.row(self, position, (1, windows.channels))
            found = start
            for tap in range(math.prod(windows.kernel)):
                in_taps = tap * windows.channels
                at, valid = row.element(channel, in_taps)
                if valid is not None:
                    at = arith.select(valid, self.value(at), self.value(0))
                loaded = self.load(self.image, at, shape.lanes)
                found = step(found, self.add(channel, in_taps), loaded, valid)
            finish(found)

        self.when(inside, body)

    def largest(self, so_far: ir.Value, loaded: ir.Value, valid: ir.Value | None) -> ir.Value:
        """The larger elements of both vectors; the first if the second is not valid."""
        larger = arith.maximumf(so_far, loaded)
        return larger if valid is None else arith.select(valid, larger, so_far)

    def multiplied(
        self, total: ir.Value, loaded: ir.Value, weights: ir.Value, valid: ir.Value | None
    ) -> ir.Value:
        """`total`, in f32, plus the products of two vectors; `total` if the first is not valid."""
        a, b = (self._wide(each, total.type) for each in (loaded, weights))
        found = mlir_math.fma(a, b, total)
        return found if valid is None else arith.select(valid, found, total)

    def _wide(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        return value if value.type == type_ else arith.extf(type_, value)
