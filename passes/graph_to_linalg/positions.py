"""Ops whose elements depend on their position: ranges, positions of true elements."""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph, iree
from ...mlir import arith, ir
from ..kernels.non_zero import NonZeroEmitter
from .dispatch import behind_barrier, in_own_dispatch, materialized
from .generic import fill, loop_index, parallel, projection
from .kernel_calls import define
from .lowering import Lowering, Size, lowers, plain_element, plain_type, scalar_constant
from .movement import extract_slice, reshape_tensor
from .reduction import accumulator, running
from .scalar import apply_number_rule, convert_scalar, multiply

_I64 = np.dtype(np.int64)


@lowers(graph.RangeOp)
def range_(ctx: Lowering, op: graph.RangeOp, start: ir.Value, delta: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    dtype, wide = result.dtype, accumulator(result.dtype)

    def element(first: ir.Value, step: ir.Value) -> ir.Value:
        position = arith.index_cast(plain_element(_I64), loop_index(0))
        first, step = (convert_scalar(x, dtype, wide) for x in (first, step))
        way = multiply(wide, convert_scalar(position, _I64, wide), step)
        value = apply_number_rule(graph.AddOp, wide, first, way)
        return convert_scalar(value, wide, dtype)

    scalar = projection(1, [])
    return parallel([start, delta], [scalar, scalar], ctx.empty(result), element)


@lowers(graph.NonZeroOp)
def non_zero(ctx: Lowering, op: graph.NonZeroOp, x: ir.Value) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape or 0 in source.shape:
        return ctx.empty(result)
    if ctx.cpu.has_vectors and not ctx.gpu and not ctx.in_kernel:
        return _find_by_kernel(ctx, x, source, result)
    return _find_by_scatter(ctx, op, x)


def _find_by_kernel(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, result: graph.TensorType
) -> ir.Value:
    """The positions of the true elements of `x`, of type `source`, by one pass over a mask."""
    identity, rank = ir.AffineMap.get_identity(source.rank), source.rank
    mask = source.with_dtype(np.dtype(np.bool_))
    if source.dtype != np.bool_:
        x = parallel([x], [identity], ctx.empty(mask), _truth(source.dtype))
    byte, i64 = ir.IntegerType.get_signless(8), plain_element(_I64)
    memory = [iree.Buffer(byte, 1, tuple(range(rank))), iree.Buffer(i64, rank, (rank,))]

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        del workgroup_id
        *extents, count, elements, positions = arguments
        NonZeroEmitter(extents, count, elements, positions).workgroup()

    name = define(ctx, "non_zero", rank, memory, kernel, 0, rank + 1)
    sizes = [ctx.index(size) for size in (*source.shape, result.shape[1])]
    plain = [plain_type(result)]
    return iree.run_kernel(name, 1, [x], plain, sizes, ctx.dynamic_sizes(result))[0]


def _find_by_scatter(ctx: Lowering, op: graph.NonZeroOp, x: ir.Value) -> ir.Value:
    """Number the true elements, and scatter the position of each to the slot of its number.

    False elements go to an extra last slot, which is sliced off.
    """
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    total, count = graph.element_count(source.shape), op.attrs["count"]
    flat = source.with_shape((total,))
    mask = reshape_tensor(ctx, x, source, flat)
    slots = _slots(ctx, mask, flat, count)
    buffer = graph.TensorType((count + 1,), _I64)
    every = flat.with_dtype(_I64)
    sources = _positions(ctx, every)
    numbers = fill(scalar_constant(0, _I64), ctx.empty(buffer))
    numbers = in_own_dispatch(
        ctx, buffer, lambda: iree.scatter(sources, slots, numbers, [0], lambda new, old: new)
    )
    found = buffer.with_shape((count,))
    numbers = extract_slice(ctx, numbers, [0], [count], [1], found)
    return _unravel(ctx, numbers, source.shape, result)


def _positions(ctx: Lowering, type_: graph.TensorType) -> ir.Value:
    """Materialize 0, 1, ..., computed in the dispatch that stores them.

    A copy of them has memory that the backend does not write, where equal numbers are used as well.
    """

    def count() -> ir.Value:
        return parallel([], [], ctx.empty(type_), _position)

    return behind_barrier(ctx, count(), type_) if ctx.gpu else in_own_dispatch(ctx, type_, count)


def _position() -> ir.Value:
    return arith.index_cast(plain_element(_I64), loop_index(0))


def _slots(ctx: Lowering, mask: ir.Value, flat: graph.TensorType, count: Size) -> ir.Value:
    """For each true element of `mask`, the number of true elements before it; else `count`."""
    identity = ir.AffineMap.get_identity(1)
    counts = flat.with_dtype(_I64)
    is_true = _truth(flat.dtype)
    one, zero = scalar_constant(1, _I64), scalar_constant(0, _I64)
    ones = parallel(
        [mask], [identity], ctx.empty(counts), lambda e: arith.select(is_true(e), one, zero)
    )
    before = running(ctx, ones, counts, 0, graph.AddOp, 0, inclusive=False)
    behind = arith.index_cast(plain_element(_I64), ctx.index(count))

    def slot(element: ir.Value, number: ir.Value) -> ir.Value:
        return arith.select(is_true(element), arith.minsi(number, behind), behind)

    slots = parallel([mask, before], [identity, identity], ctx.empty(counts), slot)
    column = counts.with_shape((*counts.shape, 1))
    return reshape_tensor(ctx, materialized(ctx, slots, counts), counts, column)


def _truth(dtype: np.dtype) -> Callable[[ir.Value], ir.Value]:
    return lambda element: convert_scalar(element, dtype, np.dtype(np.bool_))


def _unravel(
    ctx: Lowering, numbers: ir.Value, shape: Sequence[Size], result: graph.TensorType
) -> ir.Value:
    """The coordinates in a tensor of `shape` of each of `numbers`, one row per axis."""
    extents = [ctx.index(size) for size in shape]
    axes = [ctx.index(axis) for axis in range(len(shape))]

    def coordinate(number: ir.Value) -> ir.Value:
        rest = arith.index_cast(ir.IndexType.get(), number)
        row, wanted = loop_index(0), rest
        for axis, extent in reversed(list(zip(axes, extents, strict=True))):
            here = arith.cmpi(arith.CmpIPredicate.eq, row, axis)
            wanted = arith.select(here, arith.remui(rest, extent), wanted)
            rest = arith.divui(rest, extent)
        return arith.index_cast(plain_element(_I64), wanted)

    return parallel([numbers], [projection(2, [1])], ctx.empty(result), coordinate)
