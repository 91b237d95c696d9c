"""Pooling over windows, channels last.

The backend compiles pools over one and two axes well. With more axes, each tap of the first axis is
a pool with one axis less, and the results are combined.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, linalg, math, tensor
from .dispatch import behind_barrier
from .generic import parallel, projection
from .generic_contraction import converted
from .gpu_lowering_config import image_attribute
from .lowering import Lowering, lowers
from .operands import Operand, known, operand, within_reach
from .padding import border_type, padded
from .pooling_kernel import pool_by_kernel, reason_against_kernel
from .reduction import accumulator
from .scalar import apply_number_rule, convert_scalar
from .scratch import Prepared, prepares
from .window_vectors import max_pool_by_vectors

Combine = type[graph.GraphOp]


AnyPool = graph.MaxPoolOp | graph.AveragePoolOp | graph.LpPoolOp | graph.SumPoolOp


@prepares(graph.MaxPoolOp, graph.AveragePoolOp, graph.LpPoolOp, graph.SumPoolOp)
def image_with_border(op: AnyPool, cpu: CpuModel) -> Prepared | None:
    """The padded image, channels last; see `padded`. None if a kernel reads what is inside."""
    if cpu.has_vectors and reason_against_kernel(op) is None:
        return None
    attrs, image = op.attrs, graph.type_of(op.x)
    low, high = attrs["low"], attrs["high"]
    if isinstance(op, graph.AveragePoolOp):
        high = _with_extra(attrs)
    if attrs["layout"] != "channels_last":
        image = image.with_shape((image.shape[0], *image.shape[2:], image.shape[1]))
    if not any((*low, *high)):
        return None
    return Prepared(border_type(image, low, high), in_place_of_x=True, is_border=True)


def _on_channels_last(
    rule: Callable[[Operand, graph.TensorType, dict[str, Any]], Operand],
) -> Callable[..., ir.Value]:
    """Make the lowering rule of an op with a layout from a rule for channels last."""

    def lower(ctx: Lowering, op: AnyPool, x: ir.Value) -> ir.Value:
        if (y := pool_by_kernel(ctx, op)) is not None:
            return y
        attrs, image, result = op.attrs, operand(ctx, op.x, x), graph.type_of(op.result)
        if attrs["layout"] == "channels_last":
            if isinstance(graph.graph_op(op.x.owner), graph.TransposeOp):
                image = replace(image, lowered=behind_barrier(ctx, image.value, image.type))
            return rule(image, result, attrs).value
        rank = result.rank
        last = [0, *range(2, rank), 1]
        moved = result.with_shape(result.shape[axis] for axis in last)
        pooled = rule(image.transposed(last), moved, attrs)
        return pooled.transposed([0, rank - 1, *range(1, rank - 1)]).value

    return lower


@lowers(graph.MaxPoolOp)
@_on_channels_last
def max_pool(x: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    """Compare narrow floats as f32, in vectors.

    Measured for f16 with a window of 3x3: 1x64x112x112 takes 0.68 ms, and 4.3 ms in f16.
    """
    if (y := max_pool_by_vectors(x, result, attrs)) is not None:
        return y
    lowest = graph.lowest(result.dtype)
    wide = result.with_dtype(accumulator(result.dtype))
    x = padded(x, attrs["low"], attrs["high"], lowest)
    y = _pool(x, attrs, wide, lowest, graph.MaxOp)
    return Operand(x.ctx, result, converted(x.ctx, y.value, wide, result))


@lowers(graph.AveragePoolOp)
@_on_channels_last
def average_pool(x: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    """Sum each window, and multiply by a table of shares, which differ only at the borders."""
    high = _with_extra(attrs)
    wide = result.with_dtype(accumulator(result.dtype))
    total = _pool(padded(x, attrs["low"], high, 0), attrs, wide, 0, graph.AddOp)
    inputs, maps = [total.value], [ir.AffineMap.get_identity(result.rank)]
    if _is_uniform(attrs):
        constant = x.ctx.scalar(1 / np.prod(attrs["kernel"]), wide.dtype)
    else:
        spatial = x.type.with_shape([1, *x.shape[1:-1], 1]).with_dtype(wide.dtype)
        shares = _shares(x.ctx, spatial, result, attrs)
        inputs.append(shares.value)
        maps.append(projection(result.rank, [None, *range(1, result.rank - 1), None]))

    def scale(element: ir.Value, *share: ir.Value) -> ir.Value:
        scaled = arith.mulf(element, share[0] if share else constant)
        return convert_scalar(scaled, wide.dtype, result.dtype)

    return Operand(x.ctx, result, parallel(inputs, maps, x.ctx.empty(result), scale))


def _with_extra(attrs: dict[str, Any]) -> list[int]:
    return [a + b for a, b in zip(attrs["high"], attrs["extra"], strict=True)]


def _is_uniform(attrs: dict[str, Any]) -> bool:
    """Return whether every window has as many elements as the kernel."""
    is_padded = any((*attrs["low"], *attrs["high"]))
    return not any(attrs["extra"]) and (attrs["count_include_pad"] or not is_padded)


def _shares(
    ctx: Lowering, spatial: graph.TensorType, result: graph.TensorType, attrs: dict[str, Any]
) -> Operand:
    """The reciprocal count of each window, [1, out..., 1]; for dynamic sizes by a pool of ones."""
    type_ = spatial.with_shape([1, *result.shape[1:-1], 1])
    if spatial.is_static:
        window = {name: attrs[name] for name in ("kernel", "strides", "dilations", "low", "high")}
        counts = graph.average_pool_counts(
            spatial.static_shape[1:-1],
            extra=attrs["extra"],
            count_include_pad=attrs["count_include_pad"],
            **window,
        )
        return known(ctx, (1 / counts.astype(spatial.dtype)).reshape(type_.static_shape))
    # Materialized, because a slice of the padded ones may be all ones: see `_named_pool`.
    ones = Operand(ctx, spatial, behind_barrier(ctx, ctx.filled(spatial, 1), spatial))
    if attrs["count_include_pad"]:
        ones = padded(ones, attrs["low"], attrs["high"], 1)
        ones = padded(ones, [0] * len(attrs["low"]), attrs["extra"], 0)
    else:
        ones = padded(ones, attrs["low"], _with_extra(attrs), 0)
    counts = _pool(ones, attrs, type_, 0, graph.AddOp)

    def reciprocal(count: ir.Value) -> ir.Value:
        one = ctx.scalar(1, type_.dtype)
        return arith.divf(one, arith.maximumf(count, one))  # none in a window of border alone

    return _each(counts, type_, reciprocal)


@lowers(graph.SumPoolOp)
@_on_channels_last
def sum_pool(x: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    wide = result.with_dtype(accumulator(result.dtype))
    y = _pool(padded(x, attrs["low"], attrs["high"], 0), attrs, wide, 0, graph.AddOp)
    return Operand(x.ctx, result, converted(x.ctx, y.value, wide, result))


@lowers(graph.LpPoolOp)
@_on_channels_last
def lp_pool(x: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    wide = result.with_dtype(accumulator(result.dtype))
    p = attrs["p"]

    def power(element: ir.Value) -> ir.Value:
        size = math.absf(convert_scalar(element, x.type.dtype, wide.dtype))
        if p == 1:
            return size
        return arith.mulf(size, size) if p == 2 else math.powf(size, x.ctx.scalar(p, wide.dtype))

    def root(element: ir.Value) -> ir.Value:
        if p == 2:
            element = math.sqrt(element)
        elif p != 1:
            element = math.powf(element, x.ctx.scalar(1 / p, wide.dtype))
        return convert_scalar(element, wide.dtype, result.dtype)

    powers = _each(x, x.type.with_dtype(wide.dtype), power)
    powers = padded(powers, attrs["low"], attrs["high"], 0)
    return _each(_pool(powers, attrs, wide, 0, graph.AddOp), result, root)


def _each(x: Operand, type_: graph.TensorType, body: Callable[..., ir.Value]) -> Operand:
    identity = ir.AffineMap.get_identity(type_.rank)
    return Operand(x.ctx, type_, parallel([x.value], [identity], x.ctx.empty(type_), body))


# Pools of padded images


def _pool(
    x: Operand, attrs: dict[str, Any], result: graph.TensorType, initial: float, combine: Combine
) -> Operand:
    """Reduce every window of `x` by `combine`, to type `result`."""
    window = (attrs["kernel"], attrs["strides"], attrs["dilations"])
    return _pool_axes(x, window, result, initial, combine)


def _pool_axes(
    x: Operand,
    window: tuple[tuple[int, ...], ...],
    result: graph.TensorType,
    initial: float,
    combine: Combine,
) -> Operand:
    kernel, strides, dilations = window
    if len(kernel) <= 2:
        return _named_pool(x, window, result, initial, combine)
    batch, positions = x.shape[0], result.shape[1]
    inner = result.with_shape([batch * positions, *result.shape[2:]])
    parts = []
    for tap in range(kernel[0]):
        part = x.sliced(1, tap * dilations[0], positions, strides[0])
        part = part.reshaped([batch * positions, *x.shape[2:]])
        rest = (kernel[1:], strides[1:], dilations[1:])
        parts.append(_pool_axes(part, rest, inner, initial, combine))
    y = _combined(parts, combine).reshaped(result.shape)
    if result.is_static:
        return y
    # Otherwise the backend tiles an op that uses it by the loops of the pool alone.
    return replace(y, lowered=behind_barrier(y.ctx, y.value, result))


def _combined(parts: Sequence[Operand], combine: Combine) -> Operand:
    """Combine `parts` elementwise. (The backend miscompiles pools that accumulate into others.)"""
    if len(parts) == 1:
        return parts[0]
    ctx, type_ = parts[0].ctx, parts[0].type

    def body(*elements: ir.Value) -> ir.Value:
        total = elements[0]
        for element in elements[1:]:
            total = apply_number_rule(combine, type_.dtype, total, element)
        return total

    identity = [ir.AffineMap.get_identity(type_.rank)] * len(parts)
    values = [part.value for part in parts]
    return Operand(ctx, type_, parallel(values, identity, ctx.empty(type_), body))


def _named_pool(
    x: Operand,
    window: tuple[tuple[int, ...], ...],
    result: graph.TensorType,
    initial: float,
    combine: Combine,
) -> Operand:
    kernel, strides, dilations = window
    x = within_reach(x, kernel, dilations, result.shape[1:-1])
    one, unsigned = len(kernel) == 1, graph.is_unsigned(result.dtype)
    if combine is graph.AddOp:
        build = linalg.pooling_nwc_sum if one else linalg.pooling_nhwc_sum
    elif unsigned:
        build = linalg.pooling_nwc_max_unsigned if one else linalg.pooling_nhwc_max_unsigned
    else:
        build = linalg.pooling_nwc_max if one else linalg.pooling_nhwc_max
    shape = tensor.empty(list(kernel), ir.ShapedType(x.value.type).element_type)
    output = x.ctx.filled(result, initial)
    op = build(x.value, shape, outs=[output], strides=strides, dilations=dilations)
    value = op if isinstance(op, ir.Value) else op.operation.results[0]
    hint = image_attribute(result, kernel) if x.ctx.mma_sync and not one else None
    if hint is not None:
        ir.OpResult(value).owner.attributes["compilation_info"] = hint
    if x.ctx.gpu and any(isinstance(size, Dim) and size.content > 1 for size in result.shape):
        value = behind_barrier(x.ctx, value, result)  # fused, it may fail: `blocked_sizes.mlir`
    return Operand(x.ctx, result, value)
