"""Calls of the kernel that samples images at points, on CPUs that kernels are written for
(`kernels.sample`).

The loop nest of IREE computes the coordinates of a point anew for each channel: 64 channels of
56x56 points took 1.9 times as long as by ONNX Runtime, and 4.5 times with named sizes.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from ..kernels.sample import SampleEmitter, SampleShape, SampleTap
from .kernel_calls import run_emitter
from .lowering import Lowering
from .movement import reshape_tensor
from .numbers import Number, both
from .transpose_kernel import permuted_by_kernel

_F32 = np.dtype(np.float32)
_MOST_TAPS = 16
"""Pixels around a point, which are written out."""
_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
_LEAST_CHANNELS = 4
"""Channels below which vectors of channels are not worth two transposes."""

Tap = tuple[ir.Value, Number | None, ir.Value | None]
"""A position on an axis, its weight (None for 1), and whether it is inside (None for yes)."""
AxisTaps = Callable[[Sequence[Number]], list[list[Tap]]]
"""The taps of a point along each spatial axis, of its coordinates."""


def sample_by_kernel(
    ctx: Lowering,
    op: graph.SampleOp,
    x: ir.Value,
    points: ir.Value,
    make_taps: Callable[[Callable[[int | Dim], ir.Value]], AxisTaps],
) -> ir.Value | None:
    """Sample `x`; None if the kernel does not. The report says why.

    `make_taps` gets a function from sizes to their values at the insertion point.
    """
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    statistics, node = ctx.statistics("sample-kernel"), node_name(op.operation)
    if (reason := _reason_against_kernel(op)) is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    return _run(ctx, op, x, points, make_taps)


def _reason_against_kernel(op: graph.SampleOp) -> str | None:
    image, points = graph.type_of(op.x), graph.type_of(op.points)
    if not image.dtype == points.dtype == _F32:
        return "only f32 is sampled by it"
    if not isinstance(image.shape[1], int):
        return "the number of channels is not known"
    if image.shape[1] < _LEAST_CHANNELS:
        return "its channels do not fill a vector"
    if 0 in (*image.shape, *points.shape):
        return "there is nothing to sample"
    many = _TAPS[op.attrs["mode"]] ** (image.rank - 2) > _MOST_TAPS
    return "too many pixels count for a point" if many else None


def _run(
    ctx: Lowering,
    op: graph.SampleOp,
    x: ir.Value,
    points: ir.Value,
    make_taps: Callable[[Callable[[int | Dim], ir.Value]], AxisTaps],
) -> ir.Value:
    source, grid, result = (graph.type_of(v) for v in (op.x, op.points, op.result))
    images, channels, *extents = source.shape
    to_last = [0, *range(2, source.rank), 1]
    last, x = permuted_by_kernel(ctx, x, source, to_last)
    count, pixels = graph.element_count(grid.shape[1:-1]), graph.element_count(extents)
    flat = result.with_shape([images, count, channels])
    known = [n if isinstance(n, int) else None for n in (images, count, pixels)]
    shape = SampleShape((known[0], known[1], known[2]), graph.static_size(channels), ctx.cpu.lanes)
    sizes = [n for n in (images, count, pixels) if isinstance(n, Dim)]
    sizes += [n for n in extents if isinstance(n, Dim)]
    number_of_axes = len(extents)

    def make_emitter(image: ir.Value, coordinates: ir.Value, target: ir.Value) -> SampleEmitter:
        def taps(point: ir.Value) -> list[SampleTap]:
            first = emitter.times(point, number_of_axes)
            at = [
                Number(memref.load(coordinates, [emitter.add(first, axis)]), _F32)
                for axis in reversed(range(number_of_axes))
            ]
            found = make_taps(emitter.value_of)(at)
            strides = [emitter.value_of(each) for each in extents]
            return [_tap(corner, strides) for corner in itertools.product(*found)]

        emitter = _Emitter(shape, sizes, taps, image, target)
        return emitter

    attrs = op.attrs
    key = (
        attrs["mode"],
        attrs["padding"],
        attrs["align_corners"],
        *map(_anonymous(sizes), extents),
    )
    read = [(x, last), (points, grid)]
    y = run_emitter(ctx, "sample", shape, key, read, [flat], sizes, make_emitter)
    moved = result.with_shape([images, *grid.shape[1:-1], channels])
    y = reshape_tensor(ctx, y, flat, moved)
    return permuted_by_kernel(ctx, y, moved, [0, source.rank - 1, *range(1, source.rank - 1)])[1]


def _anonymous(sizes: Sequence[Dim]) -> Callable[[int | Dim], object]:
    return lambda n: ("size", sizes.index(n)) if isinstance(n, Dim) else n


class _Emitter(SampleEmitter):
    """The emitter, which knows the values of sizes."""

    def __init__(self, shape: SampleShape, names: Sequence[Dim], *rest: Any):
        super().__init__(shape, *rest)
        self._names = names
        self._values: tuple[ir.Value, ...] = ()

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        self._values = dynamic
        super().workgroup(workgroup_id, *dynamic)

    def value_of(self, size: int | Dim) -> ir.Value:
        """The value of a size of the image."""
        return self._values[self._names.index(size)] if isinstance(size, Dim) else self.index(size)


def _tap(corner: Sequence[Tap], extents: Sequence[ir.Value]) -> SampleTap:
    """A pixel by its taps along all axes."""
    pixel = corner[0][0]
    for (position, _, _), extent in zip(corner[1:], extents[1:], strict=True):
        pixel = arith.addi(arith.muli(pixel, extent), position)
    weights = [weight for _, weight, _ in corner if weight is not None]
    conditions = [inside for _, _, inside in corner if inside is not None]
    weight = reduce(lambda a, b: a * b, weights).value if weights else None
    return SampleTap(pixel, weight, both(*conditions) if conditions else None)
