"""Channels-last convolutions as matmuls and named convolutions of linalg.

The backend compiles only two-dimensional convolutions well. A kernel that extends along one axis
only becomes a sum of matmuls, one for each tap; a convolution with three or more axes becomes a sum
of convolutions with one axis less. Groups are convolved one by one.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir, linalg
from .dispatch import behind_barrier
from .generic import parallel, projection
from .generic_contraction import converted
from .implicit_gemm import implicit_convolution
from .lowering import Lowering, Size, lowers
from .mma_matmul import multiply_on_tensor_cores
from .movement import insert_slice
from .operands import Operand, known, operand, within_reach
from .padding import padded
from .reduction import accumulator
from .window_vectors import depthwise_by_vectors

MAX_TAPS = 16
"""Maximum taps for a sum of matmuls; windows of longer kernels are gathered for one matmul."""

BLOCK = 16
"""Minimum channels of a group for a separate convolution to pay."""


@dataclass(frozen=True)
class Windows:
    """The strides and dilations of a kernel, one entry per spatial axis, without padding."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def inner(self) -> "Windows":
        """The windows without the first axis."""
        return Windows(self.strides[1:], self.dilations[1:])

    def named(self, build: Callable[..., Any], *operands: Operand, output: ir.Value) -> ir.Value:
        """Build a named convolution of linalg that accumulates into `output`."""
        inputs = [each.value for each in operands]
        op = build(*inputs, outs=[output], strides=self.strides, dilations=self.dilations)
        return op if isinstance(op, ir.Value) else op.operation.results[0]


@lowers(graph.ConvOp)
def conv(ctx: Lowering, op: graph.ConvOp, x: ir.Value, w: ir.Value) -> ir.Value:
    for build in (multiply_on_tensor_cores, depthwise_by_vectors, implicit_convolution):
        if (y := build(ctx, op, [])) is not None:
            return y
    attrs = op.attrs
    image, weights = (_signed(operand(ctx, *each)) for each in ((op.x, x), (op.w, w)))
    result = graph.type_of(op.result)
    if attrs["layout"] == "channels_last":
        return convolve(image, _stored(weights), result, attrs).value
    rank = result.rank
    last, first = [0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)]
    moved = result.with_shape(result.shape[axis] for axis in last)
    weights = _stored(weights.transposed([*range(2, rank), 1, 0]))
    y = convolve(image.transposed(last), weights, moved, attrs)
    return y.transposed(first).value


def _stored(weights: Operand) -> Operand:
    """`weights`, materialized on CPUs if the run computes them: the backend would read those of a
    transpose in place, and compute element by element (200 times as long for 64 features of 3x3x64
    by 56x56 pixels)."""
    ctx = weights.ctx
    if weights.array is not None or ctx.gpu or ctx.in_kernel:
        return weights
    return replace(weights, lowered=behind_barrier(ctx, weights.value, weights.type))


def _materialized(image: Operand) -> Operand:
    """`image`, materialized on CPUs: the backend fuses the cast of an 8-bit image into a
    convolution, and fails to bound its stack allocation where a row has one window and is cut to
    that, or, in ones with groups, is of dynamic size."""
    ctx = image.ctx
    if ctx.gpu or ctx.in_kernel or image.array is not None:
        return image
    return replace(image, lowered=behind_barrier(ctx, image.value, image.type))


def _apart_if_alone(
    ctx: Lowering, value: ir.Value, x: Operand, total: graph.TensorType
) -> ir.Value:
    """`value`, the convolution of `x`, materialized on CPUs if one axis alone is not of size 1,
    and that is dynamic; of an image of one channel, beside the features. The backend fails to bound
    the stack allocation of such a convolution with an epilogue."""
    axes = total.shape[:-1] if x.shape[-1] == 1 else total.shape
    others = [size for size in axes if size != 1]
    if ctx.gpu or ctx.in_kernel or len(others) != 1 or isinstance(others[0], int):
        return value
    return behind_barrier(ctx, value, total)


def _signed(x: Operand) -> Operand:
    """`x`, or unsigned 8-bit integers as i16: the named ops of linalg extend signs."""
    if x.type.dtype != np.uint8:
        return x
    wide = x.type.with_dtype(np.dtype(np.int16))
    if x.array is not None:
        return Operand(x.ctx, wide, None, x.array.astype(np.int16))
    return Operand(x.ctx, wide, converted(x.ctx, x.value, x.type, wide))


