"""Normalisations: kernels for rows of f32, otherwise reductions and one elementwise generic, which
the backend fuses."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, math
from ..kernels.softmax import LANES, SoftmaxEmitter
from .dispatch import behind_barrier
from .generic import fill, generic, parallel, projection
from .kernel_calls import run_emitter
from .lowering import Fusion, Lowering, lowers, plain_element, scalar_constant
from .movement import extract_slice, pad_tensor
from .norm_kernel import normalize_by_kernel, reason_against_kernel
from .reduction import accumulator, complete
from .rows import row_chunks
from .scalar import convert_scalar
from .scratch import Prepared, prepares

Scalar = ir.Value
Value = ir.Value


Body = Callable[..., Scalar]


@dataclass(frozen=True)
class Elements:
    """Elements computed inside the loops: `element` of the scalars of `inputs`."""

    inputs: Sequence[Value]
    maps: Sequence[ir.AffineMap]
    element: Body


_ROW_BYTES = 8192
"""Maximum bytes of a row whose exponentials are computed once. The backend keeps those of a few
rows on the stack; for longer rows, or rows of dynamic length, they are computed twice."""
_SHORT_ROW = 6 * LANES
"""Elements of a row of whole vectors for which the softmax kernel is faster than the backend."""
_STACK_BYTES = 65536
"""Maximum bytes of a row that the backend may keep on the stack."""


class RowNormalization:
    """Loops over a tensor of `type_`, whose statistics over `axes` have one element per row.

    Inside the loops, scalars are at least f32.
    """

    def __init__(self, ctx: Lowering, type_: graph.TensorType, axes: Sequence[int]):
        self.ctx, self.type, self.axes = ctx, type_, list(axes)
        self.wide = accumulator(type_.dtype)
        kept = [axis for axis in range(type_.rank) if axis not in axes]
        self.row_type = graph.TensorType(tuple(type_.shape[axis] for axis in kept), self.wide)
        self.identity = ir.AffineMap.get_identity(type_.rank)
        self.per_row = projection(type_.rank, kept)
        self.kinds = ["reduction" if a in axes else "parallel" for a in range(type_.rank)]
        self.count = graph.element_count([type_.shape[axis] for axis in axes])

    def behind_barrier(self, x: Value) -> Value:
        """`x`, materialized before its rows are read several times, if they are long.

        The backend would otherwise compute rows in the loops that read them, and keep them in local
        memory, for which it fails at rows of dynamic length on CUDA.
        """
        if isinstance(self.count, int) and self.count * self.type.dtype.itemsize <= _STACK_BYTES:
            return x
        if isinstance(x.owner, ir.Block):
            return x
        return behind_barrier(self.ctx, x, self.type)

    def widened(self, scalar: Scalar) -> Scalar:
        """Widen an element of the tensor to the accumulator type."""
        return convert_scalar(scalar, self.type.dtype, self.wide)

    def constant(self, value: float) -> Scalar:
        return scalar_constant(value, self.wide)

    def row_of(self, value: float) -> Value:
        """One `value` per row."""
        return fill(self.constant(value), self.ctx.empty(self.row_type))

    def reduced(
        self, initial: float, inputs: Sequence[Value], maps: Sequence[ir.AffineMap], body: Body
    ) -> Value:
        """Reduce each row by `body`, on the scalars of `inputs` and the partial result."""
        outputs = [self.row_of(initial)]
        (result,) = generic(inputs, maps, outputs, [self.per_row], self.kinds, body)
        return complete(self.ctx, result, self.row_type, self.axes, self.type.rank)

    def largest(self, x: Elements, lowest: float) -> Value:
        """The largest element of each row, at least `lowest`.

        The maximum may ignore NaN: a NaN minus the maximum is still a NaN. This halves the time.
        """
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")

        def body(*scalars: Scalar) -> Scalar:
            return arith.maximumf(x.element(*scalars[:-1]), scalars[-1], fastmath=flags)

        return self.reduced(lowest, x.inputs, x.maps, body)

    def total(self, x: Value, rows: Sequence[Value], term: Body) -> Value:
        """The sum over each row of `term`, on an element and the scalars of `rows`."""
        maps = [self.identity, *[self.per_row] * len(rows)]
        return self.reduced(
            0, [x, *rows], maps,
            lambda s, *rest: arith.addf(term(self.widened(s), *rest[:-1]), rest[-1]),
        )  # fmt: skip

    def exponentials(self, x: Elements, top: Value, dtype: np.dtype) -> tuple[Value, Value]:
        """``exp(x - top)`` in `dtype`, and its sum over each row, in one loop.

        Measured: 12x128x128 takes 0.17 ms, and 0.24 ms if the sum has a loop of its own.
        """
        outputs = [self.ctx.empty(self.type.with_dtype(dtype)), self.row_of(0)]
        maps, result_maps = [*x.maps, self.per_row], [self.identity, self.per_row]

        def power(own: Sequence[Scalar], top: Scalar) -> Scalar:
            return math.exp(arith.subf(x.element(*own), top))

        def both(*scalars: Scalar) -> list[Scalar]:
            *own, top, _, total = scalars
            value = power(own, top)
            return [convert_scalar(value, self.wide, dtype), arith.addf(value, total)]

        if self.ctx.gpu:  # for which the backend takes no loop that does both
            powers = parallel(
                [*x.inputs, top], maps, outputs[0],
                lambda *s: convert_scalar(power(s[:-1], s[-1]), self.wide, dtype),
            )  # fmt: skip
            total = self.reduced(
                0, [*x.inputs, top], maps, lambda *s: arith.addf(power(s[:-2], s[-2]), s[-1])
            )
            return powers, total
        powers, total = generic([*x.inputs, top], maps, outputs, result_maps, self.kinds, both)
        return powers, total

    def elements(self, x: Value) -> Elements:
        """The elements of `x`, widened but otherwise unchanged."""
        return Elements([x], [self.identity], self.widened)

    def mapped(self, inputs: Sequence[Value], maps: Sequence[ir.AffineMap], body: Body) -> Value:
        """Build a tensor of `self.type` from the scalars of `inputs`."""
        output = self.ctx.empty(self.type)

        def element(*scalars: Scalar) -> Scalar:
            return convert_scalar(body(*scalars), self.wide, self.type.dtype)

        return parallel(inputs, maps, output, element)

    def mean_factor(self) -> Callable[[], Scalar]:
        """A function for the factor from a row's sum to its mean, to be called inside the loops."""
        if isinstance(self.count, int):
            count = max(self.count, 1)
            return lambda: self.constant(1 / count)
        i64 = np.dtype(np.int64)
        count = arith.index_cast(plain_element(i64), self.ctx.index(self.count))
        factor = arith.divf(self.constant(1), convert_scalar(count, i64, self.wide))
        return lambda: factor


