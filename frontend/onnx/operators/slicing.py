"""Slices."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.assumptions import using_assumptions
from ....dialects.symbolic import Dim, at_least, ceildiv
from ....dialects.symbolic import maximum as max_size
from ....dialects.symbolic import minimum as min_size
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .axes import is_computed, listed, shape_of, spread
from .shapes import normalize_axis, of_length, require_constant, require_sizes


@onnx_op("Slice")
def slice_1(x, *, starts, ends, axes=None):
    if len(starts) != len(ends) or (axes is not None and len(axes) != len(starts)):
        raise graph.TypeRuleError("starts, ends and axes differ in length")
    axes = list(range(len(starts))) if axes is None else axes
    return _slice(x, starts, ends, axes, [1] * len(starts))


@onnx_op("Slice", since=10)
def slice_(x, starts, ends, axes=None, steps=None, *, node):
    shape = graph.type_of(x).shape
    lists = starts, ends, axes, steps
    count = _common_length([given for given in lists if given is not None])
    starts, ends = of_length(starts, count), of_length(ends, count)
    axes, steps = (None if given is None else of_length(given, count) for given in (axes, steps))
    if axes is not None and is_computed(axes):
        which, table = list(range(len(shape))), listed(axes, len(shape))
        starts = spread(starts, table, graph.size_scalar(0))
        ends = spread(ends, table, shape_of(x))
        steps = None if steps is None else spread(steps, table, graph.size_scalar(1))
    else:
        given = range(count) if axes is None else require_constant(axes, "axes").tolist()
        which = [normalize_axis(axis, len(shape)) for axis in given]
    if steps is not None and is_computed(steps):
        return _dynamic_slice(x, starts, ends, steps, which, node)
    each = [1] * len(which) if steps is None else require_constant(steps, "steps").tolist()
    extents = [shape[axis] for axis in which]
    first = _bounds(starts, extents, each, 0, node)
    last = _bounds(ends, extents, each, 1, node)
    return _slice(x, first, last, which, each)


def _common_length(lists: Sequence[ir.Value]) -> int:
    """The length that one of `lists`, at least, is known to have. UnsupportedError if none is."""
    shapes = [graph.type_of(given).shape for given in lists]
    known = {shape[0] for shape in shapes if len(shape) == 1 and isinstance(shape[0], int)}
    if len(known) > 1 or any(len(shape) != 1 for shape in shapes):
        raise graph.TypeRuleError("starts, ends, axes and steps differ in length")
    if not known:
        raise UnsupportedError("starts of unknown length")
    return known.pop()


def _dynamic_slice(
    x: ir.Value,
    starts: ir.Value,
    ends: ir.Value,
    steps: ir.Value,
    axes: Sequence[int],
    node: Node,
) -> ir.Value:
    """A slice by steps that are computed: which end it begins at is not known."""
    rank, sizes = graph.type_of(x).rank, shape_of(x)
    table = graph.constant(value=np.equal.outer(np.asarray(axes), np.arange(rank)))
    starts = spread(starts, table, graph.size_scalar(0))
    ends = spread(ends, table, sizes)
    steps = spread(steps, table, graph.size_scalar(1))
    some = graph.reduce_min(
        graph.not_(graph.equal(steps, graph.size_scalar(0))), axes=[0], keepdims=False
    )
    graph.require(some, message="a step of 0")
    far = graph.size_scalar(_LARGE)  # farther than any axis is long
    steps = graph.max_(graph.min_(steps, far), graph.neg(far))
    backward = graph.cast(graph.less(steps, graph.size_scalar(0)), to=np.int64)
    last = graph.sub(sizes, backward)
    starts = graph.min_(graph.max_(_counted_from_front(starts, sizes), graph.size_scalar(0)), last)
    ends = graph.max_(graph.min_(_counted_from_front(ends, sizes), last), graph.neg(backward))
    span = graph.sub(graph.add(graph.sub(ends, starts), steps), graph.sign(steps))
    counts = graph.max_(graph.div(span, steps), graph.size_scalar(0))
    return graph.dynamic_slice(x, starts, steps, sizes=require_sizes(counts, node, "size"))


def _counted_from_front(bounds: ir.Value, sizes: ir.Value) -> ir.Value:
    negative = graph.less(bounds, graph.size_scalar(0))
    return graph.where(negative, graph.add(bounds, sizes), bounds)


def _bounds(
    value: ir.Value,
    extents: Sequence[int | Dim],
    steps: Sequence[int],
    below: int,
    node: Node,
) -> list[int | Dim]:
    """Starts, or ends, of slices; where their signs are not known they are brought into range.

    The range of a backward slice begins `below` the axis: there its last element may lie before.
    """
    known = graph.known_sizes(value)
    if known is not None and all(isinstance(p, int) or _has_sign(p) for p in known):
        return list(known)
    value = graph.cast(value, to=np.int64)
    sizes = graph.sizes(sizes=extents)
    value = _counted_from_front(value, sizes)
    backward = [int(step < 0) for step in steps]
    lowest = graph.constant(value=np.array([-below * b for b in backward], np.int64))
    highest = graph.sub(sizes, graph.constant(value=np.array(backward, np.int64)))
    value = graph.max_(graph.min_(value, highest), lowest)
    raised = graph.sub(value, lowest)  # names stand for what is not negative
    named = require_sizes(raised, node, "ends" if below else "starts")
    return [size - below * b for size, b in zip(named, backward, strict=True)]


def _has_sign(size: Dim) -> bool:
    return at_least(size, 0) or at_least(-size, 1)


def _slice(
    x: ir.Value,
    starts: Sequence[int | Dim],
    ends: Sequence[int | Dim],
    axes: Sequence[int],
    steps: Sequence[int],
) -> ir.Value:
    shape = graph.type_of(x).shape
    first: list[int | Dim] = [0] * len(shape)
    sizes = list(shape)
    each = [1] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = normalize_axis(axis, len(shape))
        end = _to_end(shape[axis], end, step)
        with using_assumptions():
            first[axis], sizes[axis] = slice_bounds(shape[axis], start, end, step)
        each[axis] = 1 if sizes[axis] == 1 else step
    return graph.slice_(x, starts=first, sizes=sizes, steps=each)


def _to_end(extent: int | Dim, end: int | Dim, step: int) -> int | Dim:
    """`end`, or `_LARGE` where it is one that exporters write for all that follows; that `extent`
    is not longer is checked then."""
    if isinstance(extent, int) or not isinstance(end, int) or not _FAR <= end < _LARGE or step < 0:
        return end
    with using_assumptions():
        is_shorter = at_least(end, extent)
    if not is_shorter:
        fits = graph.less_or_equal(graph.size_scalar(extent), graph.size_scalar(end))
        graph.require(fits, message=f"an axis is longer than {end}, the end of a slice")
    return _LARGE


def slice_bounds(
    extent: int | Dim, start: int | Dim, end: int | Dim, step: int
) -> tuple[int | Dim, int | Dim]:
    """The first index and the number of elements of ``[start:end:step]``, as numpy clamps them."""
    if step == 0:
        raise graph.TypeRuleError("a step of 0")
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start = _clamp(_from_front(start, extent), low if step > 0 else 0, high)
    end = _clamp(_from_front(end, extent), low, high if step < 0 else extent)
    span = end - start if step > 0 else start - end
    return start, _count(span, abs(step))


def _count(span: int | Dim, step: int) -> int | Dim:
    """The number of elements, each `step` apart, of a slice over `span` positions."""
    if step > 1 and at_least(span, 1) and at_least(step, span):
        return 1
    return max_size(ceildiv(span, step), 0)


def _from_front(index: int | Dim, extent: int | Dim) -> int | Dim:
    """`index` counted from the front; large ones stay, -2**63 (none given) becomes very small."""
    if isinstance(index, int):
        if index >= 0 or index <= -(2**31):
            return index
        return index + extent
    if at_least(index, 0):
        return index
    if at_least(-index, 1):
        return index + extent
    return index  # -1 for the end of a backward slice, brought into range before


_LARGE = 2**31 - 1

_FAR = 10**9
"""The end that tf2onnx writes for all that follows."""


def _clamp(index: int | Dim, low: int, high: int | Dim) -> int | Dim:
    if isinstance(index, int) and index >= _LARGE:
        return high
    return min_size(max_size(index, low), high)
