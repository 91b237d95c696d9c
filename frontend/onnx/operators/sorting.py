"""Distinct elements: Unique."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, at_least
from ....mlir import ir
from ..importing.registry import onnx_op
from .shapes import normalize_axis, positions, require_sizes


@onnx_op("Unique", since=11)
def unique(x, *, node, axis=None, sorted=1):
    """Sort; where a row differs from the one before, another value begins."""
    given = x
    if axis is None:
        given = graph.reshape(x, shape=[graph.element_count(graph.type_of(x).shape)])
        axis = 0
    axis = normalize_axis(axis, graph.type_of(given).rank)
    rows = _rows(given, axis)
    count = graph.type_of(rows).shape[0]
    order = graph.argsort_rows(rows)
    begins = _begins(graph.gather(rows, order, axis=0))
    number = graph.cast(begins, to=np.int64)
    (found,) = require_sizes(graph.reduce_sum(number, axes=[0], keepdims=False), node, "unique")
    groups = graph.sub(
        graph.cumsum(number, axis=0, exclusive=False, reverse=False), graph.size_scalar(1)
    )
    inverse = _put(order, groups, count)
    starts = graph.reshape(graph.non_zero(begins, count=found), shape=[found])
    first = graph.gather(order, starts, axis=0)
    ones = graph.expand(graph.size_scalar(1), shape=[count])
    none = graph.expand(graph.size_scalar(0), shape=[found])
    counts = graph.scatter_elements(none, groups, ones, axis=0, reduction="add")
    if not sorted:
        place = _places(first, found, count)
        first, counts = (_put(place, each, found) for each in (first, counts))
        inverse = graph.gather(place, inverse, axis=0)
    return graph.gather(given, first, axis=axis), first, inverse, counts


def _places(first: ir.Value, found: int | Dim, count: int | Dim) -> ir.Value:
    """The places of `found` different positions below `count` in ascending order: as many as
    positions before them are marked, which takes no second sort."""
    marks = graph.scatter_elements(
        graph.expand(graph.size_scalar(0), shape=[count]),
        first,
        graph.expand(graph.size_scalar(1), shape=[found]),
        axis=0,
        reduction="none",
    )
    before = graph.cumsum(marks, axis=0, exclusive=True, reverse=False)
    return graph.gather(before, first, axis=0)


def _rows(x: ir.Value, axis: int) -> ir.Value:
    """The slices of `x` along `axis`, one in each row of a matrix."""
    if graph.type_of(x).dtype == np.bool_:
        x = graph.cast(x, to=np.uint8)
    shape = graph.type_of(x).shape
    perm = [axis, *(i for i in range(len(shape)) if i != axis)]
    rest = graph.element_count(shape[:axis] + shape[axis + 1 :])
    rows = graph.reshape(graph.transpose(x, perm=perm), shape=[shape[axis], rest])
    if at_least(rest, 1):
        return rows
    column = graph.expand(graph.splat_like(0, rows), shape=[shape[axis], 1])
    return graph.concat([rows, column], axis=1)  # rows of nothing are equal


def _begins(rows: ir.Value) -> ir.Value:
    """A mask of the sorted `rows` that differ from the one before; it includes the first one."""
    type_ = graph.type_of(rows)
    count = type_.shape[0]
    position = positions(count)
    before = graph.max_(graph.sub(position, graph.size_scalar(1)), graph.size_scalar(0))
    others = graph.gather(rows, before, axis=0)
    same = graph.equal(rows, others)
    if graph.is_float(type_.dtype):
        same = graph.or_(same, graph.and_(graph.is_nan(rows), graph.is_nan(others)))
    same = graph.reduce_min(same, axes=[1], keepdims=False)
    return graph.or_(graph.not_(same), graph.equal(position, graph.size_scalar(0)))


def _put(indices: ir.Value, values: ir.Value, count: int | Dim) -> ir.Value:
    """`count` elements of which those at `indices`, all of them, are `values`."""
    target = graph.expand(graph.size_scalar(0), shape=[count])
    return graph.scatter_elements(target, indices, values, axis=0, reduction="none")
