"""Convolutions of 8-bit integers."""

import functools
from dataclasses import replace

import numpy as np

from ....dialects import graph
from ....dialects.graph.window import output_size
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import onnx_op
from .contraction import as_signed, reshaped_constant, sum_over
from .convolution import spatial_kernel
from .windows import Window, pad_spatial, resolve_window


@onnx_op("ConvInteger", since=10)
def conv_integer(x, w, x_zero_point=None, w_zero_point=None, **attributes):
    """Zero points have one element, or one per filter of `w`."""
    return integer_conv(x, w, x_zero_point, w_zero_point, **attributes)


def integer_conv(
    x: ir.Value,
    w: ir.Value,
    x_zero: ir.Value | None,
    w_zero: ir.Value | None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
) -> ir.Value:
    """The convolution of 8-bit ``x - x_zero`` with ``w - w_zero`` as i32; padding is with `x_zero`.

    ``conv(x, w) - x_zero sum(w) - w_zero window_sums(x - x_zero)``, the convolution itself on i8.
    """
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = spatial_kernel(image, weights, kernel_shape)
    window = resolve_window(image.shape[2:], kernel, strides, dilations, pads, auto_pad)
    x, x_zero = as_signed(x, None if x_zero is None else reshaped_constant(x_zero, []))
    w, w_zero = as_signed(w, None if w_zero is None else per_filter(w_zero, weights.rank))
    offsets = []
    if x_zero is not None:
        sums = sum_over(w, range(1, weights.rank))
        sums = graph.reshape(sums, shape=[weights.shape[0], *[1] * len(kernel)])
        offsets.append(graph.mul(sums, x_zero))
    if w_zero is not None:
        sums = _window_sums(_channel_sums(x, x_zero, group), window)
        offsets.append(_scaled_by_filter(sums, w_zero, weights.shape[0]))
    y = _conv(
        x, w, x_zero, window, group
    )  # behind what is subtracted, which its kernel may then do
    return functools.reduce(graph.sub, offsets, y)


def _conv(
    x: ir.Value, w: ir.Value, x_zero: ir.Value | None, window: Window, group: int
) -> ir.Value:
    """``conv(x, w)``, with `x_zero` as padding."""
    if x_zero is not None or window.is_symbolic:
        zero = graph.constant(value=np.array(0, np.int32)) if x_zero is None else x_zero
        zero = graph.cast(zero, to=graph.type_of(x).dtype)
        x = graph.pad(x, zero, low=[0, 0, *window.low], high=[0, 0, *window.high])
        none = (0,) * len(window.low)
        window = replace(window, low=none, high=none)
    return graph.conv(
        x, w, strides=window.strides, dilations=window.dilations, low=window.static_low,
        high=window.static_high, groups=group, layout="channels_first",
    )  # fmt: skip


def _channel_sums(x: ir.Value, x_zero: ir.Value | None, group: int) -> ir.Value:
    """The sums of ``x - x_zero`` over the channels of each group, [N, groups, spatial...]."""
    batch, channels, *extents = graph.type_of(x).shape
    if group == 1:
        count, sums = channels, sum_over(x, [1])
    else:
        count = floordiv(channels, group)
        parts = graph.reshape(x, shape=[batch, group, count, *extents])
        sums = graph.reshape(sum_over(parts, [2]), shape=[batch, group, *extents])
    if x_zero is None:
        return sums
    terms = graph.cast(graph.reshape(graph.sizes(sizes=[count]), shape=[]), to=np.int32)
    return graph.sub(sums, graph.mul(x_zero, terms))


def _window_sums(x: ir.Value, window: Window) -> ir.Value:
    """The sums of the elements of each window of `x`, one axis after the other."""
    x = pad_spatial(x, window.low, window.high, 0)
    for axis, step in enumerate(
        zip(window.static_kernel, window.strides, window.dilations, strict=True), start=2
    ):
        x = functools.reduce(graph.add, _taps(x, axis, *step))
    return x


def _taps(x: ir.Value, axis: int, count: int, stride: int, dilation: int) -> list[ir.Value]:
    """For each of `count` taps of a window along `axis`, the elements of `x` that it meets."""
    shape = list(graph.type_of(x).shape)
    shape[axis] = output_size(shape[axis], count, stride, dilation, 0, 0)
    steps = [stride if n == axis else 1 for n in range(len(shape))]
    starts = [
        [tap * dilation if n == axis else 0 for n in range(len(shape))] for tap in range(count)
    ]
    return [graph.slice_(x, starts=start, sizes=shape, steps=steps) for start in starts]


def _scaled_by_filter(sums: ir.Value, w_zero: ir.Value, filters: int | Dim) -> ir.Value:
    """`sums`, [N, groups, spatial...], times the zero point of each filter: [N, 1 or filters,
    spatial...]."""
    batch, groups, *extents = graph.type_of(sums).shape
    zero = graph.type_of(w_zero).shape
    if zero:  # [filters, 1, 1...] as the weights have them
        w_zero = graph.reshape(w_zero, shape=[zero[0], *zero[2:]])
    if groups in (1, filters):
        return graph.mul(sums, w_zero)
    shape = [batch, groups, floordiv(filters, groups), *extents]
    repeated = graph.expand(graph.reshape(sums, shape=[batch, groups, 1, *extents]), shape=shape)
    return graph.mul(graph.reshape(repeated, shape=[batch, filters, *extents]), w_zero)


def per_filter(value: ir.Value, rank: int) -> ir.Value:
    """A parameter of weights of `rank`: one element as a scalar, one per filter along axis 0."""
    shape = graph.type_of(value).shape
    if shape in ((), (1,)):
        return reshaped_constant(value, [])
    return reshaped_constant(value, [*shape, *[1] * (rank - 1)])
