"""Convolutions of 8-bit integers."""

import functools
from dataclasses import replace

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import floordiv
from ....mlir import ir
from ..importing.registry import onnx_op
from .contraction import as_signed, sum_over
from .convolution import spatial_kernel
from .windows import Window, resolve_window


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
    x, x_zero = as_signed(x, None if x_zero is None else graph.reshaped_constant(x_zero, []))
    w, w_zero = as_signed(w, None if w_zero is None else per_filter(w_zero, weights.rank))
    offsets = []
    if x_zero is not None:
        sums = sum_over(w, range(1, weights.rank))
        sums = graph.reshape(sums, shape=[weights.shape[0], *[1] * len(kernel)])
        offsets.append(graph.mul(sums, x_zero))
    if w_zero is not None:
        sums = graph.window_sums(
            _shifted_sums(x, x_zero, group), window.static_kernel, window.strides,
            window.dilations, window.low, window.high,
        )  # fmt: skip
        offsets.append(graph.times_filters(sums, w_zero, weights.shape[0]))
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


def _shifted_sums(x: ir.Value, x_zero: ir.Value | None, group: int) -> ir.Value:
    """The sums of ``x - x_zero`` over the channels of each group, [N, groups, spatial...]."""
    sums = graph.channel_sums(x, group)
    if x_zero is None:
        return sums
    count = floordiv(graph.type_of(x).shape[1], group)
    terms = graph.cast(graph.size_scalar(count), to=np.int32)
    return graph.sub(sums, graph.mul(x_zero, terms))


def per_filter(value: ir.Value, rank: int) -> ir.Value:
    """A parameter of weights of `rank`: one element as a scalar, one per filter along axis 0."""
    shape = graph.type_of(value).shape
    if shape in ((), (1,)):
        return graph.reshaped_constant(value, [])
    return graph.reshaped_constant(value, [*shape, *[1] * (rank - 1)])
