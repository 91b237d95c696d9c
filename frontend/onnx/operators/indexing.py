"""Operators that read elements from, or write them to, computed positions."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, at_least, ceildiv, minimum
from ....dialects.symbolic import maximum as max_size
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from ..importing.tensors import dtype_of
from .shapes import normalize_axis, positions, require_sizes


@onnx_op("Gather")
def gather(x, indices, *, axis=0):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    _require_in_range(indices, graph.type_of(x).shape[axis])
    return graph.gather(x, indices, axis=axis)


def _require_in_range(indices: ir.Value, extent: int | Dim) -> None:
    """Refuse constant indices outside an axis of known size."""
    owner = graph.graph_op(indices.owner)
    if not isinstance(owner, graph.ConstantOp) or not isinstance(extent, int):
        return
    array = owner.attrs["value"]
    if array.size and not (-extent <= int(array.min()) and int(array.max()) < extent):
        raise graph.TypeRuleError(
            f"indices {array.min()}..{array.max()} for an axis of size {extent}"
        )


@onnx_op("GatherElements", since=11)
def gather_elements(x, indices, *, axis=0):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    _require_in_range(indices, graph.type_of(x).shape[axis])
    return graph.gather_elements(x, indices, axis=axis)


@onnx_op("GatherND", since=11)
def gather_nd(x, indices, *, batch_dims=0):
    _require_known_depth(indices)
    return graph.gather_nd(x, indices, batch_dims=batch_dims)


@onnx_op("Scatter", since=9)
@onnx_op("ScatterElements", since=11)
def scatter_elements(x, indices, updates, *, axis=0, reduction="none"):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    _require_in_range(indices, graph.type_of(x).shape[axis])
    scatter = partial(graph.scatter_elements, axis=axis)
    return _reducing(scatter, x, indices, updates, reduction)


@onnx_op("ScatterND", since=11)
def scatter_nd(x, indices, updates, *, reduction="none"):
    _require_known_depth(indices)
    return _reducing(graph.scatter_nd, x, indices, updates, reduction)


_OF_BOOLEANS = {"add": "max", "mul": "min"}


def _reducing(
    scatter: Callable[..., ir.Value],
    x: ir.Value,
    indices: ir.Value,
    updates: ir.Value,
    reduction: str,
) -> ir.Value:
    """Scatter by `reduction`; of booleans the sum is "or" and the product "and"."""
    if reduction == "none" or graph.type_of(x).dtype != np.bool_:
        return scatter(x, indices, updates, reduction=reduction)
    if graph.type_of(updates).dtype == np.bool_:
        x, updates = (graph.cast(each, to=np.uint8) for each in (x, updates))
    reduction = _OF_BOOLEANS.get(reduction, reduction)
    return graph.cast(scatter(x, indices, updates, reduction=reduction), to=np.bool_)


def _require_known_depth(indices: ir.Value) -> None:
    type_ = graph.type_of(indices)
    if type_.rank and not isinstance(type_.shape[-1], int):
        raise UnsupportedError("points of an unknown number of indices")


@onnx_op("Range", since=11)
def range_(start, limit, delta, *, node, stash_type=1):
    del stash_type  # `graph.range` computes narrow floats in f32
    start, limit, delta = (graph.reshape(x, shape=[]) for x in (start, limit, delta))
    size = _known_count(*map(_known_number, (start, limit, delta)))
    if size is None:
        size = _computed_count(start, limit, delta, node)
    return graph.range_(start, delta, size=size)


def _known_number(value: ir.Value) -> int | float | Dim | None:
    """The value of a scalar where it is known, looking through conversions of sizes to floats."""
    owner = graph.graph_op(value.owner)
    while isinstance(owner, graph.ReshapeOp) or (
        isinstance(owner, graph.CastOp) and graph.is_integer(graph.type_of(owner.x).dtype)
    ):
        value = owner.x
        owner = graph.graph_op(value.owner)
    if isinstance(owner, graph.ConstantOp) and owner.attrs["value"].size == 1:
        return owner.attrs["value"].item()
    known = graph.known_sizes(value)
    return None if known is None else known[0]


def _known_count(
    start: int | float | Dim | None,
    limit: int | float | Dim | None,
    delta: int | float | Dim | None,
) -> int | Dim | None:
    """The number of steps of `delta` from `start` to `limit`, or None when it is not known."""
    if start is None or limit is None or delta is None:
        return None
    if isinstance(start, Dim) or isinstance(limit, Dim) or isinstance(delta, Dim):
        return _symbolic_count(start, limit, delta)
    if delta == 0:
        raise graph.TypeRuleError("a delta of 0")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return max(-((start - limit) // delta), 0)
    return max(int(np.ceil((limit - start) / delta)), 0)


def _symbolic_count(
    start: int | float | Dim, limit: int | float | Dim, delta: int | float | Dim
) -> int | Dim | None:
    start, limit, delta = map(_whole, (start, limit, delta))
    if isinstance(start, float) or isinstance(limit, float) or isinstance(delta, float):
        return None
    if isinstance(delta, int) and delta < 0:
        return max_size(ceildiv(start - limit, -delta), 0)
    return max_size(ceildiv(limit - start, delta), 0) if at_least(delta, 1) else None


def _whole(x: int | float | Dim) -> int | float | Dim:
    return int(x) if isinstance(x, float) and x.is_integer() else x


def _computed_count(start: ir.Value, limit: ir.Value, delta: ir.Value, node: Node) -> int | Dim:
    some = graph.not_(graph.equal(delta, graph.splat_like(0, delta)))
    graph.require(some, message="a delta of 0")
    span, step = (graph.cast(x, to=np.float64) for x in (graph.sub(limit, start), delta))
    steps = graph.cast(graph.ceil(graph.div(span, step)), to=np.int64)
    count = graph.max_(steps, graph.splat_like(0, steps))
    (size,) = require_sizes(count, node, "count")
    return size


@onnx_op("OneHot", since=9)
def one_hot_9(indices, depth, values, *, node, axis=-1):
    size = _scalar_size(depth, node, "depth")
    wide = graph.cast(indices, to=np.int64)
    given = graph.type_of(indices).shape
    axis = normalize_axis(axis, len(given) + 1)
    wide = graph.reshape(wide, shape=[*given[:axis], 1, *given[axis:]])
    along = [size if i == axis else 1 for i in range(len(given) + 1)]
    hot = graph.equal(wide, graph.reshape(positions(size), shape=along))
    off, on = (_element(values, i) for i in range(2))
    return graph.where(hot, on, off)


@onnx_op("OneHot", since=11)
def one_hot(indices, depth, values, *, node, axis=-1):
    """From opset 11 on, negative indices count from the end."""
    size = _scalar_size(depth, node, "depth")
    wide = graph.cast(indices, to=np.int64)
    from_end = graph.add(wide, graph.size_scalar(size))
    wide = graph.where(graph.less(wide, graph.splat_like(0, wide)), from_end, wide)
    return one_hot_9(wide, graph.sizes(sizes=[size]), values, node=node, axis=axis)


def _scalar_size(value: ir.Value, node: Node, hint: str) -> int | Dim:
    """The one element of `value`, which ONNX allows to be of any numeric type, as a size."""
    if not graph.is_integer(graph.type_of(value).dtype):
        value = graph.cast(value, to=np.int64)
    (size,) = require_sizes(value, node, hint)
    return size


def _element(x: ir.Value, index: int) -> ir.Value:
    """Element `index` of a tensor of rank 1, as a scalar."""
    return graph.gather(x, graph.constant(value=np.array(index, np.int64)), axis=0)


@onnx_op("TopK")
def top_k_1(x, *, k, axis=-1):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    return graph.top_k(x, k=k, axis=axis, largest=True, sorted=True)


@onnx_op("TopK", since=10)
def top_k(x, k, *, node, axis=-1, largest=1, sorted=1):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    size = _scalar_size(k, node, "k")
    return graph.top_k(x, k=size, axis=axis, largest=bool(largest), sorted=bool(sorted))


@onnx_op("Trilu", since=14)
def trilu(x, k=None, *, upper=1):
    known = (0,) if k is None else graph.known_sizes(k)
    if known is not None:
        return graph.trilu(x, k=known[0], upper=bool(upper))
    assert k is not None
    rows, columns = graph.type_of(x).shape[-2:]
    distance = graph.sub(positions(columns), graph.reshape(positions(rows), shape=[rows, 1]))
    compare = graph.greater_or_equal if upper else graph.less_or_equal
    kept = compare(distance, graph.reshape(k, shape=[]))
    return graph.where(kept, x, graph.splat_like(0, x))


@onnx_op("EyeLike", since=9)
def eye_like(x, *, dtype=None, k=0):
    type_ = graph.type_of(x)
    if type_.rank != 2:
        raise graph.TypeRuleError(f"an identity matrix like {type_}, which is none")
    target = graph.type_of(x).dtype if dtype is None else dtype_of(dtype, "attribute 'dtype'")
    one = graph.constant(value=np.ones((), np.uint8 if target == np.bool_ else target))
    return graph.cast(graph.eye(one, sizes=type_.shape, k=k), to=target)


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(x, lengths, *, batch_axis=1, time_axis=0):
    """Gather, per sequence, rows that run backwards up to its length."""
    type_ = graph.type_of(x)
    batch_axis, time_axis = (normalize_axis(axis, type_.rank) for axis in (batch_axis, time_axis))
    if {batch_axis, time_axis} != {0, 1}:
        raise graph.TypeRuleError(f"sequences along {time_axis}, batches along {batch_axis}")
    batch, length = type_.shape[batch_axis], type_.shape[time_axis]

    def along(values: ir.Value, axis: int) -> ir.Value:
        (size,) = graph.type_of(values).shape
        return graph.reshape(values, shape=[size, 1] if axis == 0 else [1, size])

    at = along(positions(length), time_axis)
    ends = along(graph.cast(lengths, to=np.int64), batch_axis)
    mirrored = graph.sub(graph.sub(ends, graph.size_scalar(1)), at)
    sources = graph.where(graph.less(at, ends), mirrored, at)
    numbers = along(positions(batch), batch_axis)
    outer, inner = (sources, numbers) if time_axis == 0 else (numbers, sources)
    rows = graph.add(graph.mul(outer, graph.size_scalar(type_.shape[1])), inner)
    flat = graph.reshape(x, shape=[batch * length, *type_.shape[2:]])
    return graph.gather(flat, rows, axis=0)


@onnx_op("NonZero", since=9)
def non_zero(x, *, node):
    """Count first: the result's size is named by the count."""
    if graph.type_of(x).dtype != np.bool_:
        x = graph.not_(graph.equal(x, graph.splat_like(0, x)))
    return _true_positions(x, node)


