"""Transposed convolutions, as convolutions."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .convolution import convolve
from .dispatch import behind_barrier
from .generic import loop_index, parallel
from .lowering import Lowering, lowers
from .movement import pad_tensor
from .operands import Operand, known, operand


@lowers(graph.ConvTransposeOp)
def conv_transpose(ctx: Lowering, op: graph.ConvTransposeOp, x: ir.Value, w: ir.Value) -> ir.Value:
    attrs = op.attrs
    image, weights, result = operand(ctx, op.x, x), operand(ctx, op.w, w), graph.type_of(op.result)
    rank = result.rank
    first = attrs["layout"] == "channels_first"
    if first:
        last = [0, *range(2, rank), 1]
        image = image.transposed(last)
        result = result.with_shape(result.shape[axis] for axis in last)
    strided = any(stride != 1 for stride in attrs["strides"])
    dilated = any(dilation != 1 for dilation in attrs["dilations"])
    if strided and not dilated and weights.array is not None:
        y = _interleaved(image, weights.array, result, attrs)
    else:
        y = _stuffed(image, weights, result, attrs)
    return (y.transposed([0, rank - 1, *range(1, rank - 1)]) if first else y).value


def _interleaved(
    x: Operand, w: np.ndarray, result: graph.TensorType, attrs: dict[str, Any]
) -> Operand:
    """Compute all results within a stride as the features of one convolution: see
    `graph.sub_pixel_weights`."""
    groups, strides = attrs["groups"], attrs["strides"]
    axes = len(strides)
    behind = [(0, extra) for extra in attrs["output_padding"]]
    weights = graph.sub_pixel_weights(np.pad(w, [(0, 0), (0, 0), *behind]), groups, strides)
    taps, weights = weights.shape[:axes], known(x.ctx, weights)
    positions = [size + tap - 1 for size, tap in zip(x.shape[1:-1], taps, strict=True)]
    per_group, batch = result.shape[-1] // groups, x.shape[0]
    type_ = result.with_shape([batch, *positions, weights.shape[-1]])
    ones, around = (1,) * axes, [tap - 1 for tap in taps]
    window = {"strides": ones, "dilations": ones, "low": around, "high": around, "groups": groups}
    y = convolve(x, weights, type_, window)
    y = replace(y, lowered=behind_barrier(x.ctx, y.value, type_))
    y = y.reshaped([batch, *positions, groups, *strides, per_group])
    pairs = [axis for i in range(axes) for axis in (1 + i, 2 + axes + i)]
    y = y.transposed([0, *pairs, 1 + axes, 2 + 2 * axes])
    full = [size * stride for size, stride in zip(positions, strides, strict=True)]
    return _cropped(y.reshaped([batch, *full, result.shape[-1]]), attrs["low"], result)


def _stuffed(x: Operand, w: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    """Convolve `x`, with zeros inserted between its positions, with the reversed kernel."""
    strides, dilations, axes = attrs["strides"], attrs["dilations"], len(attrs["strides"])
    kernel, groups = w.shape[2:], attrs["groups"]
    spans = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
    before = [span - low for span, low in zip(spans, attrs["low"], strict=True)]
    after = [
        span - high + extra - (stride - 1)
        for span, high, extra, stride in zip(
            spans, attrs["high"], attrs["output_padding"], strides, strict=True
        )
    ]
    low, high = ([max(size, 0) for size in sizes] for sizes in (before, after))
    x = _spread(x, strides)
    sizes = [
        size + a + b - span
        for size, a, b, span in zip(x.shape[1:-1], low, high, spans, strict=True)
    ]
    type_ = result.with_shape([x.shape[0], *sizes, result.shape[-1]])
    window = {
        "strides": (1,) * axes, "dilations": dilations, "low": low, "high": high, "groups": groups,
    }  # fmt: skip
    y = convolve(x, _reversed(w, groups), type_, window)
    return _cropped(y, [max(-size, 0) for size in before], result)


def _spread(x: Operand, strides: tuple[int, ...]) -> Operand:
    """Insert ``stride - 1`` zeros after each position of each spatial axis of `x`."""
    if all(stride == 1 for stride in strides):
        return x
    batch, *spatial, channels = x.shape
    apart = [size for extent in spatial for size in (extent, 1)]
    x = x.reshaped([batch, *apart, channels])
    high = [0, *(zeros for stride in strides for zeros in (0, stride - 1)), 0]
    type_ = x.type.with_shape(size + zeros for size, zeros in zip(x.shape, high, strict=True))
    zero = x.ctx.scalar(0, type_.dtype)
    value = pad_tensor(x.ctx, x.value, zero, [0] * type_.rank, high, type_)
    full = [extent * stride for extent, stride in zip(spatial, strides, strict=True)]
    return Operand(x.ctx, type_, value).reshaped([batch, *full, channels])


def _reversed(w: Operand, groups: int) -> Operand:
    """[C, F, kernel...] -> [kernel..., C/groups, groups * F], with reversed taps."""
    channels, features, *kernel = w.shape
    axes = len(kernel)
    split = w.reshaped([groups, channels // groups, features, *kernel])
    last = split.transposed([*range(3, 3 + axes), 1, 0, 2])
    last = last.reshaped([*kernel, channels // groups, groups * features])
    if last.array is not None:
        return known(w.ctx, np.flip(last.array, tuple(range(axes))))
    if math.prod(kernel) == 1:
        return last
    ends, source = [w.ctx.index(size - 1) for size in kernel], last.value

    def element() -> ir.Value:
        coordinates = [loop_index(axis) for axis in range(axes + 2)]
        taps = [
            arith.subi(end, coordinate) for end, coordinate in zip(ends, coordinates, strict=False)
        ]
        return tensor.extract(source, [*taps, *coordinates[axes:]])

    return Operand(w.ctx, last.type, parallel([], [], w.ctx.empty(last.type), element))


def _cropped(x: Operand, low: Any, result: graph.TensorType) -> Operand:
    """Slice `x` from `low` on to the sizes of `result`."""
    for axis, start in enumerate(low, start=1):
        x = x.sliced(axis, start, result.shape[axis])
    return x
