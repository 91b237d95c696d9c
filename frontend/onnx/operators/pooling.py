"""Pooling."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import onnx_op
from .shapes import require_sizes
from .windows import (
    Window,
    apply_symbolic,
    pad_spatial,
    resolve_window,
    rounded_to_zero,
    rounded_up,
)


def pool_window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode) -> Window:
    """The window of a pool of `x`, [N, C, spatial...], by the attributes of its node."""
    type_ = graph.type_of(x)
    if type_.rank < 3:
        raise graph.TypeRuleError(f"pooling needs an image, not {type_}")
    extra = rounded_up if ceil_mode else rounded_to_zero
    return resolve_window(type_.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, extra)


def _of_no_windows(x: ir.Value, window: Window) -> list[int | Dim] | None:
    """The shape of what a pool of `x` gives if no window fits, where that is known; else None."""
    batch, channels, *extents = graph.type_of(x).shape
    lists = (window.kernel, window.strides, window.dilations, window.low, window.full_high)
    sizes = [
        floordiv(extent + low + high - dilation * (size - 1) - 1, stride) + 1
        for extent, size, stride, dilation, low, high in zip(extents, *lists, strict=True)
    ]
    known = [each for each in sizes if isinstance(each, int)]
    return [batch, channels, *sizes] if min(known, default=1) == 0 else None


@onnx_op("MaxPool")
def max_pool(
    x,
    *,
    node,
    kernel_shape,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    pads=None,
    storage_order=0,
    strides=None,
):
    window = pool_window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    extents, wanted, none = graph.type_of(x).shape[2:], window, _of_no_windows(x, window)
    if none is not None:
        y = graph.expand(graph.splat_like(0, x), shape=none)
        return (y, graph.cast(y, to=np.int64)) if node.wants(1) else y
    lowest = graph.lowest(graph.type_of(x).dtype)
    x, window = apply_symbolic(x, window, lowest)
    if not node.wants(1):
        return graph.max_pool(x, layout="channels_first", **_attributes(window))
    y, indices = graph.max_pool_with_indices(x, storage_order=storage_order, **_attributes(window))
    if wanted.is_symbolic:
        indices = _without_padding(indices, extents, wanted, column_major=bool(storage_order))
    return y, indices


def _without_padding(
    indices: ir.Value, extents: Sequence[int | Dim], window: Window, *, column_major: bool
) -> ir.Value:
    """`indices` into images with the padding of `window`, as indices into those without it."""
    padded = [a + b + c for a, b, c in zip(window.low, extents, window.full_high, strict=True)]
    axes = list(range(len(extents)))
    rest, total, stride = indices, None, graph.constant(value=np.array(1, np.int64))
    for axis in axes if column_major else reversed(axes):
        size = graph.size_scalar(padded[axis])
        position = graph.sub(graph.mod(rest, size), graph.size_scalar(window.low[axis]))
        part = graph.mul(position, stride)
        total = part if total is None else graph.add(total, part)
        rest = graph.div(rest, size)
        stride = graph.mul(stride, graph.size_scalar(extents[axis]))
    assert total is not None
    return graph.add(total, graph.mul(rest, stride))


def _attributes(window: Window) -> dict[str, Any]:
    """The attributes of ops that do not distinguish padding by `ceil_mode` from other padding."""
    return {
        "kernel": window.kernel,
        "strides": window.strides,
        "dilations": window.dilations,
        "low": window.low,
        "high": window.full_high,
    }


@onnx_op("AveragePool")
def average_pool(
    x,
    *,
    node,
    kernel_shape,
    auto_pad="NOTSET",
    ceil_mode=0,
    count_include_pad=0,
    dilations=None,
    pads=None,
    strides=None,
):
    window = pool_window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if count_include_pad and not ceil_mode and node.opset < 19:
        window = by_kernel(window)
    return window_means(x, window, count_include_pad=bool(count_include_pad))


def by_kernel(window: Window) -> Window:
    """`window` where all of its padding may count: some kernels of ONNX Runtime divide by the size
    of the window, however little of it fits."""
    return replace(window, high=window.full_high, extra=(0,) * len(window.extra))


def window_means(x: ir.Value, window: Window, *, count_include_pad: bool) -> ir.Value:
    """The means of the windows of `x`."""
    none = _of_no_windows(x, window)
    if none is not None:
        return graph.expand(graph.splat_like(0, x), shape=none)
    if window.is_symbolic:
        return _average_of_padded(x, window, count_include_pad=count_include_pad)
    return _average(x, window, count_include_pad=count_include_pad)


def _average(x: ir.Value, window: Window, *, count_include_pad: bool) -> ir.Value:
    return graph.average_pool(
        x,
        kernel=window.static_kernel,
        strides=window.strides,
        dilations=window.dilations,
        low=window.static_low,
        high=window.static_high,
        extra=window.static_extra,
        count_include_pad=count_include_pad,
        layout="channels_first",
    )


def _average_of_padded(x: ir.Value, window: Window, *, count_include_pad: bool) -> ir.Value:
    """The mean of the elements that count, if the padding depends on unknown sizes: the mean of
    each window divided by the share of its elements that count."""
    type_ = graph.type_of(x)
    wide = np.float64 if type_.dtype == np.float64 else np.float32
    one = graph.constant(value=np.ones((1,) * type_.rank, wide))
    counts = graph.expand(one, shape=[1, 1, *type_.shape[2:]])
    counts = pad_spatial(counts, window.low, window.high, float(count_include_pad))
    counts = pad_spatial(counts, (0,) * len(window.low), window.extra, 0)
    x, plain = apply_symbolic(graph.cast(x, to=wide), window, 0)
    means, parts = (_average(each, plain, count_include_pad=True) for each in (x, counts))
    return graph.cast(graph.div(means, parts), to=type_.dtype)


@onnx_op("LpPool", since=2)
def lp_pool(
    x,
    *,
    kernel_shape,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    p=2,
    pads=None,
    strides=None,
):
    window = pool_window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    none = _of_no_windows(x, window)
    if none is not None:
        return graph.expand(graph.splat_like(0, x), shape=none)
    x, window = apply_symbolic(x, window, 0)
    return graph.lp_pool(x, p=p, layout="channels_first", **_attributes(window))


def _spatial_axes(x) -> list[int]:
    return list(range(2, graph.type_of(x).rank))


@onnx_op("GlobalAveragePool")
def global_average_pool(x):
    return graph.reduce_mean(x, axes=_spatial_axes(x), keepdims=True)


@onnx_op("GlobalMaxPool")
def global_max_pool(x):
    return graph.reduce_max(x, axes=_spatial_axes(x), keepdims=True)


@onnx_op("GlobalLpPool", since=2)
def global_lp_pool(x, *, p=2):
    graph.require_float(graph.type_of(x))
    powers = graph.pow_(graph.abs_(x), graph.splat_like(p, x))
    total = graph.reduce_sum(powers, axes=_spatial_axes(x), keepdims=True)
    return graph.pow_(total, graph.splat_like(1 / p, x))


@onnx_op("MaxUnpool", since=9)
def max_unpool(x, indices, output_shape=None, *, node, kernel_shape, pads=None, strides=None):
    """Elements go where `indices` say in the image that was pooled, from which pooling cut ends.

    `output_shape` is the shape with them.
    """
    batch, channels, *extents = graph.type_of(x).shape
    window = resolve_window(extents, kernel_shape, strides, None, pads, "NOTSET")
    axes = zip(extents, window.strides, window.kernel, window.low, window.high, strict=True)
    spatial = [(size - 1) * s + k - low - high for size, s, k, low, high in axes]
    pooled = [batch, channels, *spatial]
    shape = [graph.element_count(pooled)]
    count = [graph.element_count(graph.type_of(x).shape)]
    image = graph.scatter_elements(
        graph.expand(graph.splat_like(0, x), shape=shape),
        graph.reshape(indices, shape=count),
        graph.reshape(x, shape=count),
        axis=0,
        reduction="none",
    )
    image = graph.reshape(image, shape=pooled)
    if output_shape is None:
        return image
    wanted = require_sizes(output_shape, node, "output_shape")
    if len(wanted) != len(pooled):
        raise graph.TypeRuleError(f"output_shape has {len(wanted)} entries, not {len(pooled)}")
    more = [want - have for want, have in zip(wanted, pooled, strict=True)]
    return graph.pad(image, graph.splat_like(0, x), low=[0] * len(more), high=more)
