"""Convolutions."""

from collections.abc import Sequence

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv, maximum
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from . import window_matmul
from .windows import apply_symbolic, pad_spatial, resolve_window


@onnx_op("Conv")
def conv(
    x,
    w,
    bias=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
):
    w = window_matmul.with_stated_sizes(w, kernel_shape)
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = _kernel_sizes(image, weights, kernel_shape)
    window = resolve_window(image.shape[2:], kernel, strides, dilations, pads, auto_pad)
    if window_matmul.is_needed(weights, group):
        return with_bias(window_matmul.conv(x, w, window, group), bias)
    x, window = apply_symbolic(x, window, 0)
    result = graph.conv(
        x,
        w,
        strides=window.strides,
        dilations=window.dilations,
        low=window.static_low,
        high=window.static_high,
        groups=group,
        layout="channels_first",
    )
    return with_bias(result, bias)


def spatial_kernel(image: graph.TensorType, weights: graph.TensorType, stated) -> list[int]:
    kernel = _kernel_sizes(image, weights, stated)
    if any(isinstance(size, Dim) for size in kernel):
        raise UnsupportedError("a kernel of unknown size")
    return kernel  # type: ignore[return-value]


def _kernel_sizes(image: graph.TensorType, weights: graph.TensorType, stated) -> list[int | Dim]:
    if image.rank < 3 or weights.rank != image.rank:
        raise graph.TypeRuleError(f"input {image} and weights {weights} do not fit each other")
    kernel = list(weights.shape[2:])
    if stated is not None and list(stated) != kernel:
        raise graph.TypeRuleError(f"kernel_shape {list(stated)}, but the weights have {kernel}")
    return kernel


def with_bias(x: ir.Value, bias: ir.Value | None) -> ir.Value:
    if bias is None:
        return x
    spatial = graph.type_of(x).rank - 2
    return graph.add(x, graph.reshape(bias, shape=[*graph.type_of(bias).shape, *[1] * spatial]))


@onnx_op("ConvTranspose")
def conv_transpose(
    x,
    w,
    bias=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    output_padding=None,
    output_shape=None,
    pads=None,
    strides=None,
):
    w = window_matmul.with_stated_sizes(w, kernel_shape)
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = _kernel_sizes(image, weights, kernel_shape)
    rank = len(kernel)
    strides = [1] * rank if strides is None else strides
    dilations = [1] * rank if dilations is None else dilations
    extra = [0] * rank if output_padding is None else output_padding
    low, high, extra = _transposed_padding(
        image, kernel, strides, dilations, extra, pads, auto_pad, output_shape
    )
    steps = {"strides": strides, "dilations": dilations, "groups": group}
    if window_matmul.is_needed(weights, group):
        full = window_matmul.conv_transpose(x, w, **steps)
        return with_bias(_cut(full, low, high, extra), bias)
    if any(isinstance(size, Dim) for size in (*low, *high, *extra)):
        none = [0] * rank
        full = graph.conv_transpose(
            x, w, low=none, high=none, output_padding=none, layout="channels_first", **steps
        )
        return with_bias(_cut(full, low, high, extra), bias)
    low, high, extra = (list(map(graph.static_size, sizes)) for sizes in (low, high, extra))
    y = graph.conv_transpose(
        x, w, low=low, high=high, output_padding=extra, layout="channels_first", **steps
    )
    return with_bias(y, bias)


def _cut(
    full: ir.Value,
    low: Sequence[int | Dim],
    high: Sequence[int | Dim],
    extra: Sequence[int | Dim],
) -> ir.Value:
    """`full` [N, C, spatial...] with `extra` zeros behind it, and then without its ends."""
    if not any((*low, *high, *extra)):
        return full
    full = pad_spatial(full, [0] * len(low), extra, 0)
    shape = list(graph.type_of(full).shape)
    sizes = [n - a - b for n, a, b in zip(shape[2:], low, high, strict=True)]
    starts, steps = [0, 0, *low], [1] * len(shape)
    return graph.slice_(full, starts=starts, sizes=[*shape[:2], *sizes], steps=steps)


def _transposed_padding(image, kernel, strides, dilations, extra, pads, auto_pad, output_shape):
    """The padding to cut off at both ends of the full result, and the sizes to add at its end.

    An output shape, given or SAME, decides both.
    """
    rank = len(kernel)
    if output_shape is None and auto_pad in ("NOTSET", "", "VALID"):
        pads = [0] * (2 * rank) if pads is None or auto_pad == "VALID" else pads
        return pads[:rank], pads[rank:], extra
    if output_shape is None:
        wanted = [size * stride for size, stride in zip(image.shape[2:], strides, strict=True)]
    else:
        wanted = list(output_shape)[-rank:]
    totals = [
        stride * (size - 1) + more + dilation * (k - 1) + 1 - want
        for size, stride, more, dilation, k, want in zip(
            image.shape[2:], strides, extra, dilations, kernel, wanted, strict=True
        )
    ]
    extra = [more + maximum(-total, 0) for more, total in zip(extra, totals, strict=True)]
    totals = [maximum(total, 0) for total in totals]
    less = [floordiv(t, 2) for t in totals]
    more = [t - half for t, half in zip(totals, less, strict=True)]
    return (*((less, more) if auto_pad == "SAME_UPPER" else (more, less)), extra)
