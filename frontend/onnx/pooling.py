"""Pooling."""

from typing import Any

from ...dialects import graph
from .registry import UnsupportedError, onnx_op
from .shapes import require_sizes
from .windows import Window, apply_symbolic, resolve_window


def _window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode) -> Window:
    type_ = graph.type_of(x)
    if type_.rank < 3:
        raise graph.TypeRuleError(f"pooling needs an image, not {type_}")
    return resolve_window(
        type_.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, bool(ceil_mode)
    )


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
    window = _window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if not node.wants(1):
        lowest = graph.lowest(graph.type_of(x).dtype)
        x, window = apply_symbolic(x, window, lowest)
        return graph.max_pool(x, layout="channels_first", **_attributes(window))
    if window.is_symbolic:
        raise UnsupportedError("Indices with auto_pad=SAME and a stride on an axis of unknown size")
    return graph.max_pool_with_indices(x, storage_order=storage_order, **_attributes(window))


def _attributes(window: Window) -> dict[str, Any]:
    """Of ops to which padding is padding, whoever asked for it."""
    return {
        "kernel": window.kernel,
        "strides": window.strides,
        "dilations": window.dilations,
        "low": window.low,
        "high": [a + b for a, b in zip(window.high, window.extra, strict=True)],
    }


@onnx_op("AveragePool")
def average_pool(
    x,
    *,
    kernel_shape,
    auto_pad="NOTSET",
    ceil_mode=0,
    count_include_pad=0,
    dilations=None,
    pads=None,
    strides=None,
):
    window = _window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if window.is_symbolic:
        raise UnsupportedError("auto_pad=SAME with a stride on an axis of unknown size")
    return graph.average_pool(
        x,
        kernel=window.kernel,
        strides=window.strides,
        dilations=window.dilations,
        low=window.low,
        high=window.high,
        extra=window.extra,
        count_include_pad=bool(count_include_pad),
        layout="channels_first",
    )


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
    window = _window(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
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