def _true_positions(mask: ir.Value, node: Node) -> ir.Value:
    """The positions [rank, count] at which `mask` is true. Those of one mask are found once, and
    have one name for their count: PyTorch asks again for each tensor that it indexes."""
    for use in mask.uses:
        found = graph.graph_op(use.owner)
        if (
            isinstance(found, graph.NonZeroOp)
            and found.operation.block == ir.InsertionPoint.current.block
        ):
            return found.result
    return graph.non_zero(mask, count=_count_true(mask, node))


def _count_true(mask: ir.Value, node: Node) -> int | Dim:
    every = list(range(graph.type_of(mask).rank))
    ones = graph.cast(mask, to=np.int64)
    (count,) = require_sizes(graph.reduce_sum(ones, axes=every, keepdims=False), node, "count")
    return count


@onnx_op("Compress", since=9)
def compress(x, condition, *, node, axis=None):
    if axis is None:
        x = graph.reshape(x, shape=[graph.element_count(graph.type_of(x).shape)])
    axis = normalize_axis(axis or 0, graph.type_of(x).rank)
    condition = _first(condition, graph.type_of(x).shape[axis])
    found = _true_positions(condition, node)
    kept = graph.reshape(found, shape=[graph.type_of(found).shape[1]])
    return graph.gather(x, kept, axis=axis)


