"""Convolutions."""

import itertools
from collections.abc import Sequence

import numpy as np

from ..symbolic import Dim
from .attributes import Int, Ints, Str
from .base import Tensor, TypeRuleError, builder
from .contraction import Contraction, accumulator_dtype, require_equal_sizes
from .elementwise import require_number
from .traits import MixedPrecision
from .types import Shape, TensorType, is_float
from .window import (
    from_channels_first,
    join_layout,
    output_sizes,
    split_layout,
    to_channels_first,
    windows,
)


def conv_weight_parts(w: TensorType, layout: str) -> tuple[int | Dim, int | Dim, Shape]:
    """Output channels, input channels per group, and kernel sizes of a convolution's weights."""
    if w.rank < 3:
        raise TypeRuleError(f"weights need rank 3 or more, not {w}")
    if layout == "channels_first":
        return w.shape[0], w.shape[1], w.shape[2:]
    return w.shape[-1], w.shape[-2], w.shape[:-2]


def _require_static(kernel: Shape) -> tuple[int, ...]:
    static = tuple(size for size in kernel if isinstance(size, int))
    if len(static) < len(kernel):
        raise TypeRuleError("the kernel's sizes must be known")
    return static


def _require_divisible(channels: int | Dim, groups: int, what: str) -> None:
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise TypeRuleError(f"{channels} {what} do not split into {groups} groups")


class ConvOp(Contraction, name="conv"):
    """Convolution (ONNX Conv 22, without bias), on any number of spatial axes.

    Integers of 8 and 16 bits, of either signedness, accumulate in i32, as in `matmul`.

    ``channels_first``: `x` [N, C, spatial...], `w` [F, C/groups, kernel...], result [N, F, out...];
    ``channels_last``: `x` [N, spatial..., C], `w` [kernel..., C/groups, F], result [N, out..., F].
    """

    amp = MixedPrecision.NARROW

    x: Tensor
    w: Tensor
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    groups: Int
    layout: Str

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        groups: int,
        layout: str,
    ) -> TensorType:
        require_number(x)
        result = accumulator_dtype(x.dtype, w.dtype)
        if x.rank != w.rank:
            raise TypeRuleError(f"input {x} and weights {w} differ in rank")
        batch, channels, extents = split_layout(x.shape, layout)
        features, per_group, kernel = conv_weight_parts(w, layout)
        _require_divisible(channels, groups, "input channels")
        _require_divisible(features, groups, "output channels")
        require_equal_sizes(per_group * groups, channels, "weights' and input's channels")
        kernel = _require_static(kernel)
        out = output_sizes(extents, kernel, strides, dilations, low, high)
        shape = join_layout(batch, features, out, layout)
        return TensorType(shape, result)

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        groups: int,
        layout: str,
    ) -> np.ndarray:
        dtype = accumulator_dtype(x.dtype, w.dtype)
        wide = np.float32 if is_float(dtype) and dtype.itemsize < 4 else dtype
        image = to_channels_first(x, layout).astype(wide)
        spatial = image.ndim - 2
        if layout == "channels_last":
            w = np.transpose(w, (spatial + 1, spatial, *range(spatial)))
        weights = w.astype(wide)
        view = windows(image, weights.shape[2:], strides, dilations, low, high, 0)
        inputs, features = image.shape[1] // groups, weights.shape[0] // groups
        axes = [1, *range(2 + spatial, 2 + 2 * spatial)]
        parts = [
            np.tensordot(
                view[:, g * inputs : (g + 1) * inputs],
                weights[g * features : (g + 1) * features],
                axes=(axes, list(range(1, 2 + spatial))),
            )
            for g in range(groups)
        ]
        result = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
        return from_channels_first(result, layout).astype(dtype)


