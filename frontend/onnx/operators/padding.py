"""Padding, by a value or by the tensor's own elements."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, at_least
from ....dialects.symbolic import maximum as max_size
from ....dialects.symbolic import minimum as min_size
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .axes import axis_count, is_computed, listed, shape_of, spread
from .shapes import (
    normalize_axis,
    of_length,
    positions,
    require_constant,
    require_sizes,
)


@onnx_op("Pad", since=2)
def pad_2(x, *, pads, mode="constant", value=0.0):
    return _pad(x, pads, graph.splat_like(value, x), mode)


@onnx_op("Pad", since=11)
def pad(x, pads, constant_value=None, axes=None, *, node, mode="constant"):
    rank = graph.type_of(x).rank
    if axes is not None:
        pads = _of_all_axes(pads, axes, rank)
    value = graph.splat_like(0, x) if constant_value is None else constant_value
    value = graph.reshape(value, shape=[])
    amounts = graph.known_sizes(pads)
    if amounts is None or not all(isinstance(p, int) or at_least(p, 0) for p in amounts):
        return _pad_by_data(x, pads, value, mode, node)
    return _pad(x, amounts, value, mode)


def _of_all_axes(pads: ir.Value, axes: ir.Value, rank: int) -> ir.Value:
    """`pads` of `axes` as those of all axes, 0 for the others."""
    count = axis_count(axes)
    if is_computed(axes):
        table = listed(axes, rank)
    else:
        which = [normalize_axis(axis, rank) for axis in require_constant(axes, "axes").tolist()]
        table = graph.constant(value=np.equal.outer(np.asarray(which), np.arange(rank)))
    sides = (graph.slice_(pads, starts=[start], sizes=[count], steps=[1]) for start in (0, count))
    return graph.concat([spread(side, table, graph.size_scalar(0)) for side in sides], axis=0)


def _pad_by_data(x: ir.Value, pads: ir.Value, value: ir.Value, mode: str, node: Node) -> ir.Value:
    """Padding by amounts of which only a run tells whether they add or remove."""
    rank, zero = graph.type_of(x).rank, graph.size_scalar(0)
    pads = graph.cast(pads, to=np.int64)
    _require_mode(mode)
    pads = of_length(pads, 2 * rank)
    _require_count(graph.type_of(pads).shape[0], rank)
    low, high = (graph.slice_(pads, starts=[k], sizes=[rank], steps=[1]) for k in (0, rank))
    axes = _padded_axes(pads, rank)
    sizes = list(graph.type_of(x).shape)
    padded = graph.add(graph.add(shape_of(x), low), high)
    which = graph.constant(value=np.array(axes, np.int64))
    new = require_sizes(graph.gather(padded, which, axis=0), node, "size")
    for axis, size in zip(axes, new, strict=True):
        sizes[axis] = size
    if mode == "constant":
        return graph.dynamic_pad(x, value, low, sizes=sizes)
    extents = graph.add(shape_of(x), graph.add(graph.min_(low, zero), graph.min_(high, zero)))
    for axis in axes:
        before, extent = (
            graph.reshape(graph.slice_(each, starts=[axis], sizes=[1], steps=[1]), shape=[])
            for each in (low, extents)
        )
        removed = graph.max_(graph.neg(before), zero)
        indices = graph.sub(positions(sizes[axis]), graph.max_(before, zero))
        indices = graph.add(_folded(indices, extent, mode), removed)
        x = graph.gather(x, indices, axis=axis)
    return x


def _padded_axes(pads: ir.Value, rank: int) -> list[int]:
    """The axes of which `pads`, in front of all axes and then behind all, may not be 0."""
    amounts = graph.known_elements(pads) or [None] * (2 * rank)
    return [axis for axis in range(rank) if (amounts[axis], amounts[rank + axis]) != (0, 0)]


@onnx_op("CenterCropPad", since=18)
def center_crop_pad(x, shape, *, node, axes=None):
    """Each axis cut or filled with zeros on both sides; behind by one more where that is odd."""
    rank = graph.type_of(x).rank
    which = [normalize_axis(axis, rank) for axis in (range(rank) if axes is None else axes)]
    wanted = require_sizes(shape, node, "shape")
    if len(wanted) != len(which) or len(set(which)) < len(which):
        raise graph.TypeRuleError(f"{len(wanted)} sizes for the axes {which}")
    given = graph.type_of(x).shape
    kept, sizes = list(given), list(given)
    for axis, size in zip(which, wanted, strict=True):
        kept[axis], sizes[axis] = min_size(given[axis], size), size
    starts = [(size - keep) // 2 for size, keep in zip(given, kept, strict=True)]
    x = graph.slice_(x, starts=starts, sizes=kept, steps=[1] * rank)
    low = [(size - keep) // 2 for size, keep in zip(sizes, kept, strict=True)]
    high = [s - k - before for s, k, before in zip(sizes, kept, low, strict=True)]
    return graph.pad(x, graph.splat_like(0, x), low=low, high=high)


def _require_count(count: int | Dim, rank: int) -> None:
    if count != 2 * rank:
        raise graph.TypeRuleError(f"{count} pads for a tensor of rank {rank}")


def _require_mode(mode: str) -> None:
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedError(f"mode '{mode}'")


def _pad(x: ir.Value, pads: Sequence[int | Dim], value: ir.Value, mode: str) -> ir.Value:
    rank = graph.type_of(x).rank
    _require_count(len(pads), rank)
    _require_mode(mode)
    low, high = list(pads[:rank]), list(pads[rank:])
    x, low, high = _crop(x, low, high)
    if mode == "constant":
        return graph.pad(x, value, low=low, high=high)
    if all(amount == 0 for amount in (*low, *high)):
        return x
    return graph.pad_from_data(x, low=low, high=high, mode=mode)


def _crop(x: ir.Value, low: list, high: list) -> tuple[ir.Value, list, list]:
    """Negative padding removes elements."""
    if not any(isinstance(p, int) and p < 0 for p in (*low, *high)):
        return x, low, high
    shape = graph.type_of(x).shape
    starts = [-p if isinstance(p, int) and p < 0 else 0 for p in low]
    ends = [-p if isinstance(p, int) and p < 0 else 0 for p in high]
    sizes = [s - a - b for s, a, b in zip(shape, starts, ends, strict=True)]
    x = graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape))
    return x, [max_size(p, 0) for p in low], [max_size(p, 0) for p in high]


def _folded(indices: ir.Value, extent: ir.Value, mode: str) -> ir.Value:
    """`indices`, some of them outside, as indices into an axis of `extent` (a scalar)."""
    last = graph.sub(extent, graph.size_scalar(1))
    if mode == "edge":
        return graph.min_(graph.max_(indices, graph.size_scalar(0)), last)
    if mode == "wrap":
        return graph.mod(indices, extent)
    period = graph.mul(graph.size_scalar(2), last)
    forth = graph.mod(indices, period)
    return graph.min_(forth, graph.sub(period, forth))
