"""Normalisations: reductions, then one elementwise generic. The backend fuses them."""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, math
from .generic import generic, parallel, projection
from .lowering import Lowering, lowers, scalar_constant
from .movement import pad_tensor
from .reduction import accumulator, reduce_axes
from .scalar import apply_number_rule, convert_scalar

Scalar = ir.Value


class _Rows:
    """A tensor normalised over `axes`: its statistics have one element per remaining place."""

    def __init__(self, ctx: Lowering, x: ir.Value, type_: graph.TensorType, axes: Sequence[int]):
        self.ctx, self.type, self.axes = ctx, type_, list(axes)
        self.wide = accumulator(type_.dtype)
        self.x = x if self.wide == type_.dtype else self._widened(x)
        self.kept = [axis for axis in range(type_.rank) if axis not in self.axes]
        self.identity = ir.AffineMap.get_identity(type_.rank)
        self.per_row = projection(type_.rank, self.kept)
        self.count = graph.element_count([type_.shape[axis] for axis in self.axes])

    def _widened(self, x: ir.Value) -> ir.Value:
        type_ = self.type
        return parallel(
            [x],
            [ir.AffineMap.get_identity(type_.rank)],
            self.ctx.empty(type_.with_dtype(self.wide)),
            lambda s: convert_scalar(s, type_.dtype, self.wide),
        )

    def reduced(self, x: ir.Value, combine: type[graph.GraphOp], initial: float) -> ir.Value:
        """`x` (wide) combined over the axes."""
        return reduce_axes(
            self.ctx,
            x,
            self.type.with_dtype(self.wide),
            self.axes,
            initial,
            lambda element, total: apply_number_rule(combine, self.wide, element, total),
        )

    def summed(
        self, inputs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], term: Callable[..., Scalar]
    ) -> ir.Value:
        """The sum over the axes of `term` of the scalars of `inputs`."""
        shape = tuple(self.type.shape[axis] for axis in self.kept)
        output = self.ctx.filled(graph.TensorType(shape, self.wide), 0)
        kinds = ["reduction" if a in self.axes else "parallel" for a in range(self.type.rank)]
        (total,) = generic(
            inputs, maps, [output], [self.per_row], kinds,
            lambda *s: arith.addf(term(*s[:-1]), s[-1]),
        )  # fmt: skip
        return total

    def mapped(
        self, inputs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], body: Callable[..., Scalar]
    ) -> ir.Value:
        """A tensor of the operand's type from the scalars of `inputs`."""
        return parallel(
            inputs,
            maps,
            self.ctx.empty(self.type),
            lambda *s: convert_scalar(body(*s), self.wide, self.type.dtype),
        )

    def divide_by_count(self, total: Scalar) -> Scalar:
        """`total` over the number of elements of a row."""
        if isinstance(self.count, int):
            return arith.mulf(total, scalar_constant(1 / max(self.count, 1), self.wide))
        count = arith.index_cast(ir.IntegerType.get_signless(64), self.ctx.index(self.count))
        return arith.divf(total, convert_scalar(count, np.dtype(np.int64), self.wide))


def _exponentials(rows: _Rows) -> tuple[ir.Value, ir.Value]:
    """The maximum of each row, and the sum of the exponentials of what is left."""
    top = rows.reduced(rows.x, graph.MaxOp, float(np.finfo(rows.wide).min))
    total = rows.summed(
        [rows.x, top], [rows.identity, rows.per_row], lambda s, m: math.exp(arith.subf(s, m))
    )
    return top, total


def softmax_tensor(ctx: Lowering, x: ir.Value, type_: graph.TensorType, axis: int) -> ir.Value:
    """Softmax of `x` along `axis`."""
    rows = _Rows(ctx, x, type_, [axis])
    top, total = _exponentials(rows)
    return rows.mapped(
        [rows.x, top, total],
        [rows.identity, rows.per_row, rows.per_row],
        lambda s, m, t: arith.divf(math.exp(arith.subf(s, m)), t),
    )


