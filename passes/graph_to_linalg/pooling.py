"""Pooling over windows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.pooling import average_pool_counts
from ...mlir import arith, ir, linalg, math, tensor
from .contraction import converted
from .generic import generic, parallel, projection
from .lowering import Lowering, lowers
from .movement import pad_tensor
from .reduction import accumulator
from .scalar import apply_number_rule, convert_scalar


@lowers(graph.MaxPoolOp)
def max_pool(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    lowest = -np.inf if graph.is_float(source.dtype) else np.iinfo(source.dtype).min
    x = _padded(ctx, x, source, attrs, attrs["high"], lowest)
    return _pool(ctx, x, attrs, result, lowest, graph.MaxOp)


@lowers(graph.AveragePoolOp)
def average_pool(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """Sums, times a table of reciprocal counts: only the borders differ."""
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    high = [a + b for a, b in zip(attrs["high"], attrs["extra"], strict=True)]
    wide = result.with_dtype(accumulator(result.dtype))
    x = converted(ctx, x, source, source.with_dtype(wide.dtype))
    x = _padded(ctx, x, source.with_dtype(wide.dtype), attrs, high, 0)
    total = _pool(ctx, x, attrs, wide, 0, graph.AddOp)
    return _divided(ctx, total, attrs, source, wide, result)


def _divided(ctx, total, attrs, source, wide, result) -> ir.Value:
    first = attrs["layout"] == "channels_first"
    spatial = source.shape[2:] if first else source.shape[1:-1]
    window = {k: attrs[k] for k in ("kernel", "strides", "dilations", "low", "high", "extra")}
    uniform = not any((*attrs["low"], *attrs["high"], *attrs["extra"])) or (
        attrs["count_include_pad"] and not any(attrs["extra"])
    )
    rank = result.rank
    identity = ir.AffineMap.get_identity(rank)
    if uniform:
        share = 1 / np.prod(attrs["kernel"])

        def scale(s: ir.Value) -> ir.Value:
            product = arith.mulf(s, ctx.scalar(share, wide.dtype))
            return convert_scalar(product, wide.dtype, result.dtype)

        return parallel([total], [identity], ctx.empty(result), scale)
    counts = average_pool_counts(spatial, count_include_pad=attrs["count_include_pad"], **window)
    table = arith.constant(
        ir.RankedTensorType.get(list(counts.shape), ir.ShapedType(total.type).element_type),
        graph.write_elements((1 / counts).astype(wide.dtype)),
    )
    axes = list(range(2, rank)) if first else list(range(1, rank - 1))
    return parallel(
        [total, table],
        [identity, projection(rank, axes)],
        ctx.empty(result),
        lambda s, share: convert_scalar(arith.mulf(s, share), wide.dtype, result.dtype),
    )


@lowers(graph.LpPoolOp)
def lp_pool(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    wide = result.with_dtype(accumulator(result.dtype))
    image = source.with_dtype(wide.dtype)
    p = attrs["p"]

    def power(s: ir.Value) -> ir.Value:
        size = math.absf(convert_scalar(s, source.dtype, wide.dtype))
        return size if p == 1 else math.powf(size, ctx.scalar(p, wide.dtype))

    identity = ir.AffineMap.get_identity(source.rank)
    x = parallel([x], [identity], ctx.empty(image), power)
    x = _padded(ctx, x, image, attrs, attrs["high"], 0)
    total = _pool(ctx, x, attrs, wide, 0, graph.AddOp)

    def root(s: ir.Value) -> ir.Value:
        value = s if p == 1 else math.powf(s, ctx.scalar(1 / p, wide.dtype))
        return convert_scalar(value, wide.dtype, result.dtype)

    return parallel([total], [identity], ctx.empty(result), root)


def _padded(
    ctx: Lowering,
    x: ir.Value,
    type_: graph.TensorType,
    attrs: dict[str, Any],
    high: Sequence[int],
    value: float,
) -> ir.Value:
    """A ``tensor.pad``, which the backend fuses into the pooling."""
    first = attrs["layout"] == "channels_first"
    before = (0, 0, *attrs["low"]) if first else (0, *attrs["low"], 0)
    after = (0, 0, *high) if first else (0, *high, 0)
    if not any((*before, *after)):
        return x
    padded = type_.with_shape(a + s + b for a, s, b in zip(before, type_.shape, after, strict=True))
    return pad_tensor(ctx, x, ctx.scalar(value, type_.dtype), before, after, padded)


def _pool(ctx, x, attrs, result, initial, combine) -> ir.Value:
    """Combine every window, as a named op where there is one."""
    output = ctx.filled(result, initial)
    named = _named(attrs, result, combine)
    if named is not None:
        window = tensor.empty(list(attrs["kernel"]), ir.ShapedType(x.type).element_type)
        pooled = named(
            x, window, outs=[output], strides=attrs["strides"], dilations=attrs["dilations"]
        )
        return pooled if isinstance(pooled, ir.Value) else pooled.operation.results[0]
    spatial = result.rank - 2
    d = ir.AffineExpr.get_dim
    first = attrs["layout"] == "channels_first"
    offset = 2 if first else 1
    places = [
        d(offset + i) * s + d(result.rank + i) * q
        for i, (s, q) in enumerate(zip(attrs["strides"], attrs["dilations"], strict=True))
    ]
    image = [d(0), d(1), *places] if first else [d(0), *places, d(result.rank - 1)]
    count = result.rank + spatial
    taps = [d(result.rank + i) for i in range(spatial)]
    window = tensor.empty(list(attrs["kernel"]), ir.ShapedType(x.type).element_type)
    (value,) = generic(
        [x, window],
        [ir.AffineMap.get(count, 0, image), ir.AffineMap.get(count, 0, taps)],
        [output],
        [ir.AffineMap.get(count, 0, [d(i) for i in range(result.rank)])],
        ["parallel"] * result.rank + ["reduction"] * spatial,
        lambda element, _, total: apply_number_rule(combine, result.dtype, element, total),
    )
    return value


def _named(attrs: dict[str, Any], result: graph.TensorType, combine: Any) -> Any:
    if result.rank != 4:
        return None
    first = attrs["layout"] == "channels_first"
    if combine is graph.AddOp:
        return linalg.pooling_nchw_sum if first else linalg.pooling_nhwc_sum
    if graph.is_unsigned(result.dtype):
        return None if first else linalg.pooling_nhwc_max_unsigned
    return linalg.pooling_nchw_max if first else linalg.pooling_nhwc_max
