"""Pools by the kernel for channels-last images, on CPUs that kernels are written for
(`kernels.pooling`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...mlir import arith, ir, vector
from ..infra.query import producer, splat_of
from ..kernels.plane_pool import PlanePoolEmitter, reason_against_planes
from ..kernels.pooling import Combine, PoolEmitter, PoolShape, TapEmitter
from .direct_convolution import along_axes
from .image_extents import dynamic_sizes, known_extents
from .kernel_calls import define, operands_of, run_emitter
from .lowering import Lowering, plain_element, plain_type
from .reduction import accumulator

PoolWithKernel = graph.MaxPoolOp | graph.AveragePoolOp | graph.SumPoolOp

_DTYPES = {
    graph.MaxPoolOp: tuple(map(np.dtype, ("f4", "f8", "i1", "u1", "i4"))),
    graph.AveragePoolOp: tuple(map(np.dtype, ("f4", "f8"))),
    graph.SumPoolOp: tuple(map(np.dtype, ("f4", "f8", "i4"))),
}
_PLANE_DTYPES = {kind: (*graph.HALVES, *dtypes) for kind, dtypes in _DTYPES.items()}
"""Element types of channels-first images: narrow floats are widened in registers."""
_ANY_PLANES = (None, None, None, 1)
"""Planes with all sizes as scalars: one kernel computes all sums of a net."""
_LEAST_LANES = 4
"""Channels below which vectors of channels are not worth it."""


def pool_by_kernel(ctx: Lowering, op: graph.GraphOp) -> ir.Value | None:
    """Build a pool; None if the kernel does not compute it. The report says why."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    if not isinstance(op, PoolWithKernel):
        return None
    statistics, node = ctx.statistics("pooling-kernel"), node_name(op.operation)
    reason = reason_against_kernel(op)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    if isinstance(op, graph.MaxPoolOp):
        return _maximum(ctx, op)
    return _sum(ctx, op) if isinstance(op, graph.SumPoolOp) else _mean(ctx, op)


def reason_against_kernel(op: graph.GraphOp) -> str | None:
    """The reason why the kernel does not compute `op`, None if it does."""
    if not isinstance(op, PoolWithKernel):
        return "it has no kernel"
    type_ = graph.type_of(op.x)
    if op.attrs["layout"] != "channels_last":
        return _reason_against_planes(op)
    if type_.dtype not in _DTYPES[type(op)]:
        return "it has no kernel for the element type"
    if len(op.attrs["kernel"]) > 2:
        return "it has more than two spatial axes"
    if not isinstance(type_.shape[-1], int):
        return "the number of channels is not known"
    return "its channels do not fill a vector" if type_.shape[-1] < _LEAST_LANES else None


def _reason_against_planes(op: PoolWithKernel) -> str | None:
    if graph.type_of(op.x).dtype not in _PLANE_DTYPES[type(op)]:
        return "it has no kernel for the element type"
    attrs = op.attrs
    return reason_against_planes(attrs["kernel"], attrs["strides"], attrs["dilations"], None)


def _maximum(ctx: Lowering, op: graph.MaxPoolOp) -> ir.Value:
    dtype = graph.type_of(op.result).dtype
    larger = _larger_float
    if not graph.is_float(dtype):
        larger = arith.maxui if graph.is_unsigned(dtype) else arith.maxsi
    return _combined(ctx, op, "max_pool", larger, graph.lowest(dtype))


def _sum(ctx: Lowering, op: graph.SumPoolOp) -> ir.Value:
    is_float = graph.is_float(graph.type_of(op.result).dtype)
    return _combined(ctx, op, "sum_pool", arith.addf if is_float else arith.addi, 0, any_size=True)