@lowers(graph.SoftmaxOp)
def softmax(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    return softmax_tensor(ctx, x, graph.type_of(op.x), op.attrs["axis"])


@lowers(graph.LogSoftmaxOp)
def log_softmax(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    rows = _Rows(ctx, x, graph.type_of(op.x), [op.attrs["axis"]])
    top, total = _exponentials(rows)
    return rows.mapped(
        [rows.x, top, total],
        [rows.identity, rows.per_row, rows.per_row],
        lambda s, m, t: arith.subf(arith.subf(s, m), math.log(t)),
    )


def _inner_map(type_: graph.TensorType, operand: graph.TensorType) -> ir.AffineMap:
    """How a scale or bias is read: its axes are the last ones of `type_`."""
    first = type_.rank - operand.rank
    axes = [None if size == 1 else first + i for i, size in enumerate(operand.shape)]
    return projection(type_.rank, axes)


def _scaled_and_shifted(rows: _Rows, op: graph.GraphOp, scale, bias, inputs, maps, body):
    """`body` of `inputs`, times the scale, plus the bias if there is one."""
    dtype = rows.type.dtype
    extra = [(scale, op.scale)] + ([] if bias is None else [(bias, op.bias)])
    inputs = [*inputs, *(lowered for lowered, _ in extra)]
    maps = [*maps, *(_inner_map(rows.type, graph.type_of(v)) for _, v in extra)]

    def element(*scalars: Scalar) -> Scalar:
        own = len(scalars) - len(extra)
        wide = [convert_scalar(s, dtype, rows.wide) for s in scalars[own:]]
        result = arith.mulf(body(*scalars[:own]), wide[0])
        return result if bias is None else arith.addf(result, wide[1])

    return rows.mapped(inputs, maps, element)


@lowers(graph.LayerNormOp)
def layer_norm(ctx: Lowering, op: graph.GraphOp, x, scale, bias) -> ir.Value:
    """Mean, mean square of the centred elements, then one pass: no cancellation."""
    type_ = graph.type_of(op.x)
    rows = _Rows(ctx, x, type_, range(op.attrs["axis"], type_.rank))
    epsilon = op.attrs["epsilon"]
    total = rows.summed([rows.x], [rows.identity], lambda s: s)

    def centred(s: Scalar, t: Scalar) -> Scalar:
        return arith.subf(s, rows.divide_by_count(t))

    def square(s: Scalar, t: Scalar) -> Scalar:
        d = centred(s, t)
        return arith.mulf(d, d)

    squares = rows.summed([rows.x, total], [rows.identity, rows.per_row], square)

    def normal(s: Scalar, t: Scalar, q: Scalar) -> Scalar:
        variance = arith.addf(rows.divide_by_count(q), scalar_constant(epsilon, rows.wide))
        return arith.mulf(centred(s, t), math.rsqrt(variance))

    return _scaled_and_shifted(
        rows, op, scale, bias,
        [rows.x, total, squares], [rows.identity, rows.per_row, rows.per_row], normal,
    )  # fmt: skip


@lowers(graph.RmsNormOp)
def rms_norm(ctx: Lowering, op: graph.GraphOp, x, scale) -> ir.Value:
    type_ = graph.type_of(op.x)
    rows = _Rows(ctx, x, type_, range(op.attrs["axis"], type_.rank))
    epsilon = op.attrs["epsilon"]
    squares = rows.summed([rows.x], [rows.identity], lambda s: arith.mulf(s, s))

    def normal(s: Scalar, q: Scalar) -> Scalar:
        mean = arith.addf(rows.divide_by_count(q), scalar_constant(epsilon, rows.wide))
        return arith.mulf(s, math.rsqrt(mean))

    return _scaled_and_shifted(
        rows, op, scale, None, [rows.x, squares], [rows.identity, rows.per_row], normal
    )


@lowers(graph.BatchNormOp)
def batch_norm(ctx: Lowering, op: graph.GraphOp, x, *parameters) -> ir.Value:
    type_, attrs = graph.type_of(op.x), op.attrs
    wide = accumulator(type_.dtype)
    channel = projection(type_.rank, [attrs["axis"]])

    def element(*scalars: Scalar) -> Scalar:
        s, scale, bias, mean, variance = (convert_scalar(v, type_.dtype, wide) for v in scalars)
        deviation = math.rsqrt(arith.addf(variance, scalar_constant(attrs["epsilon"], wide)))
        normal = arith.mulf(arith.subf(s, mean), arith.mulf(deviation, scale))
        return convert_scalar(arith.addf(normal, bias), wide, type_.dtype)

    maps = [ir.AffineMap.get_identity(type_.rank), *[channel] * 4]
    return parallel([x, *parameters], maps, ctx.empty(type_), element)


@lowers(graph.LrnOp)
def lrn(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    """The squares of the neighbours are summed over a window of the padded axis."""
    type_, attrs = graph.type_of(op.x), op.attrs
    axis, size, rank = attrs["axis"], attrs["size"], type_.rank
    rows = _Rows(ctx, x, type_, [])
    low = [(size - 1) // 2 if i == axis else 0 for i in range(rank)]
    high = [size // 2 if i == axis else 0 for i in range(rank)]
    wide = type_.with_dtype(rows.wide)
    padded = wide.with_shape(a + s + b for a, s, b in zip(low, type_.shape, high, strict=True))
    zero = scalar_constant(0, rows.wide)
    image = pad_tensor(ctx, rows.x, zero, low, high, padded)
    loops = [ir.AffineExpr.get_dim(i) for i in range(rank + 1)]
    places = [loops[i] + loops[rank] if i == axis else loops[i] for i in range(rank)]
    window = ctx.empty(graph.TensorType((size,), rows.wide))
    (squares,) = generic(
        [image, window],
        [ir.AffineMap.get(rank + 1, 0, places), ir.AffineMap.get(rank + 1, 0, loops[rank:])],
        [ctx.filled(wide, 0)],
        [ir.AffineMap.get(rank + 1, 0, loops[:rank])],
        ["parallel"] * rank + ["reduction"],
        lambda s, _, total: arith.addf(arith.mulf(s, s), total),
    )

    def element(s: Scalar, q: Scalar) -> Scalar:
        share = scalar_constant(attrs["alpha"] / size, rows.wide)
        base = arith.addf(scalar_constant(attrs["bias"], rows.wide), arith.mulf(share, q))
        return arith.divf(s, math.powf(base, scalar_constant(attrs["beta"], rows.wide)))

    return rows.mapped([rows.x, squares], [rows.identity, rows.identity], element)
