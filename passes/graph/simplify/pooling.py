"""Pools whose windows reach beyond the image."""

from typing import Any

import numpy as np

from ....dialects import graph
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


REWRITES = (clip_pool_window, clip_average_window)


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