def join_groups(w: np.ndarray, groups: int, joined: int) -> np.ndarray:
    """Weights [kernel..., C, F] of `groups`, `joined` of which become one with zeros between them.

    The result is [kernel..., joined * C, F]: a convolution by it has ``groups // joined`` groups.
    """
    channels, features = w.shape[-2], w.shape[-1] // groups
    dense = np.zeros((*w.shape[:-2], joined, channels, groups // joined, joined, features), w.dtype)
    split = w.reshape(*w.shape[:-1], groups // joined, joined, features)
    for each in range(joined):
        dense[..., each, :, :, each, :] = split[..., each, :]
    return dense.reshape(*w.shape[:-2], joined * channels, w.shape[-1])


class ConvTransposeOp(Contraction, name="conv_transpose"):
    """Transposed convolution (ONNX ConvTranspose 22, without bias).

    `w` is [C, F/groups, kernel...] in both layouts. `low` and `high` are cut off the full result,
    `output_padding` is added behind it.
    """

    amp = MixedPrecision.NARROW

    x: Tensor
    w: Tensor
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    output_padding: Ints
    groups: Int
    layout: Str

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        output_padding: Sequence[int],
        groups: int,
        layout: str,
    ) -> TensorType:
        require_number(x)
        if x.dtype != w.dtype or x.rank != w.rank:
            raise TypeRuleError(f"input {x} and weights {w} differ in rank or element type")
        batch, channels, extents = split_layout(x.shape, layout)
        require_equal_sizes(w.shape[0], channels, "weights' and input's channels")
        _require_divisible(channels, groups, "input channels")
        kernel = _require_static(w.shape[2:])
        lists = (kernel, strides, dilations, low, high, output_padding)
        if any(len(values) != len(extents) for values in lists):
            raise TypeRuleError(f"needs {len(extents)} entries of strides, dilations and padding")
        out = tuple(
            (extent - 1) * stride + dilation * (k - 1) + 1 + extra - before - after
            for extent, k, stride, dilation, before, after, extra in zip(
                extents, *lists, strict=True
            )
        )
        if any(isinstance(size, int) and size < 1 for size in out):
            raise TypeRuleError(f"the result would have sizes {out}")
        return x.with_shape(join_layout(batch, w.shape[1] * groups, out, layout))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        output_padding: Sequence[int],
        groups: int,
        layout: str,
    ) -> np.ndarray:
        dtype = x.dtype
        wide = np.float32 if is_float(dtype) and dtype.itemsize < 4 else dtype
        image, weights = to_channels_first(x, layout).astype(wide), w.astype(wide)
        kernel, spatial = weights.shape[2:], image.shape[2:]
        full = [
            (s - 1) * stride + d * (k - 1) + 1 + extra
            for s, stride, d, k, extra in zip(
                spatial, strides, dilations, kernel, output_padding, strict=True
            )
        ]
        inputs, features = image.shape[1] // groups, weights.shape[1]
        result = np.zeros((image.shape[0], features * groups, *full), wide)
        for group in range(groups):
            part = image[:, group * inputs : (group + 1) * inputs]
            taps = weights[group * inputs : (group + 1) * inputs]
            into = result[:, group * features : (group + 1) * features]
            for tap in np.ndindex(*kernel):
                positions = tuple(
                    slice(d * t, d * t + (s - 1) * stride + 1, stride)
                    for d, t, s, stride in zip(dilations, tap, spatial, strides, strict=True)
                )
                product = np.tensordot(part, taps[(..., *tap)], axes=([1], [0]))
                into[(slice(None), slice(None), *positions)] += np.moveaxis(product, -1, 1)
        inner = tuple(slice(a, f - b) for a, b, f in zip(low, high, full, strict=True))
        cropped = result[(slice(None), slice(None), *inner)]
        return from_channels_first(cropped, layout).astype(dtype)


def sub_pixel_weights(w: np.ndarray, groups: int, strides: Sequence[int]) -> np.ndarray:
    """Weights of the convolution that computes all results of a transposed one (Shi et al., 2016).

    Along an axis, result ``q * stride + r`` of a transposed convolution is the sum over ``j`` of
    input ``q - j`` times tap ``r + stride * j``: a convolution for each ``r``, here its features.
    `w` [C, F/groups, kernel...] gives [taps..., C/groups, groups * strides... * F/groups], with
    ``ceil(kernel / stride)`` taps, reversed.
    """
    taps = [-(-k // stride) for k, stride in zip(w.shape[2:], strides, strict=True)]
    wanted = [tap * stride for tap, stride in zip(taps, strides, strict=True)]
    behind = [(0, more - k) for more, k in zip(wanted, w.shape[2:], strict=True)]
    w = np.pad(w, [(0, 0), (0, 0), *behind])
    split = itertools.chain.from_iterable(zip(taps, strides, strict=True))
    w = w.reshape(groups, w.shape[0] // groups, w.shape[1], *split)
    outer, phases = [3 + 2 * i for i in range(len(taps))], [4 + 2 * i for i in range(len(taps))]
    w = np.flip(w, tuple(outer)).transpose([*outer, 1, 0, *phases, 2])
    return w.reshape(*taps, w.shape[len(taps)], -1)


conv = builder(ConvOp)
conv_transpose = builder(ConvTransposeOp)
