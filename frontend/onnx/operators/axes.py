"""Axes that are known only when the model runs.

How many there are is the length of their tensor, so ranks are known; sizes are computed in the
graph and get names.
"""

from collections.abc import Callable

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError
from .shapes import require_sizes

_I64 = np.dtype(np.int64)


def is_computed(value: ir.Value) -> bool:
    """Return whether an element of `value` is only known at run time."""
    if isinstance(graph.graph_op(value.owner), graph.ConstantOp):
        return False
    known = graph.known_sizes(value)
    return known is None or any(isinstance(entry, Dim) for entry in known)


def axis_count(axes: ir.Value) -> int:
    """The number of axes in `axes`. UnsupportedError if it, and so a rank, is not known."""
    count = graph.type_of(axes).shape[0]
    if not isinstance(count, int):
        raise UnsupportedError("axes of unknown length (the rank would be unknown)")
    return count


def listed(axes: ir.Value, rank: int) -> ir.Value:
    """A table of booleans [i, k]: entry ``i`` of `axes` names axis ``k`` of `rank`.

    An entry outside of the rank, and an axis that is named twice, end the run with an error.
    """
    axes = graph.cast(axes, to=_I64)
    axes = graph.reshape(axes, shape=[graph.element_count(graph.type_of(axes).shape), 1])
    axes = graph.where(
        graph.less(axes, graph.size_scalar(0)), graph.add(axes, graph.size_scalar(rank)), axes
    )
    low = graph.greater_or_equal(axes, graph.size_scalar(0))
    inside = graph.and_(low, graph.less(axes, graph.size_scalar(rank)))
    inside = graph.reduce_min(inside, axes=[0, 1], keepdims=False)
    graph.require(inside, message=f"an axis is outside a tensor of rank {rank}")
    table = graph.equal(axes, _numbers(rank))
    once = graph.less_or_equal(_mentions(table), graph.size_scalar(1))
    once = graph.reduce_min(once, axes=[0], keepdims=False)
    graph.require(once, message="an axis is named twice")
    return table


def marked(table: ir.Value) -> ir.Value:
    """A mask of the axes in `table`, the result of `listed`: booleans [k]."""
    return graph.greater(_mentions(table), graph.size_scalar(0))


def _mentions(table: ir.Value) -> ir.Value:
    """The number of times that each axis is listed."""
    return graph.reduce_sum(graph.cast(table, to=_I64), axes=[0], keepdims=False)


def spread(values: ir.Value, table: ir.Value, otherwise: ir.Value) -> ir.Value:
    """One entry per axis: that of `values` for the axes that `table` lists, else `otherwise`."""
    values = graph.cast(values, to=_I64)
    values = graph.reshape(values, shape=[graph.type_of(values).shape[0], 1])
    own = graph.where(table, values, graph.size_scalar(0))
    own = graph.reduce_sum(own, axes=[0], keepdims=False)
    return graph.where(marked(table), own, otherwise)


def shape_of(x: ir.Value) -> ir.Value:
    """The shape of `x` as data."""
    return graph.sizes(sizes=graph.type_of(x).shape)


def without(x: ir.Value, marks: ir.Value, count: int, node: Node) -> ir.Value:
    """`x` without the `count` axes that `marks` (booleans) says, each of one element."""
    return graph.reshape(x, shape=require_sizes(_kept_sizes(x, marks, count), node, "size"))


def _kept_sizes(x: ir.Value, marks: ir.Value, count: int) -> ir.Value:
    """The sizes of the axes of `x` that are not among the `count` that `marks` says."""
    kept = graph.not_(marks)
    wanted = graph.constant(value=np.arange(graph.type_of(x).rank - count).reshape(-1, 1))
    here = graph.and_(kept, graph.equal(_prefix_count(kept), wanted))
    sizes = graph.where(here, shape_of(x), graph.size_scalar(0))
    return graph.reduce_sum(sizes, axes=[1], keepdims=False)


