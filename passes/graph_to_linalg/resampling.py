"""Images sampled at positions between their elements. Reads outside are clamped."""

import itertools
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from ..kernels.resampling import Interpolation, InterpolationEmitter, InterpolationMemory
from .dispatch import materialized, read_in_loops
from .generic import loop_index, parallel
from .kernel_calls import run_emitter
from .loops import for_range
from .lowering import Lowering, lowers
from .movement import reshape_tensor
from .numbers import Number, both, from_index
from .reduction import accumulator
from .sample_kernel import AxisTaps, Tap, sample_by_kernel
from .scalar import convert_scalar

Term = Callable[[Sequence[ir.Value], ir.Value], ir.Value]
"""Computes the contribution of a tap to the element at a position."""

_FEW_TAPS = 8
"""Maximum taps that are unrolled, with vectors along the inner axes; more taps are a loop per
element."""


@lowers(graph.InterpolateOp)
def interpolate(
    ctx: Lowering, op: graph.InterpolateOp, x: ir.Value, indices: ir.Value, weights: ir.Value
) -> ir.Value:
    """Interpolate along one axis, with one loop for all axes before it and one for all after."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    axis = op.attrs["axis"]
    merged, size = _merged(source, axis), result.shape[axis]
    if not ctx.gpu and _is_for_kernel(op):
        return _by_kernel(ctx, op, x, indices, weights)
    indices = materialized(ctx, indices, graph.type_of(op.indices))
    weights = materialized(ctx, weights, graph.type_of(op.weights))
    taps = graph.type_of(op.indices).shape[1]
    few = isinstance(taps, int) and 0 < taps <= _FEW_TAPS
    x = reshape_tensor(ctx, x if few else read_in_loops(ctx, x, source), source, merged)
    outer, extent, inner = merged.shape
    last, zero = ctx.index(extent - 1), ctx.index(0)
    wide, index_dtype = accumulator(source.dtype), graph.type_of(op.indices).dtype

    def term(here: Sequence[ir.Value], tap: ir.Value) -> ir.Value:
        before, at, behind = here
        position = Number(tensor.extract(indices, [at, tap]), index_dtype).index()
        inside = arith.maxsi(arith.minsi(position, last), zero)
        element = convert_scalar(tensor.extract(x, [before, inside, behind]), source.dtype, wide)
        return arith.mulf(element, tensor.extract(weights, [at, tap]))

    type_ = merged.with_shape((outer, size, inner))
    add = _sum_written_out if few else _sum_one_by_one
    return reshape_tensor(ctx, add(ctx, type_, weights, term), type_, result)


def _is_for_kernel(op: graph.InterpolateOp) -> bool:
    """Return whether the kernel applies: f32, and few enough taps to unroll."""
    types = [graph.type_of(value) for value in (op.x, op.indices, op.weights, op.result)]
    taps = types[1].shape[1]
    return (
        not any(0 in type_.shape for type_ in types)
        and types[0].dtype == types[2].dtype == np.float32
        and isinstance(taps, int)
        and taps <= _FEW_TAPS
    )


def _by_kernel(
    ctx: Lowering, op: graph.InterpolateOp, x: ir.Value, indices: ir.Value, weights: ir.Value
) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    types = [graph.type_of(op.indices), graph.type_of(op.weights)]
    outer, extent, inner = _merged(source, op.attrs["axis"]).shape
    size, taps = types[0].shape
    sizes = (outer, extent, size, inner)
    known = [n if isinstance(n, int) else None for n in sizes]
    shape = Interpolation(*known, taps=graph.static_size(taps))
    read = [(x, source), (indices, types[0]), (weights, types[1])]
    return run_emitter(
        ctx, "interpolate", shape, (), read, [result],
        [n for n in sizes if isinstance(n, Dim)],
        lambda *buffers: InterpolationEmitter(shape, InterpolationMemory(*buffers)),
    )  # fmt: skip


def _merged(type_: graph.TensorType, axis: int) -> graph.TensorType:
    """`type_` collapsed to three axes, of which `axis` is the second."""
    outer, inner = type_.shape[:axis], type_.shape[axis + 1 :]
    count = graph.element_count
    return type_.with_shape((count(outer), type_.shape[axis], count(inner)))


def _position() -> list[ir.Value]:
    return [loop_index(i) for i in range(3)]


def _sum_one_by_one(
    ctx: Lowering, type_: graph.TensorType, weights: ir.Value, term: Term
) -> ir.Value:
    wide = accumulator(type_.dtype)
    start, count = ctx.scalar(0, wide), tensor.dim(weights, ctx.index(1))

    def total() -> ir.Value:
        here = _position()
        last = for_range(count, start, lambda tap, now: arith.addf(now, term(here, tap)))
        return convert_scalar(last, wide, type_.dtype)

    return parallel([], [], ctx.empty(type_), total)


def _sum_written_out(
    ctx: Lowering, type_: graph.TensorType, weights: ir.Value, term: Term
) -> ir.Value:
    wide = accumulator(type_.dtype)
    numbers = [ctx.index(tap) for tap in range(ir.ShapedType(weights.type).shape[1])]

    def total() -> ir.Value:
        terms = [term(_position(), tap) for tap in numbers]
        return convert_scalar(reduce(arith.addf, terms), wide, type_.dtype)

    return parallel([], [], ctx.empty(type_), total)


@lowers(graph.SampleOp)
def sample(ctx: Lowering, op: graph.SampleOp, x: ir.Value, points: ir.Value) -> ir.Value:
    """One loop nest over the result, with the taps of a point unrolled."""
    extents = graph.type_of(op.x).shape[2:]

    def make_taps(value_of: Callable[[int | Dim], ir.Value]) -> AxisTaps:
        return _Sampler(op, [value_of(size) for size in extents]).taps

    if (y := sample_by_kernel(ctx, op, x, points, make_taps)) is not None:
        return y
    source, grid, result = (graph.type_of(v) for v in (op.x, op.points, op.result))
    wide = accumulator(source.dtype) if op.attrs["mode"] != "nearest" else source.dtype
    sampler = _Sampler(op, [ctx.index(size) for size in extents])
    columns = [ctx.index(i) for i in range(source.rank - 2)]

    def element() -> ir.Value:
        batch, channel, *out = (loop_index(i) for i in range(result.rank))
        coordinates = [
            Number(tensor.extract(points, [batch, *out, column]), grid.dtype)
            for column in reversed(columns)
        ]
        total = sampler.sampled(
            coordinates,
            lambda indices: Number(tensor.extract(x, [batch, channel, *indices]), source.dtype),
            wide,
        )
        return total.to(source.dtype).value

    return parallel([], [], ctx.empty(result), element)


class _Sampler:
    """Samples at points as defined by `graph.sample`. Created outside of a body, used inside."""

    def __init__(self, op: graph.SampleOp, extents: Sequence[ir.Value]):
        self.mode, self.padding = op.attrs["mode"], op.attrs["padding"]
        self.align_corners = op.attrs["align_corners"]
        self.extents = extents

    def sampled(self, coordinates: Sequence[Number], read, wide: np.dtype) -> Number:
        """The weighted sum over all taps of the elements that `read` gives for their positions."""
        terms = []
        for corner in itertools.product(*self.taps(coordinates)):
            indices, weights, inside = zip(*corner, strict=True)
            found = read(indices)
            conditions = [condition for condition in inside if condition is not None]
            if conditions:
                found = found.where(both(*conditions), 0)
            found = found.to(wide)
            factors = [weight.to(wide) for weight in weights if weight is not None]
            terms.append(reduce(lambda a, b: a * b, factors) * found if factors else found)
        return reduce(lambda a, b: a + b, terms)

    def taps(self, coordinates: Sequence[Number]) -> list[list[Tap]]:
        """The taps along each axis of a point with the `coordinates`."""
        return [
            self._taps(p.to(accumulator(p.dtype)), from_index(extent, accumulator(p.dtype)))
            for p, extent in zip(coordinates, self.extents, strict=True)
        ]

    def _taps(self, p: Number, extent: Number) -> list[Tap]:
        last = extent - 1
        low, high = (last * 0, last) if self.align_corners else (last * 0 - 0.5, extent - 0.5)
        if self.mode == "nearest":
            p = p.round()
        if self.padding != "zeros" and self.mode != "cubic":
            border = self.padding == "border"
            inner = p.max(0).min(last) if border else _reflected(p, low, high)
            p = inner.where(arith.ori(p.is_("lt", low), p.is_("gt", high)), p)
        base = p.floor()
        ratio = p - base
        ratio = ratio.where(ratio.is_("ge", 0), 0)  # infinity less itself is no number
        taps: list[Tap] = []
        for offset, weight in _weights(ratio, self.mode):
            position = base + offset
            if self.padding == "reflection" and self.mode == "cubic":
                position = _reflected(position, low, high)
            inside = None
            if self.padding == "zeros":
                inside = both(position.is_("ge", 0), position.is_("le", last))
            taps.append((position.max(0).min(last).index(), weight, inside))
        return taps


def _reflected(p: Number, low: Number, high: Number) -> Number:
    """Reflect `p` at `low` and `high` until it is between them."""
    period = (high - low) * 2
    way = p - low
    way = way - (way / period).floor() * period
    return (low + way.min(period - way)).where(high.is_("gt", low), low)


def _weights(ratio: Number, mode: str) -> list[tuple[int, Number | None]]:
    """Offsets and weights of the elements around a point at distance `ratio` after one."""
    if mode == "nearest":
        return [(0, None)]
    if mode == "linear":
        return [(0, 1 - ratio), (1, ratio)]
    return [(-1, _far(ratio + 1)), (0, _near(ratio)), (1, _near(1 - ratio)), (2, _far(2 - ratio))]


def _near(d: Number) -> Number:
    a = graph.CUBIC_COEFFICIENT
    return ((a + 2) * d - (a + 3)) * d * d + 1


def _far(d: Number) -> Number:
    a = graph.CUBIC_COEFFICIENT
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
