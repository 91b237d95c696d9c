"""Products by packed weights of so many rows as run time says: a generic, with the tiles that the
packing was made for. Where all sizes are known, a kernel computes them; see `packed_matmul`.

The product is computed as [blocks, rows of a tile, panels, width]; so is an epilogue, which the
backend then computes together with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...dialects import graph
from ...dialects.symbolic import ceildiv
from ...mlir import arith, ir
from .dispatch import apart
from .elementwise import splat_of
from .generic import generic, parallel, projection
from .lowering import Lowering, Size, lowers, plain_type, scalar_constant
from .movement import extract_slice, pad_tensor, reshape_tensor
from .packed_matmul import is_for_kernel, matmul_epilogue
from .tiles import tile_hint
from .vector_epilogue import VectorEpilogue

BLOCKS = 8
"""Tiles of rows in a piece of work."""
ROW_AXES = 2
"""Of a form: blocks, and the rows of one."""


@dataclass(frozen=True)
class Panels:
    """A result [..., N] while it is computed: [blocks, rows, panels, width], both ends padded.

    What lies in the padding is never read: rows do not depend on each other. With one panel the
    form is [blocks, rows, width]: the backend drops loops of one step, and tiles of them with it.
    """

    ctx: Lowering
    result: graph.TensorType
    type: graph.TensorType

    @property
    def rows(self) -> Size:
        """Rows of the result."""
        return graph.element_count(self.result.shape[:-1])

    @property
    def tall(self) -> Size:
        """Rows of the form, filling included."""
        return graph.element_count(self.type.shape[:ROW_AXES])

    @property
    def is_padded(self) -> bool:
        return self.tall != self.rows or self.columns != self.result.shape[-1]

    @property
    def columns(self) -> int:
        """Columns of the form, filling included."""
        return graph.static_size(graph.element_count(self.type.shape[ROW_AXES:]))

    def enter(self, x: ir.Value, source: graph.TensorType) -> tuple[ir.Value, ir.AffineMap] | None:
        """`x`, which broadcasts to the result, in this form, and how it is read; None if neither
        all of its rows, nor all of its columns, are there or one."""
        rows, columns = self.result.shape[:-1], self.result.shape[-1]
        shape = (*[1] * (self.result.rank - source.rank), *source.shape)
        whole = shape[:-1] == rows
        if (not whole and any(size != 1 for size in shape[:-1])) or shape[-1] not in (1, columns):
            return None
        outer, inner = self.type.shape[:ROW_AXES], self.type.shape[ROW_AXES:]
        aligned = self.ctx.aligned.get(x)
        if aligned is None or aligned.type != plain_type(self.type.with_dtype(source.dtype)):
            flat = source.with_shape((self.rows if whole else 1, shape[-1]))
            x = reshape_tensor(self.ctx, x, source, flat)
            tall = self.tall if whole else 1
            wide = self.columns if shape[-1] != 1 else 1
            x = pad_end(self.ctx, x, flat, (tall, wide))
            form = (
                *(outer if whole else [1] * len(outer)),
                *(inner if wide != 1 else [1] * len(inner)),
            )
            x = reshape_tensor(self.ctx, x, flat.with_shape((tall, wide)), flat.with_shape(form))
        else:
            x, form = aligned, self.type.shape
        rank = self.type.rank
        return x, projection(rank, [axis if size != 1 else None for axis, size in enumerate(form)])

    def compute(self, build: Callable[[], ir.Value]) -> ir.Value:
        """The result of what `build` computes in this form.

        When it is padded, `build` is a piece of work of its own: the backend would otherwise
        compute what is kept only, and lose the even tiles.
        """
        if not self.is_padded:
            return reshape_tensor(self.ctx, build(), self.type, self.result)
        y = apart(self.ctx, self.type, build)
        flat = self.type.with_shape((self.tall, self.columns))
        kept = self.type.with_shape((self.rows, self.result.shape[-1]))
        x = reshape_tensor(self.ctx, y, self.type, flat)
        x = extract_slice(self.ctx, x, (0, 0), kept.shape, (1, 1), kept)
        x = reshape_tensor(self.ctx, x, kept, self.result)
        self.ctx.aligned[x] = y
        return x


def pad_end(ctx: Lowering, x: ir.Value, type_: graph.TensorType, shape: Sequence[Size]) -> ir.Value:
    """`x` with zeros behind it along every axis, up to `shape`."""
    if type_.shape == tuple(shape):
        return x
    low = [0] * type_.rank
    high = [want - have for want, have in zip(shape, type_.shape, strict=True)]
    return pad_tensor(ctx, x, ctx.scalar(0, type_.dtype), low, high, type_.with_shape(shape))


@lowers(graph.PackedMatmulOp)
def packed_matmul(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    if is_for_kernel(op):
        return matmul_epilogue(ctx, op, VectorEpilogue.nothing(op.operation.results[0]))
    panels, build = packed_product(ctx, op, x, w)
    return panels.compute(build)


def packed_product(
    ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value
) -> tuple[Panels, Callable[[], ir.Value]]:
    """The form in which the product is computed, and what computes it."""
    source, weights, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    count, depth, width = map(graph.static_size, weights.shape)
    rows = graph.element_count(source.shape[:-1])
    outer = (ceildiv(rows, op.attrs["rows"]), op.attrs["rows"])
    form = (*outer, width) if count == 1 else (*outer, count, width)
    panels = Panels(ctx, result, result.with_shape(form))
    x = _in_row_form(ctx, x, source.with_shape((rows, depth)), source, panels)
    return panels, lambda: _product(ctx, x, w, panels, op.attrs["rows"])


def _in_row_form(ctx, x, flat: graph.TensorType, source: graph.TensorType, panels: Panels):
    """`x`, which is [..., K], as [blocks, rows of a tile, K]."""
    depth = flat.shape[1]
    tall = (panels.tall, depth)
    x = pad_end(ctx, reshape_tensor(ctx, x, source, flat), flat, tall)
    wanted = source.with_shape((*panels.type.shape[:ROW_AXES], depth))
    return reshape_tensor(ctx, x, flat.with_shape(tall), wanted)


def _product(ctx: Lowering, x: ir.Value, w: ir.Value, panels: Panels, step: int) -> ir.Value:
    """Loops: rows, panel (where there are several), column in the panel, depth."""
    type_ = panels.type
    rank, width = type_.rank, graph.static_size(type_.shape[-1])
    held = graph.TensorType(tuple(ir.RankedTensorType(w.type).shape), type_.dtype)
    single = rank == ROW_AXES + 1
    if single:
        w = reshape_tensor(ctx, w, held, held.with_shape(held.shape[1:]))
    rows = list(range(ROW_AXES))
    weights = [rank, rank - 1] if single else [ROW_AXES, rank, rank - 1]

    def body(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
        return arith.addf(total, arith.mulf(a, b))

    maps = [projection(rank + 1, each) for each in ([*rows, rank], weights, list(range(rank)))]
    kinds = ["parallel"] * rank + ["reduction"]
    (y,) = generic([x, w], maps[:2], [ctx.filled(type_, 0)], maps[2:], kinds, body)
    inner = (1,) * (rank - ROW_AXES - 1)
    y.owner.attributes["compilation_info"] = tile_hint(
        "DoubleTilingExpert",
        distribution=(BLOCKS, step, *inner, width, 0),
        parallel=(1, step, *inner, width, 0),
        reduction=(*[0] * rank, 1),
    )
    return y


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
    panels, build = packed_product(ctx, op, ctx.values[op.x], ctx.values[op.w])
    splats = {value: splat for value in leaves if (splat := splat_of(value)) is not None}
    entered = {
        value: panels.enter(lowered, graph.type_of(value))
        for value, lowered in leaves.items()
        if value not in splats and value != root
    }
    if any(each is None for each in entered.values()):
        return None
    others = [each for each in entered.values() if each is not None]
    maps = [ir.AffineMap.get_identity(panels.type.rank), *(each[1] for each in others)]
    whole = Panels(ctx, result, panels.type.with_dtype(result.dtype))

    def scalars(*elements: ir.Value) -> ir.Value:
        found = dict(zip([root, *entered], elements, strict=True))
        for value, splat in splats.items():
            found[value] = scalar_constant(splat, graph.type_of(value).dtype)
        return body(found)

    def together() -> ir.Value:
        inputs = [build(), *(each[0] for each in others)]
        return parallel(inputs, maps, ctx.empty(whole.type), scalars)

    return whole.compute(together)


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
