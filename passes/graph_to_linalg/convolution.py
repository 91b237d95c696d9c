"""Convolutions: named linalg ops where there is one, a generic otherwise."""

from collections.abc import Sequence
from typing import Any

from ...dialects import graph
from ...mlir import arith, ir, linalg
from .contraction import contract, converted
from .generic import generic
from .lowering import Lowering, lowers
from .movement import insert_slice, pad_tensor, reshape_tensor
from .reduction import accumulator
from .scalar import convert_scalar


@lowers(graph.ConvOp)
def conv(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    attrs = op.attrs
    types = [graph.type_of(v) for v in (op.x, op.w, op.result)]
    if _is_matmul(attrs, types[1]):
        return _as_matmul(ctx, x, w, *types)
    named = _named(attrs, *types[:2])
    depthwise = named in (linalg.depthwise_conv_2d_nhwc_hwc,)
    x, image = _padded(ctx, x, types[0], attrs, fused=depthwise)
    if named is None:
        return _generic(ctx, attrs, x, w, image, types[1], types[2])
    if depthwise:  # [h, w, 1, C] -> [h, w, C]
        kernel = types[1]
        w = reshape_tensor(ctx, w, kernel, kernel.with_shape((*kernel.shape[:2], kernel.shape[3])))

    def build(a: ir.Value, b: ir.Value, outs: Sequence[ir.Value]) -> Any:
        return named(a, b, outs=outs, strides=attrs["strides"], dilations=attrs["dilations"])

    return contract(ctx, build, x, w, types[2])


def _is_matmul(attrs: dict[str, Any], w: graph.TensorType) -> bool:
    """A channels-last 1x1 convolution that keeps every place is one matrix product."""
    return (
        attrs["layout"] == "channels_last"
        and attrs["groups"] == 1
        and all(size == 1 for size in (*w.shape[:-2], *attrs["strides"]))
        and not any((*attrs["low"], *attrs["high"]))
    )


def _as_matmul(ctx, x, w, image, weights, result) -> ir.Value:
    rows = graph.element_count(image.shape[:-1])
    flat = result.with_shape((rows, result.shape[-1]))
    x = reshape_tensor(ctx, x, image, image.with_shape((rows, image.shape[-1])))
    w = reshape_tensor(ctx, w, weights, weights.with_shape(weights.shape[-2:]))
    return reshape_tensor(ctx, contract(ctx, linalg.matmul, x, w, flat), flat, result)


def _named(attrs: dict[str, Any], x: graph.TensorType, w: graph.TensorType) -> Any:
    """The named op that computes this convolution, or None."""
    spatial = x.rank - 2
    if attrs["layout"] == "channels_last":
        if attrs["groups"] == 1:
            return {
                1: linalg.conv_1d_nwc_wcf,
                2: linalg.conv_2d_nhwc_hwcf,
                3: linalg.conv_3d_ndhwc_dhwcf,
            }.get(spatial)
        if spatial == 2 and attrs["groups"] == x.shape[-1] == w.shape[-1]:
            return linalg.depthwise_conv_2d_nhwc_hwc
        return None
    if attrs["groups"] == 1:
        return {1: linalg.conv_1d_ncw_fcw, 2: linalg.conv_2d_nchw_fchw}.get(spatial)
    return None


def _padded(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, attrs: dict[str, Any], fused: bool
) -> tuple[ir.Value, graph.TensorType]:
    """`x` with zeros around it.

    The backend fuses a ``tensor.pad`` into its consumer: that pays for depthwise convolutions,
    while dense ones run better on a padded copy.
    """
    low, high = _over_all_axes(attrs, "low"), _over_all_axes(attrs, "high")
    if not any((*low, *high)):
        return x, type_
    padded = type_.with_shape(a + s + b for a, s, b in zip(low, type_.shape, high, strict=True))
    if fused:
        return pad_tensor(ctx, x, ctx.scalar(0, type_.dtype), low, high, padded), padded
    return insert_slice(ctx, x, ctx.filled(padded, 0), low, type_.shape), padded


def _over_all_axes(attrs: dict[str, Any], name: str) -> tuple[int, ...]:
    first = attrs["layout"] == "channels_first"
    return (0, 0, *attrs[name]) if first else (0, *attrs[name], 0)


def _generic(ctx, attrs, x, w, image, weights, result) -> ir.Value:
    """Any groups, layout and number of spatial axes.

    Loops: batch, group, features of a group, places; then channels of a group, kernel. A grouped
    operand has its channels split in two axes.
    """
    spatial, groups = image.rank - 2, attrs["groups"]
    last = attrs["layout"] == "channels_last"
    d = ir.AffineExpr.get_dim
    count = 4 + 2 * spatial
    n, g, f, c = d(0), d(1), d(2), d(3 + spatial)
    places = [d(3 + i) for i in range(spatial)]
    taps = [d(4 + spatial + i) for i in range(spatial)]
    windows = [
        p * s + t * q
        for p, s, t, q in zip(places, attrs["strides"], taps, attrs["dilations"], strict=True)
    ]
    image_map = [n, *windows, g, c] if last else [n, g, c, *windows]
    weight_map = [*taps, c, g, f] if last else [g, f, c, *taps]
    result_map = [n, *places, g, f] if last else [n, g, f, *places]
    channel = -1 if last else 1
    split_image = _split_axis(image, channel, groups)
    split_weights = _split_axis(weights, -1 if last else 0, groups)
    split_result = _split_axis(result, channel, groups)
    wide = split_result.with_dtype(accumulator(result.dtype))

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        a, b = (convert_scalar(v, result.dtype, wide.dtype) for v in (a, b))
        if graph.is_float(wide.dtype):
            return arith.addf(arith.mulf(a, b), total)
        return arith.addi(arith.muli(a, b), total)

    maps = [ir.AffineMap.get(count, 0, m) for m in (image_map, weight_map, result_map)]
    (value,) = generic(
        [
            reshape_tensor(ctx, x, image, split_image),
            reshape_tensor(ctx, w, weights, split_weights),
        ],
        maps[:2],
        [ctx.filled(wide, 0)],
        maps[2:],
        ["parallel"] * (3 + spatial) + ["reduction"] * (1 + spatial),
        body,
    )
    return reshape_tensor(ctx, converted(ctx, value, wide, split_result), split_result, result)


def _split_axis(type_: graph.TensorType, axis: int, groups: int) -> graph.TensorType:
    axis %= type_.rank
    size = type_.shape[axis]
    return type_.with_shape((*type_.shape[:axis], groups, size // groups, *type_.shape[axis + 1 :]))
