"""Pools whose windows reach beyond the image, or that are cheaper axis by axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer, splat_of
from ...infra.rewrite import rewrite


@rewrite(graph.MaxPoolOp, graph.MaxPoolWithIndicesOp, graph.LpPoolOp)
def clip_pool_window(op: Any) -> Any:
    """``pool(x, kernel=[1280])  -->  pool(x, kernel=[7])`` if `x` has 7 positions and the result
    one: padding is never the maximum, or adds nothing."""
    kept = _kept(op)
    return None if kept is None else graph.build(type(op), [op.x], _clipped(op, kept))


@rewrite(graph.AveragePoolOp)
def clip_average_window(op: graph.AveragePoolOp) -> Any:
    """The same for ``average_pool``, times the image's share of the window if padding counts; exact
    up to one rounding."""
    kept = _kept(op)
    if kept is None:
        return None
    mean = graph.average_pool(op.x, **_clipped(op, kept))
    attrs = op.attrs
    if not attrs["count_include_pad"]:
        return mean
    share = 1.0
    for axis, count in kept.items():
        padded = attrs["low"][axis] + _image(op)[axis] + attrs["high"][axis]
        share *= count / min(attrs["kernel"][axis], padded)
    type_ = graph.type_of(mean)
    return (
        mean if share == 1 else graph.mul(mean, graph.constant(value=np.array(share, type_.dtype)))
    )


_NEUTRAL = {"kernel": 1, "strides": 1, "dilations": 1, "low": 0, "high": 0, "extra": 0}
"""The attributes of pools with a number for each axis, and the number that changes nothing."""


@rewrite(graph.MaxPoolOp, graph.AveragePoolOp)
def split_deep_pool(op: graph.MaxPoolOp | graph.AveragePoolOp) -> Any:
    """``pool(x, kernel=[a, b, c])  -->  pool(pool(x, kernel=[b, c]), kernel=[a, 1])``, channels
    last: ``b * c`` taps and `a` in place of their product, by kernels for two axes. Exact for a
    maximum, up to one rounding for a mean."""
    if len(op.attrs["kernel"]) <= 2 or op.attrs["layout"] != "channels_last":
        return None
    pad, result = _border_of(op), graph.type_of(op.result).shape
    x = op.x if pad is None else pad.x
    batch, depth, *area = graph.type_of(x).shape
    inner, outer = range(1, len(op.attrs["kernel"])), (0, None)
    x = _padded(graph.reshape(x, shape=(batch * depth, *area)), pad, inner)
    x = _pool_along(op, x, inner)
    lines = (batch, depth, graph.element_count(result[2:-1]), area[-1])
    x = _padded(graph.reshape(x, shape=lines), pad, outer)
    return graph.reshape(_pool_along(op, x, outer), shape=result)


@rewrite(graph.MaxPoolOp, graph.AveragePoolOp)
def split_wide_pool(op: graph.MaxPoolOp | graph.AveragePoolOp) -> Any:
    """``pool(x, kernel=[a, b])  -->  pool(pool(x, kernel=[1, b]), kernel=[a, 1])``, channels last,
    if that halves the taps: for 5 by 5 and more. Exact for a maximum, up to one rounding for a
    mean."""
    if len(op.attrs["kernel"]) != 2 or op.attrs["layout"] != "channels_last":
        return None
    height, width = op.attrs["kernel"]
    rows, lines = graph.type_of(op.result).shape[1], graph.type_of(op.x).shape[1]
    if not isinstance(rows, int) or not isinstance(lines, int):
        rows, lines = 1, op.strides[0]
    if height * width * rows <= 2 * (width * lines + height * rows):
        return None
    return _pool_along(op, _pool_along(op, op.x, (None, 1)), (0, None))


def _border_of(op: graph.MaxPoolOp | graph.AveragePoolOp) -> graph.PadOp | None:
    """The op that pads the image of `op` along its spatial axes, with elements whose pool, along
    some of the axes, is again such an element; None if there is none."""
    pad = producer(op.x, graph.PadOp)
    if pad is None:
        return None
    border = 0 if isinstance(op, graph.AveragePoolOp) else graph.lowest(graph.type_of(op.x).dtype)
    outside = [pad.attrs[side][axis] for side in ("low", "high") for axis in (0, -1)]
    is_one = splat_of(pad.value) == border and all(size == 0 for size in outside)
    return pad if is_one else None


_Axes = Sequence[int | None]
"""For each spatial axis of an image, that of a pool that it is; None if it is none."""


def _padded(x: ir.Value, pad: graph.PadOp | None, axes: _Axes) -> ir.Value:
    """`x`, padded along `axes` as `pad` does."""
    if pad is None:
        return x
    around = {
        side: (0, *(0 if axis is None else pad.attrs[side][1 + axis] for axis in axes), 0)
        for side in ("low", "high")
    }
    if all(size == 0 for size in (*around["low"], *around["high"])):
        return x
    return graph.pad(x, pad.value, **around)


def _pool_along(op: Any, x: ir.Value, axes: _Axes) -> ir.Value:
    """The pool of `x` as `op` is, along `axes` alone."""
    attrs = dict(op.attrs)
    for name in _NEUTRAL.keys() & attrs.keys():
        neutral = _NEUTRAL[name]
        attrs[name] = tuple(neutral if axis is None else op.attrs[name][axis] for axis in axes)
    if all(set(attrs.get(name, ())) <= {neutral} for name, neutral in _NEUTRAL.items()):
        return x
    return graph.build(type(op), [x], attrs)


REWRITES = (clip_pool_window, clip_average_window, split_deep_pool, split_wide_pool)


def _image(op: Any) -> tuple[Any, ...]:
    """The spatial sizes of the operand of `op`."""
    return _spatial(op, graph.type_of(op.x).shape)


def _spatial(op: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    return shape[1:-1] if op.attrs.get("layout") == "channels_last" else shape[2:]


def _kept(op: Any) -> dict[int, int] | None:
    """The size of the overlap with the image, for each axis with a single, larger window."""
    attrs, output_sizes = op.attrs, _spatial(op, graph.type_of(op.operation.results[0]).shape)
    kept = {}
    for axis, (size, count) in enumerate(zip(_image(op), output_sizes, strict=True)):
        if not isinstance(size, int) or count != 1 or attrs["dilations"][axis] != 1:
            continue
        inside = min(attrs["kernel"][axis] - attrs["low"][axis], size)
        if 0 < inside < attrs["kernel"][axis]:
            kept[axis] = inside
    return kept or None


def _clipped(op: Any, kept: dict[int, int]) -> dict[str, Any]:
    """The attributes of `op` with windows of size `kept`, and no padding, along these axes."""
    attrs = dict(op.attrs)
    for name in ("kernel", "low", "high", "extra"):
        if name in attrs:
            values = enumerate(attrs[name])
            inside = kept if name == "kernel" else dict.fromkeys(kept, 0)
            attrs[name] = tuple(inside.get(axis, value) for axis, value in values)
    return attrs