@lowers(graph.SoftmaxOp)
def softmax(ctx: Lowering, op: graph.SoftmaxOp, x: Value) -> Value:
    if not (ctx.gpu or ctx.in_kernel) and _is_for_kernel(op):
        return _softmax_kernel(ctx, x, graph.type_of(op.x), logarithm=False)
    rows = RowNormalization(ctx, graph.type_of(op.x), [op.attrs["axis"]])
    x = rows.behind_barrier(x)
    top = rows.largest(rows.elements(x), float("-inf"))
    maps = [rows.identity, rows.per_row]
    if isinstance(rows.count, int) and rows.count * rows.wide.itemsize <= _ROW_BYTES:
        powers, total = rows.exponentials(rows.elements(x), top, rows.wide)
        return rows.mapped([powers, total], maps, arith.divf)

    def power(s: Scalar, top: Scalar) -> Scalar:
        return math.exp(arith.subf(s, top))

    return rows.mapped(
        [x, top, rows.total(x, [top], power)],
        [*maps, rows.per_row],
        lambda s, top, total: arith.divf(power(rows.widened(s), top), total),
    )


def _is_for_kernel(op: graph.SoftmaxOp | graph.LogSoftmaxOp) -> bool:
    """Return whether the softmax kernel applies: to contiguous rows of f32 that are faster by it.

    The backend is faster for rows of a vector or two, and of whole vectors up to `_SHORT_ROW`. It
    computes the exponentials of longer rows twice, and does not divide a named number of them among
    threads. Measured: 12x197x197 takes 0.38 ms, and 0.68 ms by the backend; 512x512 half the time;
    131x1000 behind a multiplication, which the backend fuses, 77 us and 129 us.
    """
    type_ = graph.type_of(op.x)
    if type_.dtype != np.float32 or 0 in type_.shape or op.attrs["axis"] != type_.rank - 1:
        return False
    length = type_.shape[-1]
    if isinstance(length, Dim) or length >= _SHORT_ROW:
        return True
    return length > 2 * LANES and length % LANES != 0


def _softmax_kernel(ctx: Lowering, x: Value, type_: graph.TensorType, logarithm: bool) -> Value:
    shape, sizes = row_chunks(type_, type_.rank - 1)
    return run_emitter(
        ctx, "softmax", shape, (logarithm,), [(x, type_)], [type_], sizes,
        lambda *buffers: SoftmaxEmitter(shape, logarithm, *buffers),
    )  # fmt: skip