def convolve(x: Operand, w: Operand, result: graph.TensorType, attrs: dict[str, Any]) -> Operand:
    """Convolve `x` [N, spatial..., C] with `w` [kernel..., C/groups, F]; `attrs` as `graph.conv`.

    The result is of type `result`; narrow floats are accumulated in f32.
    """
    ctx, groups, pads = x.ctx, attrs["groups"], (attrs["low"], attrs["high"])
    if isinstance(w.shape[-2], int):  # weights are static where an image may be dynamic
        x = x.sliced(-1, 0, groups * w.shape[-2])
    windows = Windows(attrs["strides"], attrs["dilations"])
    total = result.with_dtype(accumulator(result.dtype))
    kernel = [graph.static_size(size) for size in w.shape[:-2]]

    def reachable(x: Operand) -> Operand:
        cut = within_reach(x, kernel, windows.dilations, result.shape[1:-1])
        stays = cut is x and (groups == 1 or x.type.is_static)
        return x if stays else _materialized(cut)

    if groups == 1:
        x = reachable(padded(x, *pads, 0))
        value = _add_dense(x, w, windows, total, ctx.filled(total, 0))
        value = _apart_if_alone(ctx, value, x, total)
    elif groups == x.shape[-1]:
        x = reachable(padded(_repeat_channels(x, graph.static_size(w.shape[-1])), *pads, 0))
        w = w.reshaped([*w.shape[:-2], w.shape[-1]])
        value = _add_depthwise(x, w, windows, total, ctx.filled(total, 0))
    else:
        value = _convolve_groups(reachable(padded(x, *pads, 0)), w, groups, windows, total)
    return Operand(ctx, result, converted(ctx, value, total, result))


# Dense


def _add_dense(
    x: Operand, w: Operand, windows: Windows, total: graph.TensorType, output: ir.Value
) -> ir.Value:
    """`output`, of type `total`, plus the convolution of padded `x` with all of `w`."""
    kernel = [graph.static_size(size) for size in w.shape[:-2]]
    extended = sum(size != 1 for size in kernel)
    strided = any(stride != 1 for stride in windows.strides)
    if len(kernel) == 2 and (extended == 2 or (extended == 0 and strided)):
        if x.ctx.mma_sync and w.type.dtype.itemsize == 2:  # tensor cores need K innermost
            return windows.named(
                linalg.conv_2d_nhwc_fhwc, x, w.transposed([3, 0, 1, 2]), output=output
            )
        return windows.named(linalg.conv_2d_nhwc_hwcf, x, w, output=output)
    if extended <= 1 and math.prod(kernel) <= MAX_TAPS:
        return _add_tap_matmuls(x, w, windows, total, output)
    if len(kernel) > 1:
        return _add_taps(_add_dense, x, w, windows, total, output)
    x = _gathered(x, kernel[0], windows, total.shape[1])
    return _add_matmul(x, w.reshaped([1, kernel[0] * w.shape[1], w.shape[2]]), total, output)


def _add_tap_matmuls(
    x: Operand, w: Operand, windows: Windows, total: graph.TensorType, output: ir.Value
) -> ir.Value:
    """Accumulate one matmul for each tap."""
    kernel = [graph.static_size(size) for size in w.shape[:-2]]
    matrices = w.reshaped([math.prod(kernel), *w.shape[-2:]])
    for index, tap in enumerate(itertools.product(*[range(taps) for taps in kernel])):
        part = x
        steps = zip(tap, windows.dilations, total.shape[1:-1], windows.strides, strict=True)
        for axis, (index_in_kernel, dilation, pixels, stride) in enumerate(steps, start=1):
            part = part.sliced(axis, index_in_kernel * dilation, pixels, stride)
        output = _add_matmul(part, matrices.sliced(0, index, 1), total, output)
    return output


def _add_matmul(x: Operand, w: Operand, total: graph.TensorType, output: ir.Value) -> ir.Value:
    """`output` plus one matmul over all output positions."""
    channels, features = w.shape[-2:]
    pixels = graph.element_count(x.shape[:-1])
    x, w = x.reshaped([pixels, channels]), w.reshaped([channels, features])
    accumulators = Operand(x.ctx, total, output).reshaped([pixels, features])
    product = linalg.matmul(x.value, w.value, outs=[accumulators.value])
    return replace(accumulators, lowered=product).reshaped(total.shape).value