def _combined(
    ctx: Lowering,
    op: PoolWithKernel,
    family: str,
    combine: Combine,
    neutral: float,
    any_size: bool = False,
) -> ir.Value:
    """Build a pool whose result is what `combine` makes of the elements of a window; with
    `any_size`, by one kernel for planes of all sizes."""
    dtype, image = graph.type_of(op.result).dtype, _image(op, neutral)
    shape = _shape(ctx, op, image)
    if any_size and _is_of_planes(op):
        shape = replace(shape, image=_ANY_PLANES, result=_ANY_PLANES)

    def make_emitter(x: ir.Value, y: ir.Value) -> TapEmitter:
        if _is_of_planes(op):
            wide = plain_element(accumulator(dtype))
            return PlanePoolEmitter(shape, x, y, combine, neutral, wide)
        initial = _splat(neutral, dtype, shape.lanes)
        return PoolEmitter(shape, x, y, combine, initial, lambda found, _: found)

    if not _is_of_planes(op):
        return _run(ctx, op, image, family, shape, make_emitter)
    if any_size:
        return _run_of_any_size(ctx, op, image, f"{family}_planes", shape, make_emitter)
    return _run(ctx, op, image, f"{family}_planes", shape, make_emitter)


def _larger_float(a: ir.Value, b: ir.Value) -> ir.Value:
    """The larger elements of two vectors, or NaN. Either zero will do: to tell them apart takes
    twice as many instructions."""
    return arith.maximumf(a, b, fastmath=ir.Attribute.parse("#arith.fastmath<nsz>"))


def _mean(ctx: Lowering, op: graph.AveragePoolOp) -> ir.Value:
    attrs, dtype = op.attrs, graph.type_of(op.result).dtype
    is_padded = any((*attrs["low"], *attrs["high"], *attrs["extra"]))
    image = _image(op, None if is_padded else 0)
    counted = along_axes(attrs["high"], 0) if attrs["count_include_pad"] else None
    shape = _shape(ctx, op, image, counted)
    element = plain_element(dtype)

    def make_emitter(x: ir.Value, y: ir.Value) -> TapEmitter:
        if _is_of_planes(op):
            wide, whole = plain_element(accumulator(dtype)), "some" if is_padded else "all"
            return PlanePoolEmitter(shape, x, y, arith.addf, 0, wide, whole)

        def mean(total: ir.Value, count: ir.Value | None) -> ir.Value:
            if count is None or not is_padded:
                return arith.mulf(total, _splat(1 / shape.taps, dtype, shape.lanes))
            number = arith.index_castui(ir.IntegerType.get_signless(32), count)
            share = arith.divf(arith.constant(element, 1.0), arith.uitofp(element, number))
            return arith.mulf(total, vector.broadcast(total.type, share))

        return PoolEmitter(shape, x, y, arith.addf, _splat(0, dtype, shape.lanes), mean)

    family = f"average_pool{'_planes' * _is_of_planes(op)}{'_padded' * is_padded}"
    return _run(ctx, op, image, family, shape, make_emitter)


def _is_of_planes(op: PoolWithKernel) -> bool:
    return op.attrs["layout"] == "channels_first"


@dataclass(frozen=True)
class _Image:
    """An image in memory, and the pixels before it that windows may read, along each axis."""

    value: ir.Value
    low: Sequence[int]
    of_planes: bool

    @property
    def shape(self) -> graph.Shape:
        return _as_image(graph.type_of(self.value).shape, self.of_planes)


def _image(op: PoolWithKernel, neutral: float | None) -> _Image:
    """The image of a pool without its padding, which the kernel does not read: that of the op, and
    of a ``graph.pad`` with `neutral` elements before it, if these are any."""
    low, of_planes = op.attrs["low"], _is_of_planes(op)
    pad = producer(op.x, graph.PadOp)
    if pad is None or neutral is None or splat_of(pad.value) != neutral:
        return _Image(op.x, low, of_planes)
    outer, spatial = ((0, 1), slice(2, None)) if of_planes else ((0, -1), slice(1, -1))
    before = pad.attrs["low"]
    if not all(isinstance(size, int) for size in before):
        return _Image(op.x, low, of_planes)
    if any(pad.attrs[side][axis] != 0 for side in ("low", "high") for axis in outer):
        return _Image(op.x, low, of_planes)
    inside = [a + b for a, b in zip(low, before[spatial], strict=True)]
    return _Image(pad.x, inside, of_planes)