@lowers(graph.LogSoftmaxOp)
def log_softmax(ctx: Lowering, op: graph.LogSoftmaxOp, x: Value) -> Value:
    if not (ctx.gpu or ctx.in_kernel) and _is_for_kernel(op):
        return _softmax_kernel(ctx, x, graph.type_of(op.x), logarithm=True)
    rows = RowNormalization(ctx, graph.type_of(op.x), [op.attrs["axis"]])
    x = rows.behind_barrier(x)
    top = rows.largest(rows.elements(x), float("-inf"))
    total = rows.total(x, [top], lambda s, top: math.exp(arith.subf(s, top)))
    return rows.mapped(
        [x, top, total],
        [rows.identity, rows.per_row, rows.per_row],
        lambda s, top, t: arith.subf(arith.subf(rows.widened(s), top), math.log(t)),
    )


def _scaled(
    rows: RowNormalization,
    inputs: Sequence[Value],
    parameters: Sequence[tuple[Value, Value]],
    normalised: Body,
) -> Value:
    """`normalised` of an element and its row statistics, times the first parameter, plus the
    second.

    Parameters are pairs of a graph value, which broadcasts to the tensor, and its lowered form.
    """
    maps = [rows.identity, *[rows.per_row] * (len(inputs) - 1)]
    for value, _ in parameters:
        shape = graph.type_of(value).shape
        first = rows.type.rank - len(shape)
        axes = [None if size == 1 else i for i, size in enumerate(shape, start=first)]
        for axis, size in zip(axes, shape, strict=True):
            if axis is not None:
                of = rows.type.shape[axis]
                rows.ctx.require_equal(of, size, f"scales {of} elements by {size}")
        maps.append(projection(rows.type.rank, axes))

    def element(s: Scalar, *rest: Scalar) -> Scalar:
        statistics, scales = rest[: len(inputs) - 1], rest[len(inputs) - 1 :]
        scale, *bias = map(rows.widened, scales)
        y = arith.mulf(normalised(rows.widened(s), *statistics), scale)
        return arith.addf(y, bias[0]) if bias else y

    return rows.mapped([*inputs, *(lowered for _, lowered in parameters)], maps, element)


@prepares(graph.LayerNormOp)
def row_sums(op: graph.LayerNormOp, cpu: CpuModel) -> Prepared | None:
    """The sum of each row, which the sum of squares needs, unless the kernel computes both."""
    if cpu.has_vectors and reason_against_kernel(op) is None:
        return None
    type_ = graph.type_of(op.x)
    sums = type_.with_shape(type_.shape[: op.attrs["axis"]])
    return Prepared(sums.with_dtype(accumulator(type_.dtype)))


def _fusion_of_norm(op: graph.LayerNormOp) -> Fusion:
    return Fusion.PRODUCER if reason_against_kernel(op) else Fusion.NONE


@lowers(graph.LayerNormOp, fuses=_fusion_of_norm)
def layer_norm(
    ctx: Lowering, op: graph.LayerNormOp, x: Value, scale: Value, bias: Value | None
) -> Value:
    """Sum the squares of centred elements, so that the variance of large numbers does not
    cancel."""
    type_ = graph.type_of(op.x)
    if (y := normalize_by_kernel(ctx, op, x, scale, bias)) is not None:
        return y
    rows = RowNormalization(ctx, type_, range(op.attrs["axis"], type_.rank))
    x = rows.behind_barrier(x)
    factor = rows.mean_factor()

    def centred(s: Scalar, total: Scalar) -> Scalar:
        return arith.subf(s, arith.mulf(total, factor()))

    def square(s: Scalar, total: Scalar) -> Scalar:
        distance = centred(s, total)
        return arith.mulf(distance, distance)

    def normalised(s: Scalar, total: Scalar, squares: Scalar) -> Scalar:
        variance = arith.mulf(squares, factor())
        deviation = math.rsqrt(arith.addf(variance, rows.constant(op.attrs["epsilon"])))
        return arith.mulf(centred(s, total), deviation)

    total = rows.total(x, [], lambda s: s)
    squares = rows.total(x, [total], square)
    parameters: list[tuple[ir.Value, ir.Value]] = [(op.scale, scale)]
    if bias is not None and op.bias is not None:
        parameters.append((op.bias, bias))
    return _scaled(rows, [x, total, squares], parameters, normalised)


