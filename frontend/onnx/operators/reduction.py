"""Reductions, positions of extrema, running sums."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from .axes import around_computed_axis, is_computed, reduce_computed_axes
from .shapes import normalize_axis, require_constant

Reduce = Callable[..., ir.Value]


def _reduction(op_type: str, reduce: Reduce, axes_input_since: int) -> None:
    """Register `op_type`: `axes` is an attribute before opset `axes_input_since`, then an input."""

    @onnx_op(op_type)
    def with_attribute(x, *, axes=None, keepdims=1):
        return reduce(x, axes=_axes(x, axes), keepdims=bool(keepdims))

    @onnx_op(op_type, since=axes_input_since)
    def with_input(x, axes=None, *, node, keepdims=1, noop_with_empty_axes=0):
        if axes is not None and _is_settled(x, axes):
            axes = None
        if axes is not None and is_computed(axes):
            return reduce_computed_axes(
                reduce, x, axes, node,
                keepdims=bool(keepdims), noop_with_empty_axes=bool(noop_with_empty_axes),
            )  # fmt: skip
        given = [] if axes is None else require_constant(axes, "axes").ravel().tolist()
        if not given and noop_with_empty_axes:
            return reduce(x, axes=[], keepdims=True)
        return reduce(x, axes=_axes(x, given), keepdims=bool(keepdims))


def _is_settled(x: ir.Value, axes: ir.Value) -> bool:
    """Return whether the computed axes are known to be none."""
    return graph.type_of(x).rank == 0 or graph.type_of(axes).shape == (0,)


def _axes(x: ir.Value, axes: Sequence[int] | None) -> list[int]:
    """`axes` counted from the front, in rising order; all of them when none is given."""
    rank = graph.type_of(x).rank
    if not axes:
        return list(range(rank))
    found = {normalize_axis(axis, rank) for axis in axes}
    if len(found) != len(axes):
        raise graph.TypeRuleError(f"axes {list(axes)} name an axis twice")
    return sorted(found) if rank else []


def _l1(x: ir.Value, *, axes: list[int], keepdims: bool) -> ir.Value:
    return graph.reduce_sum(graph.abs_(x), axes=axes, keepdims=keepdims)


def _in_f32(reduce: Reduce) -> Reduce:
    """Run a composed reduction of narrow floats in f32, or its parts would be rounded each."""

    def call(x: ir.Value, **attrs) -> ir.Value:
        dtype = graph.type_of(x).dtype
        if not graph.is_float(dtype) or dtype.itemsize >= 4:
            return reduce(x, **attrs)
        return graph.cast(reduce(graph.cast(x, to=np.float32), **attrs), to=dtype)

    return call


def _as_float(reduce: Reduce) -> Reduce:
    """Run a reduction that needs floats on integers, in f64."""

    def call(x: ir.Value, **attrs) -> ir.Value:
        dtype = graph.type_of(x).dtype
        if graph.is_float(dtype):
            return reduce(x, **attrs)
        return graph.cast(reduce(graph.cast(x, to=np.float64), **attrs), to=dtype)

    return call


@_in_f32
def _sum_square(x: ir.Value, *, axes: list[int], keepdims: bool) -> ir.Value:
    return graph.reduce_sum(graph.mul(x, x), axes=axes, keepdims=keepdims)


@_in_f32
@_as_float
def _l2(x: ir.Value, *, axes: list[int], keepdims: bool) -> ir.Value:
    return graph.sqrt(graph.reduce_sum(graph.mul(x, x), axes=axes, keepdims=keepdims))


@_in_f32
@_as_float
def _log_sum(x: ir.Value, *, axes: list[int], keepdims: bool) -> ir.Value:
    return graph.log(graph.reduce_sum(x, axes=axes, keepdims=keepdims))


@_in_f32
@_as_float
def _log_sum_exp(x: ir.Value, *, axes: list[int], keepdims: bool) -> ir.Value:
    """``max + log(sum(exp(x - max)))``, with an infinite maximum taken as 0."""
    largest = graph.reduce_max(x, axes=axes, keepdims=True)
    infinite = graph.is_inf(largest, negative=True, positive=True)
    shift = graph.where(infinite, graph.splat_like(0, x), largest)
    total = graph.reduce_sum(graph.exp(graph.sub(x, shift)), axes=axes, keepdims=keepdims)
    if not keepdims:
        shift = graph.reshape(shift, shape=graph.type_of(total).shape)
    return graph.add(graph.log(total), shift)


_reduction("ReduceSum", graph.reduce_sum, 13)
_reduction("ReduceMean", graph.reduce_mean, 18)
_reduction("ReduceMax", graph.reduce_max, 18)
_reduction("ReduceMin", graph.reduce_min, 18)
_reduction("ReduceProd", graph.reduce_prod, 18)
_reduction("ReduceL1", _l1, 18)
_reduction("ReduceL2", _l2, 18)
_reduction("ReduceSumSquare", _sum_square, 18)
_reduction("ReduceLogSum", _log_sum, 18)
_reduction("ReduceLogSumExp", _log_sum_exp, 18)


def _arg(op_type: str, choose: Callable[..., ir.Value]) -> None:
    @onnx_op(op_type)
    def convert(x, *, axis=0, keepdims=1, select_last_index=0):
        return choose(
            x,
            axis=normalize_axis(axis, graph.type_of(x).rank),
            keepdims=bool(keepdims),
            last_index=bool(select_last_index),
        )


_arg("ArgMax", graph.arg_max)
_arg("ArgMin", graph.arg_min)


def _running(op_type: str, since: int, accumulate: Callable[..., ir.Value]) -> None:
    @onnx_op(op_type, since=since)
    def convert(x, axis, *, node, exclusive=0, reverse=0):
        run = functools.partial(accumulate, exclusive=bool(exclusive), reverse=bool(reverse))
        if is_computed(axis):
            return around_computed_axis(run, x, axis, node)
        position = int(require_constant(axis, "axis").reshape(()))
        return run(x, axis=normalize_axis(position, graph.type_of(x).rank))


_running("CumSum", 11, graph.cumsum)
_running("CumProd", 26, graph.cumprod)
