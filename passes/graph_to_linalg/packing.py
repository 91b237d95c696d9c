"""Products by packed weights: a generic, with the tiles that the packing was made for."""

from ...dialects import graph
from ...mlir import arith, ir
from .generic import generic, projection
from .lowering import Lowering, lowers
from .movement import extract_slice, pad_tensor, reshape_tensor
from .tiles import tile_hint

CACHED_BYTES = 2 << 20
"""A block of rows that is used again for every panel should fit the second-level cache."""
MIN_BLOCKS = 4
"""Pieces of work that a product should split into, for threads to share."""


@lowers(graph.PackedMatmulOp)
def packed_matmul(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    source, panels, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    count, depth, width = panels.shape
    rows, step = graph.element_count(source.shape[:-1]), op.attrs["rows"]
    flat = source.with_shape((rows, depth))
    x = reshape_tensor(ctx, x, source, flat)
    padded = -(-rows // step) * step
    if padded != rows:  # part of a tile would run one element at a time
        zero = ctx.scalar(0, flat.dtype)
        flat = flat.with_shape((padded, depth))
        x = pad_tensor(ctx, x, zero, (0, 0), (padded - rows, 0), flat)
    product = result.with_shape((padded, count, width))
    y = _product(ctx, x, w, product, step, block_rows(padded, step, depth, count))
    if padded != rows:
        kept = product.with_shape((rows, count, width))
        y = extract_slice(ctx, y, (0, 0, 0), kept.shape, (1, 1, 1), kept)
        product = kept
    return reshape_tensor(ctx, y, product, result)


def _product(ctx, x, w, type_: graph.TensorType, step: int, block: int) -> ir.Value:
    """Loops: row, panel, column in the panel, depth."""
    width = type_.shape[2]

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        return arith.addf(total, arith.mulf(a, b))

    maps = [projection(4, axes) for axes in ([0, 3], [1, 3, 2], [0, 1, 2])]
    (y,) = generic(
        [x, w],
        maps[:2],
        [ctx.filled(type_, 0)],
        maps[2:],
        ["parallel", "parallel", "parallel", "reduction"],
        body,
    )
    y.owner.attributes["compilation_info"] = tile_hint(
        "DoubleTilingExpert",
        distribution=(block, 1, width, 0),
        parallel=(step, 1, width, 0),
        reduction=(0, 0, 0, 1),
    )
    return y


def block_rows(rows: int, step: int, depth: int, panels: int) -> int:
    """How many rows one piece of work multiplies by a panel: many, so that the panel is reused.

    The largest divisor of `rows` in steps of `step` that fits the cache and leaves enough pieces.
    """
    blocks = [b for b in range(step, rows + 1, step) if rows % b == 0]
    fitting = [b for b in blocks if b * depth * 4 <= CACHED_BYTES] or blocks[:1]
    shared = [b for b in fitting if rows // b * panels >= MIN_BLOCKS] or blocks[:1]
    return shared[-1]


@lowers(graph.Im2colOp)
def im2col(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """Copy every window; loops: batch, places, kernel, channels."""
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    low, high = (0, *attrs["low"], 0), (0, *attrs["high"], 0)
    if any((*low, *high)):
        shape = (a + s + b for a, s, b in zip(low, source.shape, high, strict=True))
        padded = source.with_shape(shape)
        x = pad_tensor(ctx, x, ctx.scalar(0, source.dtype), low, high, padded)
    spatial = source.rank - 2
    loops = [ir.AffineExpr.get_dim(i) for i in range(2 + 2 * spatial)]
    taps = loops[1 + spatial : 1 + 2 * spatial]
    places = [
        p * s + t * d
        for p, s, t, d in zip(
            loops[1 : 1 + spatial], attrs["strides"], taps, attrs["dilations"], strict=True
        )
    ]
    windows = source.with_shape((*result.shape[:-1], *attrs["kernel"], source.shape[-1]))
    count = len(loops)
    (y,) = generic(
        [x],
        [ir.AffineMap.get(count, 0, [loops[0], *places, loops[-1]])],
        [ctx.empty(windows)],
        [ir.AffineMap.get_identity(count)],
        ["parallel"] * count,
        lambda element, _: element,
    )
    return reshape_tensor(ctx, y, windows, result)