def _shape(
    ctx: Lowering, op: PoolWithKernel, image: _Image, counted: tuple[int, int] | None = None
) -> PoolShape:
    attrs = op.attrs
    type_, result = graph.type_of(op.x), graph.type_of(op.result)
    return PoolShape(
        known_extents(image.shape), known_extents(_as_image(result.shape, image.of_planes)),
        along_axes(attrs["kernel"], 1), along_axes(attrs["strides"], 1),
        along_axes(attrs["dilations"], 1), along_axes(image.low, 0),
        lanes=_lanes(ctx, type_, image.of_planes), counted=counted,
    )  # fmt: skip


def _lanes(ctx: Lowering, type_: graph.TensorType, of_planes: bool) -> int:
    """Elements of a vector: as many as registers hold, or channels fill."""
    most = ctx.cpu.lanes * 4 // accumulator(type_.dtype).itemsize
    if of_planes:
        return max(most, 2)
    channels = graph.static_size(type_.shape[-1])
    return min(most, 1 << channels.bit_length() - 1)


def _as_image(shape: graph.Shape, of_planes: bool) -> graph.Shape:
    """[N, H, W, C]; a sequence is an image of one row, and so is a plane of a channels-first image,
    which has one channel."""
    batch, *extents, channels = shape
    if of_planes:
        batch, *extents, channels = graph.element_count(shape[:2]), *shape[2:], 1
    return (batch, *[1] * (2 - len(extents)), *extents, channels)


def _run(
    ctx: Lowering,
    op: PoolWithKernel,
    image: _Image,
    family: str,
    shape: PoolShape,
    make_emitter: Callable[..., TapEmitter],
) -> ir.Value:
    result = graph.type_of(op.result)
    sizes = dynamic_sizes(image.shape, _as_image(result.shape, image.of_planes))
    read = operands_of(ctx, [image.value])
    return run_emitter(ctx, family, shape, [str(result.dtype)], read, [result], sizes, make_emitter)


def _run_of_any_size(
    ctx: Lowering,
    op: PoolWithKernel,
    image: _Image,
    family: str,
    shape: PoolShape,
    make_emitter: Callable[..., Any],
) -> ir.Value:
    """Run the kernel of `shape`, that of `_ANY_PLANES`."""
    result = graph.type_of(op.result)
    extents = [*image.shape[:3], *_as_image(result.shape, of_planes=True)[:3]]
    element = plain_element(result.dtype)
    memory = [iree.Buffer(element, 1, counts) for counts in ((0, 1, 2), (3, 4, 5))]

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        scalars, buffers = arguments[: len(extents)], arguments[len(extents) :]
        make_emitter(*buffers).workgroup(workgroup_id, *scalars)

    key = (shape, str(result.dtype))
    name = define(ctx, family, key, memory, kernel, shape.flops, len(extents))
    scalars = [ctx.index(size) for size in extents]
    (read,) = operands_of(ctx, [image.value])
    return iree.run_kernel(
        name, shape.count_workgroups(*scalars), [read[0]], [plain_type(result)], scalars,
        ctx.dynamic_sizes(result),
    )[0]  # fmt: skip


def _splat(value: float, dtype: np.dtype, lanes: int) -> ir.Value:
    element = plain_element(dtype)
    type_ = ir.VectorType.get([lanes], element)
    if isinstance(element, ir.IntegerType):
        attribute = ir.IntegerAttr.get(element, int(value))
    else:
        attribute = ir.FloatAttr.get(element, float(value))
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, attribute))
