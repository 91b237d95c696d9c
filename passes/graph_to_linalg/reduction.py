"""Reductions as ``linalg.generic`` with reduction loops; cumulative sums as scans."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects import graph, iree
from ...mlir import arith, ir, tensor, vector
from .arg_kernel import has_arg_kernel, positions_by_kernel
from .dispatch import behind_barrier, follows_reduction, in_own_dispatch, materialized
from .generic import fill, generic, loop_index, parallel, projection
from .lowering import Lowering, Size, lowers, plain_element, plain_type, scalar_constant
from .movement import reshape_tensor
from .reduction_kernel import (
    AxisReduction,
    has_reduction_kernel,
    last_adjacent,
    reduce_by_kernel,
    scan_by_kernel,
)
from .scalar import apply_number_rule, convert_scalar

Combine = Callable[[ir.Value, ir.Value], ir.Value]

_F32 = np.dtype(np.float32)
_BOOL = np.dtype(np.bool_)


def accumulator(dtype: np.dtype) -> np.dtype:
    """The accumulator type of `dtype`: narrow floats are accumulated in f32."""
    return _F32 if graph.is_float(dtype) and dtype.itemsize < 4 else dtype


def reduce_axes(
    ctx: Lowering,
    x: ir.Value,
    type_: graph.TensorType,
    axes: Sequence[int],
    initial: Any,
    combine: Combine,
) -> ir.Value:
    """Reduce `x`, of `type_`, over `axes`, which the result lacks.

    The result has the accumulator's element type. The operand of a reduction over several axes is
    materialized if it depends on other reductions, such as those of a normalisation: the backend
    would fuse them, and reduce a row again for each of its elements.
    """
    wide = accumulator(type_.dtype)
    kept = [axis for axis in range(type_.rank) if axis not in axes]
    result = graph.TensorType(tuple(type_.shape[axis] for axis in kept), wide)
    output = fill(scalar_constant(initial, wide), ctx.empty(result))
    if 0 in type_.shape:
        return output

    several = sum(type_.shape[axis] != 1 for axis in axes) > 1
    if several and not ctx.gpu and follows_reduction(x):
        x = behind_barrier(ctx, x, type_)

    def body(element: ir.Value, total: ir.Value) -> ir.Value:
        return combine(convert_scalar(element, type_.dtype, wide), total)

    (reduced,) = generic(
        [x],
        [ir.AffineMap.get_identity(type_.rank)],
        [output],
        [projection(type_.rank, kept)],
        ["reduction" if axis in axes else "parallel" for axis in range(type_.rank)],
        body,
    )
    return complete(ctx, reduced, result, axes, type_.rank)


def complete(
    ctx: Lowering, reduced: ir.Value, type_: graph.TensorType, axes: Sequence[int], rank: int
) -> ir.Value:
    """`reduced`, of `type_`, over `axes` of `rank`; on GPUs it may be materialized.

    If it is broadcast along axes that are not the last, the backend lets threads read elements that
    others have not written yet.
    """
    is_last = sorted(axes) == list(range(rank - len(axes), rank))
    return behind_barrier(ctx, reduced, type_) if ctx.gpu and not is_last else reduced


def keep_axes(ctx: Lowering, x: ir.Value, type_: graph.TensorType, axes: Sequence[int]) -> ir.Value:
    """Expand `x` to `type_`, which has additional axes of size 1 at `axes`."""
    if not axes:
        return x
    groups: list[list[int]] = []
    leading: list[int] = []
    for axis in range(type_.rank):
        if axis not in axes:
            groups.append([*leading, axis])
            leading = []
        elif groups:
            groups[-1].append(axis)
        else:
            leading.append(axis)
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [size if isinstance(size, int) else dynamic for size in type_.shape]
    sizes = [ctx.index(size) for size in type_.shape if not isinstance(size, int)]
    return tensor.expand_shape(plain_type(type_), x, groups, sizes, static)


def _each(
    ctx: Lowering,
    x: ir.Value,
    type_: graph.TensorType,
    function: Callable[[ir.Value], ir.Value],
) -> ir.Value:
    """Apply `function` to each element of `x`, as a tensor of `type_`."""
    return parallel([x], [ir.AffineMap.get_identity(type_.rank)], ctx.empty(type_), function)


def _finish(
    ctx: Lowering,
    op: graph.GraphOp,
    reduced: ir.Value,
    function: Callable[[ir.Value], ir.Value] | None = None,
) -> ir.Value:
    """Apply `function` to the reduced tensor, narrow it, and restore the kept axes."""
    source, result = graph.type_of(op.operation.operands[0]), graph.type_of(op.operation.results[0])
    axes, wide = op.attrs["axes"], accumulator(source.dtype)
    if function is not None or wide != source.dtype:
        squeezed = source.with_shape(graph.reduced_shape(source.shape, axes, False))

        def narrow(total: ir.Value) -> ir.Value:
            total = total if function is None else function(total)
            return convert_scalar(total, wide, source.dtype)

        reduced = _each(ctx, reduced, squeezed, narrow)
    return keep_axes(ctx, reduced, result, axes) if op.attrs["keepdims"] else reduced


def _is_of_one_element(type_: graph.TensorType, axes: Sequence[int]) -> bool:
    """Return whether each result of a reduction over `axes` is an element. As a sum in windows, the
    backend would allocate a stack without bounds for it."""
    return all(type_.shape[axis] == 1 for axis in axes)


def _reduction(
    op_class: type[graph.GraphOp],
    scalar_class: type[graph.GraphOp],
    initial: Callable[[np.dtype], Any],
) -> None:
    """Register the lowering of `op_class` as a reduction by the scalar rule of `scalar_class`."""

    @lowers(op_class)
    def rule(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
        type_ = graph.type_of(op.operation.operands[0])
        axes, wide = op.attrs["axes"], accumulator(type_.dtype)
        if _is_of_one_element(type_, axes):
            return reshape_tensor(ctx, x, type_, graph.type_of(op.operation.results[0]))

        def combine(element: ir.Value, total: ir.Value) -> ir.Value:
            return apply_number_rule(scalar_class, wide, element, total)

        inner = last_adjacent(axes)
        if has_reduction_kernel(ctx, op, inner):
            key = scalar_class.OPERATION_NAME
            given = AxisReduction(x, type_, inner, combine, initial(wide), key)
            x = reduce_by_kernel(ctx, given, None)
            type_ = type_.with_shape(graph.reduced_shape(type_.shape, tuple(inner), False))
            axes = axes[: len(axes) - len(inner)]
        if axes:
            x = reduce_axes(ctx, x, type_, axes, initial(wide), combine)
        return _finish(ctx, op, x)


_reduction(graph.ReduceSumOp, graph.AddOp, lambda dtype: 0)
_reduction(graph.ReduceProdOp, graph.MulOp, lambda dtype: 1)
_reduction(graph.ReduceMaxOp, graph.MaxOp, graph.lowest)
_reduction(graph.ReduceMinOp, graph.MinOp, graph.highest)


@lowers(graph.ReduceMeanOp)
def reduce_mean(ctx: Lowering, op: graph.ReduceMeanOp, x: ir.Value) -> ir.Value:
    type_ = graph.type_of(op.operation.operands[0])
    axes, wide = op.attrs["axes"], accumulator(type_.dtype)
    if _is_of_one_element(type_, axes):
        return reshape_tensor(ctx, x, type_, graph.type_of(op.result))
    count = graph.element_count([type_.shape[axis] for axis in axes])

    def add(element: ir.Value, total: ir.Value) -> ir.Value:
        return apply_number_rule(graph.AddOp, wide, element, total)

    if graph.is_float(type_.dtype) and has_reduction_kernel(ctx, op, axes):
        given = AxisReduction(x, type_, axes, add, 0, op.OPERATION_NAME)
        return _finish(ctx, op, reduce_by_kernel(ctx, given, _divide))
    reduced = reduce_axes(ctx, x, type_, axes, 0, add)
    divisor = _count_scalar(ctx, count, wide)
    return _finish(
        ctx, op, reduced, lambda total: apply_number_rule(graph.DivOp, wide, total, divisor)
    )


def _divide(total: ir.Value, count: ir.Value) -> ir.Value:
    """`total`, a float or a vector of floats, divided by an index, or by 1 if that is 0."""
    count = arith.maxui(count, arith.constant(ir.IndexType.get(), 1))
    element = total.type.element_type if isinstance(total.type, ir.VectorType) else total.type
    number = arith.uitofp(element, arith.index_cast(ir.IntegerType.get_signless(64), count))
    if element != total.type:
        number = vector.broadcast(total.type, number)
    return arith.divf(total, number)


def _count_scalar(ctx: Lowering, count: Size, dtype: np.dtype) -> ir.Value:
    """`count`, at least 1, as a scalar of `dtype`."""
    if isinstance(count, int):
        return scalar_constant(max(count, 1), dtype)
    i64 = np.dtype(np.int64)
    known = arith.maxui(ctx.index(count), ctx.index(1))
    return convert_scalar(arith.index_cast(plain_element(i64), known), i64, dtype)


def _arg(
    op_class: type[graph.GraphOp],
    extreme: type[graph.GraphOp],
    initial: Callable[[np.dtype], Any],
) -> None:
    """Lower `op_class` to a kernel, or to two vectorisable steps: the extreme element, then its
    position.

    The second step takes the smallest (or largest) position that holds the extreme element, or
    a NaN: the extreme element is NaN when there is one.
    """

    @lowers(op_class)
    def rule(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
        type_, attrs = graph.type_of(op.operation.operands[0]), op.attrs
        axis = attrs["axis"]
        if has_arg_kernel(ctx, type_, axis):
            is_max, is_last = extreme is graph.MaxOp, attrs["last_index"]
            positions = positions_by_kernel(ctx, x, type_, axis, is_max, is_last)
        else:
            positions = _two_steps(ctx, x, type_, op, extreme, initial(accumulator(type_.dtype)))
        result = graph.type_of(op.operation.results[0])
        return keep_axes(ctx, positions, result, [axis]) if attrs["keepdims"] else positions


_POSITION = np.dtype(np.int32)


def _two_steps(
    ctx: Lowering,
    x: ir.Value,
    type_: graph.TensorType,
    op: graph.GraphOp,
    extreme: type[graph.GraphOp],
    initial: Any,
) -> ir.Value:
    """The positions (i64) of the extreme elements of `x`, of `type_`, by two reductions."""
    axis, wide = op.attrs["axis"], accumulator(type_.dtype)
    found = reduce_axes(
        ctx, x, type_, [axis], initial,
        lambda element, best: apply_number_rule(extreme, wide, element, best),
    )  # fmt: skip
    squeezed = type_.with_shape(graph.reduced_shape(type_.shape, (axis,), False))
    positions = _positions(ctx, x, found, type_, axis, op.attrs["last_index"])
    i64 = np.dtype(np.int64)
    return _each(
        ctx, positions, squeezed.with_dtype(i64),
        lambda position: convert_scalar(position, _POSITION, i64),
    )  # fmt: skip


def _positions(
    ctx: Lowering,
    x: ir.Value,
    extreme: ir.Value,
    type_: graph.TensorType,
    axis: int,
    last: bool,
) -> ir.Value:
    """The first or last position along `axis` where `x` is `extreme`, or NaN."""
    kept = [i for i in range(type_.rank) if i != axis]
    wide = accumulator(type_.dtype)
    position_type = graph.TensorType(tuple(type_.shape[i] for i in kept), _POSITION)
    start = 0 if last else np.iinfo(_POSITION).max
    never = scalar_constant(start, _POSITION)
    output = fill(never, ctx.empty(position_type))
    choose = graph.MaxOp if last else graph.MinOp
    element = plain_element(_POSITION)

    def body(value: ir.Value, best: ir.Value, chosen: ir.Value) -> ir.Value:
        here = is_same_or_nan(convert_scalar(value, type_.dtype, wide), best, wide)
        position = arith.index_cast(element, loop_index(axis))
        candidate = arith.select(here, position, never)
        return apply_number_rule(choose, _POSITION, candidate, chosen)

    identity, projected = ir.AffineMap.get_identity(type_.rank), projection(type_.rank, kept)
    (positions,) = generic(
        [x, extreme], [identity, projected], [output], [projected],
        ["reduction" if i == axis else "parallel" for i in range(type_.rank)], body,
    )  # fmt: skip
    return positions


def is_same_or_nan(value: ir.Value, other: ir.Value, dtype: np.dtype) -> ir.Value:
    """True (an i1, inside a body) if two scalars are equal, or the first is NaN."""
    if not graph.is_float(dtype):
        return arith.cmpi(arith.CmpIPredicate.eq, value, other)
    same = arith.cmpf(arith.CmpFPredicate.OEQ, value, other)
    return arith.ori(same, arith.cmpf(arith.CmpFPredicate.UNO, value, value))


_arg(graph.ArgMaxOp, graph.MaxOp, graph.lowest)
_arg(graph.ArgMinOp, graph.MinOp, graph.highest)


def running(
    ctx: Lowering,
    x: ir.Value,
    type_: graph.TensorType,
    axis: int,
    combine: type[graph.GraphOp],
    start: int,
    inclusive: bool = True,
) -> ir.Value:
    """The scan of `x`, of `type_`, along `axis` by `combine`, beginning with `start`.

    The backend holds a tile of the totals, up to 64 along each axis, on the stack, where at most
    one axis before and one after `axis` fit.
    """
    if 0 in type_.shape:
        return ctx.empty(type_)
    before, extent, behind = type_.shape[:axis], type_.shape[axis], type_.shape[axis + 1 :]
    outer, inner = ([graph.element_count(part)] if part else [] for part in (before, behind))
    merged = type_.with_shape([*outer, extent, *inner])
    x = reshape_tensor(ctx, materialized(ctx, x, type_), type_, merged)
    sizes, outer_sizes = ctx.mixed(merged.shape), ctx.mixed([*outer, *inner])
    element = plain_element(type_.dtype)

    def scan() -> ir.Value:
        first = fill(scalar_constant(start, type_.dtype), tensor.empty(outer_sizes, element))
        return iree.scan(
            x, tensor.empty(sizes, element), first, len(outer), inclusive,
            lambda total, new: apply_number_rule(combine, type_.dtype, total, new),
        )  # fmt: skip

    return reshape_tensor(ctx, in_own_dispatch(ctx, merged, scan), merged, type_)


def _cumulative(op_class: type[graph.GraphOp], combine: type[graph.GraphOp], start: int) -> None:
    @lowers(op_class)
    def rule(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
        type_, attrs = graph.type_of(op.operation.operands[0]), op.attrs
        axis, wide = attrs["axis"], accumulator(type_.dtype)
        if axis < type_.rank - 1 and has_reduction_kernel(ctx, op, [axis]):
            given = AxisReduction(
                x, type_, [axis],
                lambda element, total: apply_number_rule(combine, wide, element, total),
                start, combine.OPERATION_NAME,
            )  # fmt: skip
            return scan_by_kernel(ctx, given, bool(attrs["exclusive"]), bool(attrs["reverse"]))
        backwards = attrs["axis"] if attrs["reverse"] else None
        x = _converted(ctx, x, type_, wide, backwards)
        x = running(
            ctx, x, type_.with_dtype(wide), attrs["axis"], combine, start, not attrs["exclusive"]
        )
        return _converted(ctx, x, type_.with_dtype(wide), type_.dtype, backwards)


def _converted(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, dtype: np.dtype, flip: int | None
) -> ir.Value:
    """Convert `x` to `dtype`, and reverse axis `flip` unless that is None."""
    if flip is None:
        if dtype == type_.dtype:
            return x
        return _each(
            ctx, x, type_.with_dtype(dtype), lambda e: convert_scalar(e, type_.dtype, dtype)
        )
    last = ctx.index(type_.shape[flip] - 1)

    def element() -> ir.Value:
        coordinates = [loop_index(axis) for axis in range(type_.rank)]
        coordinates[flip] = arith.subi(last, coordinates[flip])
        return convert_scalar(tensor.extract(x, coordinates), type_.dtype, dtype)

    return parallel([], [], ctx.empty(type_.with_dtype(dtype)), element)


_cumulative(graph.CumsumOp, graph.AddOp, 0)
_cumulative(graph.CumprodOp, graph.MulOp, 1)
