"""Pools whose windows reach beyond the image, or extend over more than two axes."""

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
    x = _padded(graph.reshape(x, shape=(batch * depth, *area)), pad, slice(2, -1))
    x = _pool_along(op, slice(1, None), x)
    lines = (batch, depth, graph.element_count(result[2:-1]), area[-1])
    x = _padded(graph.reshape(x, shape=lines), pad, slice(1, 2))
    return graph.reshape(_pool_along(op, slice(1), x), shape=result)


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


def _padded(x: ir.Value, pad: graph.PadOp | None, axes: slice) -> ir.Value:
    """`x`, padded along its axes from the second on as `pad` does along `axes`."""
    if pad is None:
        return x
    around = {}
    for side in ("low", "high"):
        sizes = pad.attrs[side][axes]
        around[side] = (0, *sizes, *[0] * (graph.type_of(x).rank - 1 - len(sizes)))
    if all(size == 0 for size in (*around["low"], *around["high"])):
        return x
    return graph.pad(x, pad.value, **around)


def _pool_along(op: Any, axes: slice, x: ir.Value) -> ir.Value:
    """The pool of `x` along its first axes as `op` is along `axes`, and along no other."""
    rank = graph.type_of(x).rank - 2
    attrs = dict(op.attrs)
    for name, neutral in _NEUTRAL.items():
        if name in attrs:
            taken = attrs[name][axes]
            attrs[name] = (*taken, *[neutral] * (rank - len(taken)))
    if all(set(attrs.get(name, ())) <= {neutral} for name, neutral in _NEUTRAL.items()):
        return x
    return graph.build(type(op), [x], attrs)


REWRITES = (clip_pool_window, clip_average_window, split_deep_pool)


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
