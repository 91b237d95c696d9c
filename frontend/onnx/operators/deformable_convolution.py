"""DeformConv: an image sampled where the kernel's taps are moved to, times the weights."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import floordiv
from ....mlir import ir
from ..importing.registry import onnx_op
from .convolution import spatial_kernel, with_bias
from .shapes import positions
from .windows import Window, resolve_window


@onnx_op("DeformConv", since=19)
def deform_conv(
    x,
    w,
    offset,
    bias=None,
    mask=None,
    *,
    dilations=None,
    group=1,
    kernel_shape=None,
    offset_group=1,
    pads=None,
    strides=None,
):
    """The taps of each group of channels, of C / `offset_group`, are moved alike."""
    image, weights = graph.type_of(x), graph.type_of(w)
    kernel = spatial_kernel(image, weights, kernel_shape)
    window = resolve_window(image.shape[2:], kernel, strides, dilations, pads, "NOTSET")
    batch, channels, features = image.shape[0], weights.shape[1] * group, weights.shape[0]
    if image.shape[1] != channels or channels % offset_group or features % group:  # type: ignore[operator]
        raise graph.TypeRuleError(f"{image} and {weights} do not make {group} groups")
    out, taps = graph.type_of(offset).shape[2:], int(np.prod(kernel))
    moved = [batch * offset_group, floordiv(channels, offset_group)]
    points = _points(offset, window, out, batch * offset_group)
    columns = graph.sample(
        graph.reshape(x, shape=[*moved, *image.shape[2:]]),
        points,
        mode="linear",
        padding="zeros",
        align_corners=True,
    )
    if mask is not None:
        mask = graph.reshape(mask, shape=[moved[0], 1, *graph.type_of(columns).shape[2:]])
        columns = graph.mul(columns, mask)
    inner = floordiv(channels * taps, group)
    columns = graph.reshape(columns, shape=[batch, group, inner, graph.element_count(out)])
    matrix = graph.reshape(w, shape=[group, floordiv(features, group), inner])
    return with_bias(
        graph.reshape(graph.matmul(matrix, columns), shape=[batch, features, *out]), bias
    )


def _points(offset: ir.Value, window: Window, out: Sequence, groups) -> ir.Value:
    """The coordinates that each tap reads for each output position: [groups, points..., axes], last
    axis first.

    The points have as many axes as the window: taps on the first, output positions on the last. A
    single axis holds both.
    """
    axes, kernel = len(window.kernel), window.kernel
    shape = [groups, *kernel, axes, *out]
    offset = graph.reshape(offset, shape=shape)
    parts = []
    for i in reversed(range(axes)):
        starts = [0] * (1 + axes) + [i] + [0] * axes
        sizes = [groups, *kernel, 1, *out]
        part = graph.slice_(offset, starts=starts, sizes=sizes, steps=[1] * len(shape))
        position = _scaled(positions(out[i]), window.strides[i], offset)
        tap = _scaled(positions(kernel[i]), window.dilations[i], offset)
        tap = graph.sub(tap, graph.splat_like(window.low[i], offset))  # type: ignore[arg-type]
        position = graph.reshape(position, shape=[out[i], *[1] * (axes - 1 - i)])
        tap = graph.reshape(tap, shape=[kernel[i], *[1] * (axes - 1 - i), 1, *[1] * axes])
        parts.append(graph.add(graph.add(part, tap), position))
    points = graph.transpose(
        graph.concat(parts, axis=1 + axes),
        perm=[0, *range(1, 1 + axes), *range(2 + axes, 2 + 2 * axes), 1 + axes],
    )
    taps, rest = graph.element_count(kernel), graph.element_count(out)
    ones = [1] * (axes - 2)
    flat = [taps * rest] if axes == 1 else [taps, *ones, rest]
    return graph.reshape(points, shape=[groups, *flat, axes])


def _scaled(index: ir.Value, step: int, like: ir.Value) -> ir.Value:
    index = graph.cast(index, to=graph.type_of(like).dtype)
    return graph.mul(index, graph.splat_like(step, like))
