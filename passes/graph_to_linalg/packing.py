"""Products by packed weights: a generic, with the tiles that the packing was made for.

The product is computed as [rows, panels, width]; so is an epilogue, which the backend then
computes together with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...dialects import graph
from ...mlir import arith, ir
from .elementwise import splat_of
from .generic import generic, parallel, projection
from .lowering import Lowering, Size, lowers, scalar_constant
from .movement import extract_slice, pad_tensor, reshape_tensor
from .tiles import tile_hint

CACHED_BYTES = 2 << 20
"""A block of rows that is used again for every panel should fit the second-level cache."""
MIN_BLOCKS = 4
"""Pieces of work that a product should split into, for threads to share."""


@dataclass(frozen=True)
class Panels:
    """A result [..., N] while it is computed: [padded rows, panels, width]."""

    ctx: Lowering
    result: graph.TensorType
    rows: int
    type: graph.TensorType

    def enter(self, x: ir.Value, source: graph.TensorType) -> tuple[ir.Value, ir.AffineMap] | None:
        """`x`, which broadcasts to the result, in this form, and how it is read; None if neither
        all of its rows, nor all of its columns, are there or one."""
        rows, columns = self.result.shape[:-1], self.result.shape[-1]
        shape = (*[1] * (self.result.rank - source.rank), *source.shape)
        whole = shape[:-1] == rows
        if not whole and any(size != 1 for size in shape[:-1]):
            return None
        if shape[-1] not in (1, columns):
            return None
        inner = self.type.shape[1:] if shape[-1] == columns else (1, 1)
        form = source.with_shape((self.rows if whole else 1, *inner))
        x = reshape_tensor(self.ctx, x, source, form)
        if whole:
            x, form = self._padded(x, form)
        axes = [axis if size != 1 else None for axis, size in enumerate(form.shape)]
        return x, projection(3, axes)

    def leave(self, y: ir.Value) -> ir.Value:
        """The result from what was computed."""
        type_ = self.type
        if self.rows != type_.shape[0]:
            kept = type_.with_shape((self.rows, *type_.shape[1:]))
            y = extract_slice(self.ctx, y, (0, 0, 0), kept.shape, (1, 1, 1), kept)
            type_ = kept
        return reshape_tensor(self.ctx, y, type_, self.result)

    def _padded(self, x: ir.Value, form: graph.TensorType) -> tuple[ir.Value, graph.TensorType]:
        return pad_rows(self.ctx, x, form, self.type.shape[0])


def pad_rows(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, rows: Size
) -> tuple[ir.Value, graph.TensorType]:
    """`x` with zeros behind it, up to `rows` places of its first axis."""
    if type_.shape[0] == rows:
        return x, type_
    zeros = [0] * type_.rank
    padded = type_.with_shape((rows, *type_.shape[1:]))
    high = [rows - type_.shape[0], *zeros[1:]]
    return pad_tensor(ctx, x, ctx.scalar(0, type_.dtype), zeros, high, padded), padded


@lowers(graph.PackedMatmulOp)
def packed_matmul(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    y, panels = packed_product(ctx, op, x, w)
    return panels.leave(y)


def packed_product(
    ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value
) -> tuple[ir.Value, Panels]:
    """The product in the form in which it is computed."""
    source, weights, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    count, depth, width = weights.static_shape
    rows = graph.static_size(graph.element_count(source.shape[:-1]))
    step = op.attrs["rows"]
    flat = source.with_shape((rows, depth))
    padded = -(-rows // step) * step  # part of a tile would run one element at a time
    x, _ = pad_rows(ctx, reshape_tensor(ctx, x, source, flat), flat, padded)
    panels = Panels(ctx, result, rows, result.with_shape((padded, count, width)))
    return _product(ctx, x, w, panels.type, step, block_rows(padded, step, depth, count)), panels


def _product(ctx, x, w, type_: graph.TensorType, step: int, block: int) -> ir.Value:
    """Loops: row, panel, column in the panel, depth. A single panel has no loop: the backend
    drops loops of one step, and the tiles with them."""
    count, width = map(graph.static_size, type_.shape[1:])
    single = count == 1
    flat = type_.with_shape((type_.shape[0], width)) if single else type_
    if single:
        panels = graph.TensorType(tuple(ir.RankedTensorType(w.type).shape), type_.dtype)
        w = reshape_tensor(ctx, w, panels, panels.with_shape(panels.shape[1:]))

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        return arith.addf(total, arith.mulf(a, b))

    axes = ([0, 2], [2, 1], [0, 1]) if single else ([0, 3], [1, 3, 2], [0, 1, 2])
    rank = flat.rank
    maps = [projection(rank + 1, each) for each in axes]
    kinds = ["parallel"] * rank + ["reduction"]
    (y,) = generic([x, w], maps[:2], [ctx.filled(flat, 0)], maps[2:], kinds, body)
    inner = () if single else (1,)
    y.owner.attributes["compilation_info"] = tile_hint(
        "DoubleTilingExpert",
        distribution=(block, *inner, width, 0),
        parallel=(step, *inner, width, 0),
        reduction=(*[0] * rank, 1),
    )
    return reshape_tensor(ctx, y, flat, type_)


def block_rows(rows: int, step: int, depth: int, panels: int) -> int:
    """How many rows one piece of work multiplies by a panel: many, so that the panel is reused.

    The largest divisor of `rows` in steps of `step` that fits the cache and leaves enough pieces.
    """
    blocks = [b for b in range(step, rows + 1, step) if rows % b == 0]
    fitting = [b for b in blocks if b * depth * 4 <= CACHED_BYTES] or blocks[:1]
    shared = [b for b in fitting if rows // b * panels >= MIN_BLOCKS] or blocks[:1]
    return shared[-1]


def packed_epilogue(
    ctx: Lowering,
    op: graph.GraphOp,
    leaves: Mapping[ir.Value, ir.Value],
    result: graph.TensorType,
    body: Callable[[Mapping[ir.Value, ir.Value]], ir.Value],
) -> ir.Value | None:
    """A packed product and what `body` makes of it and `leaves`, as `lower_elementwise` does.

    None where an operand does not fit the form in which the product is computed.
    """
    root = op.operation.results[0]
    y, panels = packed_product(ctx, op, ctx.values[op.x], ctx.values[op.w])
    splats = {value: splat for value in leaves if (splat := splat_of(value)) is not None}
    entered = {
        value: panels.enter(lowered, graph.type_of(value))
        for value, lowered in leaves.items()
        if value not in splats and value != root
    }
    if any(each is None for each in entered.values()):
        return None
    inputs: Sequence[ir.Value] = [y, *(each[0] for each in entered.values() if each)]
    maps = [ir.AffineMap.get_identity(3), *(each[1] for each in entered.values() if each)]

    def scalars(*elements: ir.Value) -> ir.Value:
        found = dict(zip([root, *entered], elements, strict=True))
        for value, splat in splats.items():
            found[value] = scalar_constant(splat, graph.type_of(value).dtype)
        return body(found)

    wide = panels.type.with_dtype(result.dtype)
    whole = Panels(ctx, result, panels.rows, wide)
    return whole.leave(parallel(inputs, maps, ctx.empty(wide), scalars))


@lowers(graph.Im2colOp)
def im2col(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """Copy every window; loops: batch, places, kernel, channels."""
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    low, high = (0, *attrs["low"], 0), (0, *attrs["high"], 0)
    if any((*low, *high)):
        shape = (a + s + b for a, s, b in zip(low, source.shape, high, strict=True))
        padded = source.with_shape(shape)
        x = pad_tensor(ctx, x, ctx.scalar(0, source.dtype), low, high, padded)
    windows = source.with_shape((*result.shape[:-1], *attrs["kernel"], source.shape[-1]))
    return reshape_tensor(ctx, _windows(ctx, x, attrs, windows), windows, result)


def _windows(ctx: Lowering, x: ir.Value, attrs, type_: graph.TensorType) -> ir.Value:
    """The windows of a padded image, [N, out..., kernel..., C]."""
    spatial = len(attrs["kernel"])
    count = 2 + 2 * spatial
    loops = [ir.AffineExpr.get_dim(i) for i in range(count)]
    taps = loops[1 + spatial : 1 + 2 * spatial]
    places = [
        p * s + t * d
        for p, s, t, d in zip(
            loops[1 : 1 + spatial], attrs["strides"], taps, attrs["dilations"], strict=True
        )
    ]
    (y,) = generic(
        [x],
        [ir.AffineMap.get(count, 0, [loops[0], *places, loops[-1]])],
        [ctx.empty(type_)],
        [ir.AffineMap.get_identity(count)],
        ["parallel"] * count,
        lambda element, _: element,
    )
    return y