def with_unit_axes(x: ir.Value, axes: ir.Value, node: Node) -> ir.Value:
    """`x` with an axis of one element at each position of the result that `axes` lists."""
    given = graph.type_of(x).rank
    rank = given + axis_count(axes)
    marks = marked(listed(axes, rank))
    if not given:
        return graph.reshape(x, shape=[1] * rank)
    source = graph.min_(_prefix_count(graph.not_(marks)), graph.size_scalar(given - 1))
    sizes = graph.gather(shape_of(x), source, axis=0)
    sizes = graph.where(marks, graph.size_scalar(1), sizes)
    return graph.reshape(x, shape=require_sizes(sizes, node, "size"))


def _prefix_count(marks: ir.Value) -> ir.Value:
    """The exclusive prefix count of true `marks`."""
    return graph.cumsum(graph.cast(marks, to=_I64), axis=0, exclusive=True, reverse=False)


def _numbers(count: int) -> ir.Value:
    return graph.constant(value=np.arange(count))


def reduce_computed_axes(
    reduce: Callable[..., ir.Value],
    x: ir.Value,
    axes: ir.Value,
    node: Node,
    *,
    keepdims: bool,
    noop_with_empty_axes: bool,
) -> ir.Value:
    """Reduce `x` over axes that are computed.

    Each axis of ``d`` elements is taken apart into two of which one has 1: ``[1, d]`` if it is
    reduced, ``[d, 1]`` if not. Then the second ones are reduced, at positions known by now.
    """
    type_ = graph.type_of(x)
    length = graph.type_of(axes).shape[0]
    table = listed(axes, type_.rank)
    marks = marked(table)
    if not isinstance(length, int) and not noop_with_empty_axes:
        marks = graph.or_(marks, graph.equal(graph.size_scalar(length), graph.size_scalar(0)))
    outer = graph.where(marks, graph.size_scalar(1), shape_of(x))
    if length == 1:  # faster: the loops have fewer axes
        reduced = reduce(_in_three(x, table, node), axes=[1], keepdims=False)
        sizes = outer if keepdims else _kept_sizes(x, marks, 1)
        return graph.reshape(reduced, shape=require_sizes(sizes, node, "size"))
    inner = graph.where(marks, shape_of(x), graph.size_scalar(1))
    pairs = zip(
        require_sizes(outer, node, "kept"), require_sizes(inner, node, "reduced"), strict=True
    )
    x = graph.reshape(x, shape=[size for pair in pairs for size in pair])
    x = reduce(x, axes=list(range(1, 2 * type_.rank, 2)), keepdims=False)
    return x if keepdims else without(x, marks, axis_count(axes), node)


def around_computed_axis(
    function: Callable[..., ir.Value], x: ir.Value, axis: ir.Value, node: Node
) -> ir.Value:
    """``function(x, axis)``, of the shape of `x`, for an `axis` that is computed."""
    type_ = graph.type_of(x)
    table = listed(graph.reshape(axis, shape=[1]), type_.rank)
    if type_.rank == 1:
        return function(x, axis=0)
    return graph.reshape(function(_in_three(x, table, node), axis=1), shape=type_.shape)


def _in_three(x: ir.Value, table: ir.Value, node: Node) -> ir.Value:
    """`x` with one axis before and one behind the axis that `table` lists."""
    numbers = _numbers(graph.type_of(x).rank)
    own = graph.where(table, numbers, graph.size_scalar(0))
    own = graph.reduce_sum(own, axes=[0, 1], keepdims=False)
    side = graph.sign(graph.sub(numbers, own))
    parts = graph.equal(side, graph.constant(value=np.array([[-1], [0], [1]])))
    sizes = graph.where(parts, shape_of(x), graph.size_scalar(1))
    sizes = graph.reduce_prod(sizes, axes=[1], keepdims=False)
    return graph.reshape(x, shape=require_sizes(sizes, node, "size"))
