"""Indices that are known to count positions in order, and picks of sizes. All are exact.

Exporters write ``mask[batch, key]`` with ranges for the indices, and compare ranges with 0.
"""

from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import at_least
from ....mlir import ir
from ...infra.query import constant_array, producer
from ...infra.rewrite import rewrite
from .affine import Affine, affine, difference
from .expansion import as_result, unexpanded


@rewrite(graph.GatherOp)
def gather_of_sizes(op: graph.GatherOp) -> Any:
    """``gather(sizes, c)  -->  sizes`` of the picked entries, in the shape of ``c``."""
    inner, picked = producer(op.x, graph.SizesOp), constant_array(op.indices)
    if inner is None or picked is None or picked.size == 0:
        return None
    sizes = inner.attrs["sizes"]
    if picked.min() < -len(sizes) or picked.max() >= len(sizes):
        return None
    chosen = graph.sizes(sizes=[sizes[i] for i in picked.reshape(-1).tolist()])
    return graph.reshape(chosen, shape=picked.shape)


@rewrite(graph.GatherOp)
def gather_in_order(op: graph.GatherOp) -> Any:
    """``gather(x, [0, 1, 2, ...])`` of all elements of the axis  -->  ``reshape(x)``."""
    indices = affine(op.indices)
    if indices is None or not indices.numbers([graph.type_of(op.x).shape[op.attrs["axis"]]]):
        return None
    return graph.reshape(op.x, shape=graph.type_of(op.operation.results[0]).shape)


@rewrite(graph.GatherOp)
def gather_of_run(op: graph.GatherOp) -> Any:
    """``gather(x, [i, i + 1, ...])  -->  reshape(slice(x))`` if constant indices are a run."""
    indices, axis = constant_array(op.indices), op.attrs["axis"]
    shape = list(graph.type_of(op.x).shape)
    extent = shape[axis]
    if indices is None or indices.size == 0 or not isinstance(extent, int):
        return None
    flat = np.where(indices < 0, indices + extent, indices).reshape(-1)
    if flat[0] < 0 or flat[-1] >= extent or np.any(np.diff(flat) != 1):
        return None
    starts = [int(flat[0]) if i == axis else 0 for i in range(len(shape))]
    shape[axis] = flat.size
    part = graph.slice_(op.x, starts=starts, sizes=shape, steps=[1] * len(shape))
    return graph.reshape(part, shape=graph.type_of(op.operation.results[0]).shape)


@rewrite(graph.GatherNdOp)
def gather_nd_in_order(op: graph.GatherNdOp) -> Any:
    """``gather_nd(x, concat(i, j))``, with ``i`` and ``j`` the positions themselves,  -->
    ``reshape(x)``."""
    columns = producer(op.indices, graph.ConcatOp)
    indices_type = graph.type_of(op.indices)
    if (
        columns is None
        or columns.attrs["axis"] != indices_type.rank - 1
        or op.attrs["batch_dims"] != 0
    ):
        return None
    parts = columns.operand_groups["xs"]
    if len(parts) != indices_type.shape[-1]:
        return None
    extents = graph.type_of(op.x).shape[: len(parts)]
    forms = [affine(part) for part in parts]
    used = [_own_axis(form, size) for form, size in zip(forms, extents, strict=True)]
    known = [axis for axis in used if axis is not None]
    if known != used or known != sorted(set(known)):
        return None
    if any(size != 1 for axis, size in enumerate(indices_type.shape[:-1]) if axis not in used):
        return None
    return graph.reshape(op.x, shape=graph.type_of(op.operation.results[0]).shape)


def _own_axis(form: Affine | None, size: Any) -> int | None:
    """The only axis along which `form` varies, if it counts from 0 to `size` there; else None."""
    if form is None or form.offset != 0:
        return None
    axes = [axis for axis, stride in enumerate(form.strides) if stride != 0]
    if len(axes) != 1 or form.strides[axes[0]] != 1 or form.shape[axes[0]] != size:
        return None
    return axes[0]


