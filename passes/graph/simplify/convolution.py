"""Convolutions along axes of one element, as exporters write those of sequences."""

from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Decline, rewrite


@rewrite(graph.ConvOp)
def conv_of_unit_axis(op: graph.ConvOp) -> Any:
    """``conv(x, w)  -->  reshape(conv(reshape(x), w'))`` without a spatial axis of one element,
    where ``w'`` are the taps that meet it. Exact for finite weights.

    Keras computes convolutions of sequences as those of images with a row, or a column. An image of
    one pixel keeps its axes: a reshape would part the convolution from what follows.
    """
    taps = _unit_axes(op) if op.attrs["layout"] == "channels_first" else None
    if not taps:
        return None
    if producer(op.w, graph.DequantizeOp) is not None:
        return Decline("its weights are dequantized, and integers may be convolved")
    rank = len(op.attrs["strides"])
    if len(taps) == rank:
        return _conv_of_pixel(op, taps)
    kept = [axis for axis in range(rank) if axis not in taps]
    attrs = dict(op.attrs)
    for name in ("strides", "dilations", "low", "high"):
        attrs[name] = [op.attrs[name][axis] for axis in kept]
    y = graph.conv(_without(op.x, taps), _without(_tapped(op.w, taps), taps), **attrs)
    return graph.reshape(y, shape=graph.type_of(op.result).shape)


def _conv_of_pixel(op: graph.ConvOp, taps: dict[int, int]) -> ir.Value | None:
    """``conv(x, w)  -->  conv(x, w')`` where ``w'`` is the one tap that meets the only pixel."""
    w = _tapped(op.w, taps)
    if w == op.w:
        return None
    rank = len(taps)
    window = dict(strides=[1] * rank, dilations=[1] * rank, low=[0] * rank, high=[0] * rank)
    return graph.conv(op.x, w, **{**op.attrs, **window})


def _unit_axes(op: graph.ConvOp) -> dict[int, int]:
    """The spatial axes of one element before and after, each with the tap that meets it."""
    found = {}
    pairs = zip(graph.type_of(op.x).shape[2:], graph.type_of(op.result).shape[2:], strict=True)
    for axis, sizes in enumerate(pairs):
        tap, rest = divmod(op.attrs["low"][axis], op.attrs["dilations"][axis])
        taps = graph.type_of(op.w).shape[2 + axis]
        if sizes == (1, 1) and not rest and isinstance(taps, int) and tap < taps:
            found[axis] = tap
    return found


def _tapped(w: ir.Value, taps: dict[int, int]) -> ir.Value:
    """The weights `w` with one of the `taps` along each of their axes."""
    shape = list(graph.type_of(w).shape)
    if all(shape[2 + axis] == 1 for axis in taps):
        return w
    starts = [0] * len(shape)
    for axis, tap in taps.items():
        starts[2 + axis], shape[2 + axis] = tap, 1
    return graph.slice_(w, starts=starts, sizes=shape, steps=[1] * len(shape))


def _without(x: ir.Value, axes: dict[int, int]) -> ir.Value:
    shape = graph.type_of(x).shape
    return graph.reshape(x, shape=[n for axis, n in enumerate(shape) if axis - 2 not in axes])


REWRITES = (conv_of_unit_axis,)
