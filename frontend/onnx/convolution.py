"""Convolutions."""

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .registry import onnx_op
from .windows import apply_symbolic, resolve_window


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
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = _kernel(image, weights, kernel_shape)
    window = resolve_window(image.shape[2:], kernel, strides, dilations, pads, auto_pad)
    x, window = apply_symbolic(x, window, 0)
    result = graph.conv(
        x,
        w,
        strides=window.strides,
        dilations=window.dilations,
        low=window.low,
        high=window.high,
        groups=group,
        layout="channels_first",
    )
    return _with_bias(result, bias)


def _kernel(image: graph.TensorType, weights: graph.TensorType, stated) -> list[int]:
    if image.rank < 3 or weights.rank != image.rank:
        raise graph.TypeRuleError(f"input {image} and weights {weights} do not fit each other")
    kernel = list(weights.shape[2:])
    if not all(isinstance(size, int) for size in kernel):
        raise graph.TypeRuleError("the kernel's sizes must be known")
    if stated is not None and list(stated) != kernel:
        raise graph.TypeRuleError(f"kernel_shape {list(stated)}, but the weights have {kernel}")
    return kernel  # type: ignore[return-value]


def _with_bias(x: ir.Value, bias: ir.Value | None) -> ir.Value:
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
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = _kernel(image, weights, kernel_shape)
    rank = len(kernel)
    strides = [1] * rank if strides is None else strides
    dilations = [1] * rank if dilations is None else dilations
    extra = [0] * rank if output_padding is None else output_padding
    low, high = _transposed_padding(
        image, kernel, strides, dilations, extra, pads, auto_pad, output_shape
    )
    result = graph.conv_transpose(
        x,
        w,
        strides=strides,
        dilations=dilations,
        low=low,
        high=high,
        output_padding=extra,
        groups=group,
        layout="channels_first",
    )
    return _with_bias(result, bias)


def _transposed_padding(image, kernel, strides, dilations, extra, pads, auto_pad, output_shape):
    """What is cut off the full result. An output shape, given or SAME, decides it."""
    rank = len(kernel)
    if output_shape is None and auto_pad in ("NOTSET", "", "VALID"):
        pads = [0] * (2 * rank) if pads is None or auto_pad == "VALID" else pads
        return pads[:rank], pads[rank:]
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
    if any(not isinstance(total, int) or total < 0 for total in totals):
        raise graph.TypeRuleError(f"output sizes {wanted} cannot be reached")
    less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


@onnx_op("ConvInteger", since=10)
def conv_integer(x, w, x_zero_point=None, w_zero_point=None, **attributes):
    """Padding is with the zero point, so the difference is taken first."""
    image = graph.cast(x, to=np.int32)
    weights = graph.cast(w, to=np.int32)
    if x_zero_point is not None:
        zero = graph.cast(x_zero_point, to=np.int32)
        image = graph.sub(image, graph.reshape(zero, shape=[]))
    if w_zero_point is not None:
        zero = graph.cast(w_zero_point, to=np.int32)
        per_filter = graph.type_of(zero).rank == 1 and graph.type_of(zero).shape != (1,)
        ones = [1] * (graph.type_of(w).rank - 1)
        shape = [*graph.type_of(zero).shape, *ones] if per_filter else []
        weights = graph.sub(weights, graph.reshape(zero, shape=shape))
    return conv(image, weights, **attributes)