@rewrite(graph.ScatterElementsOp)
def scatter_of_rows(op: graph.ScatterElementsOp) -> Any:
    """``scatter_elements(x, expand(i), updates)`` of whole rows  -->
    ``scatter_nd(x, reshape(i), updates)``. PyTorch's ``index_add`` is such a scatter."""
    x, indices = graph.type_of(op.x), graph.type_of(op.indices)
    if op.axis != 0 or x.rank < 2 or x.shape[1:] != indices.shape[1:]:
        return None
    rows = _one_of_each_row(op.indices, indices)
    if rows is None:
        return None
    positions = graph.reshape(rows, shape=[indices.shape[0], 1])
    return graph.scatter_nd(op.x, positions, op.updates, reduction=op.reduction)


def _one_of_each_row(indices: ir.Value, type_: graph.TensorType) -> ir.Value | None:
    """The first element of each row of `indices`, of `type_`, if all of a row are known to be
    equal."""
    array = constant_array(indices)
    if array is not None:
        rows = array.reshape(len(array), -1)[:, :1] if array.size else array
        is_equal = rows.size > 0 and bool((array.reshape(len(array), -1) == rows).all())
        return graph.constant(value=np.ascontiguousarray(rows)) if is_equal else None
    inner = graph.type_of(unexpanded(indices)).shape
    is_column = inner == (type_.shape[0], *[1] * (type_.rank - 1))
    return unexpanded(indices) if is_column else None


@rewrite(graph.ScatterElementsOp)
def scatter_of_slice(op: graph.ScatterElementsOp) -> Any:
    """``scatter_elements(x, expand(range), updates)  -->  tensor_scatter(x, updates)`` where the
    range is along the axis, and updates are as long as `x` along the others. Paddle assigns to
    slices so, in loops over the steps of a decoder."""
    x, indices = graph.type_of(op.x), graph.type_of(op.indices)
    form, axis = affine(op.indices), op.axis
    if op.reduction != "none" or axis == 0 or form is None or indices.shape[axis] == 0:
        return None
    steps = [0] * x.rank
    steps[axis] = 0 if indices.shape[axis] == 1 else 1
    if list(form.strides) != steps or not at_least(form.offset, 0):
        return None
    if indices.shape[:axis] + indices.shape[axis + 1 :] != x.shape[:axis] + x.shape[axis + 1 :]:
        return None
    begin = graph.sizes(sizes=[form.offset])
    return graph.tensor_scatter(op.x, op.updates, begin, None, axis=axis, used=0)


@rewrite(graph.RangeOp)
def range_of_one(op: graph.RangeOp) -> Any:
    """A range of one number  -->  ``reshape(start)``."""
    return graph.reshape(op.start, shape=[1]) if op.attrs["size"] == 1 else None


@rewrite(graph.GreaterOrEqualOp, graph.GreaterOp, graph.LessOrEqualOp, graph.LessOp)
def comparison_decided(op: graph.BinaryOp) -> Any:
    """``range >= 0  -->  true``, and other comparisons that the least difference decides."""
    rises = isinstance(op, graph.GreaterOrEqualOp | graph.GreaterOp)
    form = difference(op.a, op.b) if rises else difference(op.b, op.a)
    lowest = None if form is None else form.minimum
    strict = isinstance(op, graph.GreaterOp | graph.LessOp)
    if lowest is None or lowest < int(strict):
        return None
    result = graph.type_of(op.operation.results[0])
    return graph.expand(graph.constant(value=np.array(True)), shape=result.shape)


@rewrite(graph.AndOp, graph.OrOp)
def logical_constant(op: graph.BinaryOp) -> Any:
    """``true and x  -->  x``, ``false or x  -->  x``; expanded if they broadcast."""
    neutral = isinstance(op, graph.AndOp)
    for x, other in ((op.a, op.b), (op.b, op.a)):
        if _is_all(other, neutral):
            return as_result(op, x)
    return None


def _is_all(value: ir.Value, wanted: bool) -> bool:
    array = constant_array(unexpanded(value))
    return array is not None and array.size > 0 and bool((array == wanted).all())


REWRITES = (
    gather_of_sizes,
    gather_in_order,
    gather_of_run,
    gather_nd_in_order,
    scatter_of_rows,
    scatter_of_slice,
    range_of_one,
    comparison_decided,
    logical_constant,
)