def _first(condition: ir.Value, size: int | Dim) -> ir.Value:
    """At most `size` elements of `condition`: ONNX Runtime ignores those beyond the axis, of which
    the specification says nothing."""
    (length,) = graph.type_of(condition).shape
    kept = minimum(length, size)
    if kept == length:
        return condition
    return graph.slice_(condition, starts=[0], sizes=[kept], steps=[1])


@onnx_op("TensorScatter", since=24)
def tensor_scatter(cache, update, write_indices=None, *, mode="linear", axis=-2):
    """Rows, one for each position before `axis`: each of `update` goes behind what is written."""
    shape, given = graph.type_of(cache).shape, graph.type_of(update).shape
    axis = normalize_axis(axis, len(shape))
    if axis == 0 or len(given) != len(shape) or mode not in ("linear", "circular"):
        raise graph.TypeRuleError(f"writes {given} to {shape} along axis {axis}, mode '{mode}'")
    room, length = shape[axis], given[axis]
    outer, batch = graph.element_count(shape[:axis]), shape[0]
    first = (
        graph.expand(graph.size_scalar(0), shape=[batch])
        if write_indices is None
        else write_indices
    )
    first = graph.reshape(graph.cast(first, to=np.int64), shape=[batch, 1])
    if mode == "linear":
        _require_room(graph.add(first, positions(length)), room)
        begin = graph.reshape(first, shape=[batch])
        return graph.tensor_scatter(cache, update, begin, None, axis=axis, used=0)
    first = graph.expand(first, shape=[batch, graph.element_count(shape[1:axis])])
    targets = graph.add(graph.reshape(first, shape=[outer, 1]), positions(length))
    targets = graph.mod(targets, graph.size_scalar(room))
    rows = graph.expand(graph.reshape(positions(outer), shape=[outer, 1]), shape=[outer, length])
    at = [graph.reshape(each, shape=[outer, length, 1]) for each in (rows, targets)]
    rest = shape[axis + 1 :]
    flat = graph.reshape(cache, shape=[outer, room, *rest])
    update = graph.reshape(update, shape=[outer, length, *rest])
    flat = graph.scatter_nd(flat, graph.concat(at, axis=2), update, reduction="none")
    return graph.reshape(flat, shape=shape)


def _require_room(indices: ir.Value, room: int | Dim) -> None:
    """End the run with an error unless all of `indices`, in a matrix, are below `room`."""
    low = graph.greater_or_equal(indices, graph.size_scalar(0))
    inside = graph.and_(low, graph.less(indices, graph.size_scalar(room)))
    inside = graph.reduce_min(inside, axes=[0, 1], keepdims=False)
    graph.require(inside, message=f"writes outside of an axis of {room}")


@onnx_op("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(x, indices):
    """Elements of the last axis; a tensor of rank 1 is one row."""
    type_ = graph.type_of(x)
    if type_.rank < 2:
        x = graph.reshape(x, shape=[1, graph.element_count(type_.shape)])
    count = graph.element_count(graph.type_of(indices).shape)
    return gather(x, graph.reshape(indices, shape=[count]), axis=-1)