def _add_taps(
    add: Callable[..., ir.Value],
    x: Operand,
    w: Operand,
    windows: Windows,
    total: graph.TensorType,
    output: ir.Value,
) -> ir.Value:
    """Sum over the kernel's first axis; its output positions become part of the batch."""
    pixels = total.shape[1]
    batch = x.shape[0] * pixels
    inner = total.with_shape([batch, *total.shape[2:]])
    accumulators = Operand(x.ctx, total, output).reshaped(inner.shape).value
    for tap in range(graph.static_size(w.shape[0])):
        part = x.sliced(1, tap * windows.dilations[0], pixels, windows.strides[0])
        part = part.reshaped([batch, *x.shape[2:]])
        accumulators = add(
            part, w.sliced(0, tap, 1).reshaped(w.shape[1:]), windows.inner, inner, accumulators
        )
    return Operand(x.ctx, inner, accumulators).reshaped(total.shape).value


def _gathered(x: Operand, taps: int, windows: Windows, pixels: Size) -> Operand:
    """[N, L, C] -> [N, positions, taps * C]: the window at each output position along one axis."""
    batch, _, channels = x.shape
    type_ = x.type.with_shape([batch, pixels, taps, channels])
    n, output, tap, channel = (ir.AffineExpr.get_dim(i) for i in range(4))
    position = output * windows.strides[0] + tap * windows.dilations[0]
    reads = ir.AffineMap.get(4, 0, [n, position, channel])
    copied = parallel([x.value], [reads], x.ctx.empty(type_), lambda element: element)
    return Operand(x.ctx, type_, copied).reshaped([batch, pixels, taps * channels])


# Depthwise


def _add_depthwise(
    x: Operand, w: Operand, windows: Windows, total: graph.TensorType, output: ir.Value
) -> ir.Value:
    """`output` plus each channel of padded `x` convolved with its kernel; `w` [kernel..., C]."""
    axes = len(windows.strides)
    if axes == 1:
        return windows.named(linalg.depthwise_conv_1d_nwc_wc, x, w, output=output)
    if axes == 2:
        return windows.named(linalg.depthwise_conv_2d_nhwc_hwc, x, w, output=output)
    return _add_taps(_add_depthwise, x, w, windows, total, output)


def _repeat_channels(x: Operand, features: int) -> Operand:
    """Repeat each channel consecutively, once for each of its features."""
    channels = graph.static_size(x.shape[-1])
    times = features // channels
    if times == 1:
        return x
    type_ = x.type.with_shape([*x.shape, times])
    reads = projection(type_.rank, list(range(x.type.rank)))
    repeated = parallel([x.value], [reads], x.ctx.empty(type_), lambda element: element)
    return Operand(x.ctx, type_, repeated).reshaped([*x.shape[:-1], channels * times])


# Groups


def _convolve_groups(
    x: Operand, w: Operand, groups: int, windows: Windows, total: graph.TensorType
) -> ir.Value:
    """Emit one dense convolution per block of groups, each into its slice of the features."""
    ctx, (per_group, features) = x.ctx, map(graph.static_size, w.shape[-2:])
    together = _groups_together(groups, per_group) if w.array is not None else 1
    if w.array is not None:
        w = known(ctx, graph.join_groups(w.array, groups, together))
    inputs, outputs = per_group * together, features // groups * together
    result = ctx.empty(total)
    part = total.with_shape([*total.shape[:-1], outputs])
    for block in range(groups // together):
        channels = x.sliced(-1, block * inputs, inputs)
        weights = w.sliced(-1, block * outputs, outputs)
        value = _add_dense(channels, weights, windows, part, ctx.filled(part, 0))
        start = [0] * (total.rank - 1) + [block * outputs]
        result = insert_slice(ctx, value, result, start, part.shape)
    return result


def _groups_together(groups: int, per_group: int) -> int:
    """The number of small groups to compute as one dense convolution, padded with zeros."""
    divisors = (n for n in range(1, groups + 1) if groups % n == 0)
    return next(n for n in divisors if n * per_group >= BLOCK or n == groups)
