"""Convolutions as implicit GEMM on NVIDIA GPUs: a matmul that reads the windows of the image.

The windows are the rows of a matrix that is never in memory: each step along K copies its part of
them to shared memory, 16 bytes at a time. The ops that follow run on the accumulators.
"""

import math
from collections.abc import Mapping, Sequence

from ...dialects import graph, iree
from ...mlir import ir
from ..infra.query import splat_of
from ..kernels.gpu_tiles import WorkgroupTile, implicit_tile
from .dispatch import in_own_dispatch
from .elementwise import evaluate_scalars, values_from_outside
from .generic import parallel, projection
from .generic_contraction import Axes, Factor, product, untransposed
from .gpu_lowering_config import tile_attribute
from .lowering import Lowering, scalar_constant
from .movement import reshape_tensor
from .operands import Operand, operand
from .padding import padded


def implicit_convolution(
    ctx: Lowering, op: graph.ConvOp, steps: Sequence[graph.GraphOp]
) -> ir.Value | None:
    """Build a convolution and the elementwise `steps` on its result, in one dispatch.

    None if it has no tile, or a step reads what is neither of the result's size nor one value for
    each filter.
    """
    tile = implicit_tile(op) if ctx.mma_sync else None
    if tile is None:
        return None
    total = op.operation.results[0]
    result = graph.type_of(steps[-1].operation.results[0] if steps else total)
    read = [v for v in values_from_outside(steps) if v != total and splat_of(v) is None]
    if any(_flat_axes(graph.type_of(value), result) is None for value in read):
        return None
    flat = result.with_shape((math.prod(result.static_shape[:-1]), result.static_shape[-1]))
    image = padded(operand(ctx, op.x, ctx.values[op.x]), op.attrs["low"], op.attrs["high"], 0)
    weights = _weights(ctx, op)
    leaves = {value: _flattened(ctx, value, result, flat) for value in read}

    def build() -> ir.Value:
        accumulator_type = flat.with_dtype(graph.type_of(total).dtype)
        y = _matmul(ctx, op, image, weights, accumulator_type, tile)
        return _with_steps(ctx, {total: Factor(y, accumulator_type, [0, 1]), **leaves}, steps, flat)

    return reshape_tensor(ctx, in_own_dispatch(ctx, flat, build), flat, result)


def _matmul(
    ctx: Lowering,
    op: graph.ConvOp,
    image: Operand,
    weights: Factor,
    result: graph.TensorType,
    tile: WorkgroupTile,
) -> ir.Value:
    """The windows of `image` by `weights`, of type `result`, ``[positions, filters]``."""
    kernel = graph.type_of(op.w).static_shape[:-2]
    positions = graph.type_of(op.result).static_shape[1:-1]
    rows, filters = result.static_shape
    k = math.prod(kernel) * image.type.static_shape[-1]
    windows = image.type.with_shape((rows, k))
    strides, dilations = op.attrs["strides"], op.attrs["dilations"]
    x = iree.im2col(image.value, ctx.empty(windows), kernel, positions, strides, dilations)
    hint = tile_attribute(windows.dtype, tile, 0, (rows, filters, k), implicit=True)
    return product(ctx, [Factor(x, windows, [0, 2]), weights], result, 3, hint)


def _with_steps(
    ctx: Lowering,
    leaves: Mapping[ir.Value, Factor],
    steps: Sequence[graph.GraphOp],
    result: graph.TensorType,
) -> ir.Value:
    """Evaluate `steps` elementwise on `leaves`, the convolution first; `result` is flat."""
    if not steps:
        return next(iter(leaves.values())).value

    def body(*elements: ir.Value) -> ir.Value:
        known = dict(zip(leaves, elements, strict=True))
        for value in values_from_outside(steps):
            if value not in known:
                known[value] = scalar_constant(splat_of(value), graph.type_of(value).dtype)
        return evaluate_scalars(steps, known)[steps[-1].operation.results[0]]

    values, maps = [f.value for f in leaves.values()], [f.axes for f in leaves.values()]
    return parallel(values, [projection(2, axes) for axes in maps], ctx.empty(result), body)


def _weights(ctx: Lowering, op: graph.ConvOp) -> Factor:
    """The kernel ``[kernel..., C, F]`` as a matrix, read as it is stored: K innermost if it is
    transposed."""
    type_ = graph.type_of(op.w)
    plain = Factor(ctx.values[op.w], type_, list(range(type_.rank)))
    as_stored = untransposed(plain)
    k, filters = math.prod(type_.static_shape[:-1]), type_.static_shape[-1]
    flat, axes = type_.with_shape((k, filters)), [2, 1]
    if list(as_stored.axes) == [type_.rank - 1, *range(type_.rank - 1)]:
        flat, axes = type_.with_shape((filters, k)), [1, 2]
    else:
        as_stored = plain
    return Factor(reshape_tensor(ctx, as_stored.value, as_stored.type, flat), flat, axes)


def _flat_axes(type_: graph.TensorType, result: graph.TensorType) -> Axes | None:
    """The loops along which a value of `type_` is read, of those over positions and filters."""
    if type_.shape == result.shape:
        return [0, 1]
    if type_.rank and graph.element_count(type_.shape) == type_.shape[-1] == result.shape[-1]:
        return [1]
    return None


def _flattened(
    ctx: Lowering, value: ir.Value, result: graph.TensorType, flat: graph.TensorType
) -> Factor:
    """`value`, which broadcasts to `result`, with the axes of `flat` that it extends along."""
    type_ = graph.type_of(value)
    axes = _flat_axes(type_, result)
    assert axes is not None
    collapsed = type_.with_shape(flat.shape[axis] for axis in axes if axis is not None)
    return Factor(reshape_tensor(ctx, ctx.values[value], type_, collapsed), collapsed, axes)