@lowers(graph.RmsNormOp)
def rms_norm(ctx: Lowering, op: graph.RmsNormOp, x: Value, scale: Value) -> Value:
    type_ = graph.type_of(op.x)
    if (y := normalize_by_kernel(ctx, op, x, scale)) is not None:
        return y
    rows = RowNormalization(ctx, type_, range(op.attrs["axis"], type_.rank))
    x = rows.behind_barrier(x)
    factor = rows.mean_factor()

    def normalised(s: Scalar, squares: Scalar) -> Scalar:
        mean = arith.mulf(squares, factor())
        return arith.mulf(s, math.rsqrt(arith.addf(mean, rows.constant(op.attrs["epsilon"]))))

    squares = rows.total(x, [], lambda s: arith.mulf(s, s))
    return _scaled(rows, [x, squares], [(op.scale, scale)], normalised)


@lowers(graph.BatchNormOp)
def batch_norm(ctx: Lowering, op: graph.BatchNormOp, x: Value, *parameters: Value) -> Value:
    rows = RowNormalization(ctx, graph.type_of(op.x), [])
    dtypes = [graph.type_of(v).dtype for v in op.operation.operands[1:]]
    channel = projection(rows.type.rank, [op.attrs["axis"]])

    def element(s: Scalar, *rest: Scalar) -> Scalar:
        scale, bias, mean, variance = (
            convert_scalar(scalar, dtype, rows.wide)
            for scalar, dtype in zip(rest, dtypes, strict=True)
        )
        deviation = math.rsqrt(arith.addf(variance, rows.constant(op.attrs["epsilon"])))
        centred = arith.subf(rows.widened(s), mean)
        return arith.addf(arith.mulf(centred, arith.mulf(deviation, scale)), bias)

    return rows.mapped([x, *parameters], [rows.identity, *[channel] * 4], element)


@lowers(graph.LrnOp)
def lrn(ctx: Lowering, op: graph.LrnOp, x: Value) -> Value:
    """Sum the squares of shifted views of the padded tensor in one elementwise loop.

    A reduction over the window takes three times as long, and the backend does not compile it after
    pooling.
    """
    attrs = op.attrs
    rows = RowNormalization(ctx, graph.type_of(op.x), [])
    share, bias = attrs["alpha"] / attrs["size"], attrs["bias"]

    def element(s: Scalar, *neighbours: Scalar) -> Scalar:
        wide = map(rows.widened, neighbours)
        squares = functools.reduce(arith.addf, (arith.mulf(n, n) for n in wide))
        base = arith.addf(rows.constant(bias), arith.mulf(rows.constant(share), squares))
        return arith.mulf(rows.widened(s), _inverse_power(rows, base, attrs["beta"]))

    views = _neighbours(ctx, rows.type, x, attrs["axis"], attrs["size"])
    return rows.mapped([x, *views], [rows.identity] * (1 + len(views)), element)


def _inverse_power(rows: RowNormalization, base: Scalar, exponent: float) -> Scalar:
    """``base ** -exponent``; the usual exponent, 0.75, needs only square roots."""
    if exponent == 0.75:
        root = math.rsqrt(base)
        return arith.mulf(root, math.sqrt(root))
    return math.powf(base, rows.constant(-exponent))


def _neighbours(
    ctx: Lowering, type_: graph.TensorType, x: Value, axis: int, size: int
) -> list[Value]:
    """The views of `x` shifted along `axis`, one for each of the `size` elements of a window."""
    low, high, padded = _border(type_, axis, size)
    image = pad_tensor(ctx, x, scalar_constant(0, type_.dtype), low, high, padded)
    ones = [1] * type_.rank
    return [
        extract_slice(
            ctx, image, [shift if i == axis else 0 for i in range(type_.rank)],
            type_.shape, ones, type_,
        )
        for shift in range(size)
    ]  # fmt: skip


@prepares(graph.LrnOp)
def image_with_border(op: graph.LrnOp, cpu: CpuModel) -> Prepared:
    """The image with zeros before and after its channels."""
    del cpu
    _, _, padded = _border(graph.type_of(op.x), op.attrs["axis"], op.attrs["size"])
    return Prepared(padded, is_border=True)


def _border(
    type_: graph.TensorType, axis: int, size: int
) -> tuple[list[int], list[int], graph.TensorType]:
    """The padding before and after an image for a window of `size` elements along `axis`, and the
    type of the padded image."""
    low, high = (
        [count if i == axis else 0 for i in range(type_.rank)] for count in graph.lrn_window(size)
    )
    sizes = (a + s + b for a, s, b in zip(low, type_.shape, high, strict=True))
    return low, high, type_.with_shape(sizes)
