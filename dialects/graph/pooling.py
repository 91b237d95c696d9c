"""Pooling over windows."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from ..symbolic import at_least
from .attributes import Bool, Int, Ints, Str
from .base import GraphOp, Result, Tensor, TypeRuleError, builder, tuple_builder
from .elementwise import require_float, require_number
from .traits import MixedPrecision
from .types import StaticShape, TensorType, is_float, type_of
from .window import (
    StepAttrs,
    WindowAttrs,
    from_channels_first,
    join_layout,
    output_sizes,
    split_layout,
    to_channels_first,
    windows,
)


class Pool(GraphOp):
    """Base of pooling ops."""


def _pooled_type(x: TensorType, *, layout: str, **window: Unpack[WindowAttrs]) -> TensorType:
    require_number(x)
    batch, channels, extents = split_layout(x.shape, layout)
    return x.with_shape(join_layout(batch, channels, output_sizes(extents, **window), layout))


def lowest(dtype: np.dtype) -> float:
    """The lowest value of `dtype`: -inf or the smallest integer."""
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def _kernel_axes(rank: int) -> tuple[int, ...]:
    return tuple(range(rank, 2 * rank - 2))


class MaxPoolOp(Pool, name="max_pool"):
    """The largest element of each window (ONNX MaxPool 22); padding never wins, NaN does."""

    amp = MixedPrecision.FOLLOW

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    layout: Str

    @staticmethod
    def infer(x: TensorType, *, layout: str, **window: Unpack[WindowAttrs]) -> TensorType:
        return _pooled_type(x, layout=layout, **window)

    @staticmethod
    def evaluate(x: np.ndarray, *, layout: str, **window: Unpack[WindowAttrs]) -> np.ndarray:
        image = to_channels_first(x, layout)
        view = windows(image, **window, value=lowest(x.dtype))
        return from_channels_first(view.max(axis=_kernel_axes(image.ndim)), layout)


def has_full_windows(op: MaxPoolOp) -> bool:
    """Return whether every window of `op` has an element of the image, whatever its size."""
    attrs, x = op.attrs, type_of(op.x)
    _, _, extents = split_layout(x.shape, attrs["layout"])
    borders = zip(
        attrs["kernel"], attrs["dilations"], attrs["low"], attrs["high"], extents, strict=True
    )
    return all(
        max(low, high) <= (size - 1) * step and (low == 0 or at_least(extent, step))
        for size, step, low, high, extent in borders  # a step may leap over a smaller image
    )


class MaxPoolWithIndicesOp(GraphOp, name="max_pool_with_indices"):
    """The largest element of each window, and its index (ONNX MaxPool 22 with Indices).

    `x` is [N, C, spatial...]. `indices` counts elements of `x` in row-major order; with
    `storage_order` 1 the spatial axes are counted in column-major order. The first of equals wins,
    and the first NaN of all.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    storage_order: Int
    y: Result
    indices: Result

    @staticmethod
    def infer(
        x: TensorType, *, storage_order: int, **window: Unpack[WindowAttrs]
    ) -> tuple[TensorType, TensorType]:
        if storage_order not in (0, 1):
            raise TypeRuleError(f"storage_order is 0 or 1, not {storage_order}")
        y = _pooled_type(x, layout="channels_first", **window)
        return y, y.with_dtype(np.int64)

    @staticmethod
    def evaluate(
        x: np.ndarray, *, storage_order: int, **window: Unpack[WindowAttrs]
    ) -> tuple[np.ndarray, np.ndarray]:
        axes = _kernel_axes(x.ndim)
        view = windows(x, **window, value=lowest(x.dtype))
        inside = windows(np.ones(x.shape, bool), **window, value=False)
        best = view.max(axis=axes, keepdims=True)
        wins = inside & ((view == best) | (view != view))
        spatial = x.shape[2:]
        counted = np.arange(int(np.prod(spatial, dtype=int)))
        indices = counted.reshape(spatial, order="F" if storage_order else "C")
        planes = np.arange(int(x.shape[0] * x.shape[1])).reshape(x.shape[:2]) * counted.size
        indices = planes[(..., *[None] * len(spatial))] + indices
        positions = windows(indices, **window, value=-1)
        flat = wins.reshape(*best.shape[: x.ndim], -1)
        first = flat.argmax(axis=-1)[..., None]
        chosen = np.take_along_axis(positions.reshape(flat.shape), first, axis=-1)
        return best[(..., *[0] * len(axes))], chosen[..., 0]


class AveragePoolOp(Pool, name="average_pool"):
    """The mean of each window (ONNX AveragePool 22).

    `count_include_pad`: whether elements of the padding count as zeros. `extra` is padding at the
    end that never counts: what rounding up the number of windows (ceil_mode) adds.
    """

    amp = MixedPrecision.FOLLOW

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    extra: Ints
    count_include_pad: Bool
    layout: Str

    @staticmethod
    def infer(
        x: TensorType,
        *,
        layout: str,
        low: Sequence[int],
        high: Sequence[int],
        extra: Sequence[int],
        count_include_pad: bool,
        **steps: Unpack[StepAttrs],
    ) -> TensorType:
        del count_include_pad
        require_float(x)
        full = [a + b for a, b in zip(high, extra, strict=True)]
        return _pooled_type(x, layout=layout, low=low, high=full, **steps)

    @staticmethod
    def evaluate(
        x: np.ndarray,
        *,
        layout: str,
        low: Sequence[int],
        high: Sequence[int],
        extra: Sequence[int],
        count_include_pad: bool,
        **steps: Unpack[StepAttrs],
    ) -> np.ndarray:
        image = to_channels_first(x, layout)
        wide = image.astype(np.float64 if x.dtype == np.float64 else np.float32)
        full = [a + b for a, b in zip(high, extra, strict=True)]
        axes = _kernel_axes(image.ndim)
        total = windows(wide, **steps, low=low, high=full, value=0).sum(axis=axes)
        counts = average_pool_counts(
            image.shape[2:],
            low=low,
            high=high,
            extra=extra,
            count_include_pad=count_include_pad,
            **steps,
        )
        return from_channels_first(total / counts, layout).astype(x.dtype)


def average_pool_counts(
    spatial: StaticShape,
    *,
    low: Sequence[int],
    high: Sequence[int],
    extra: Sequence[int],
    count_include_pad: bool,
    **steps: Unpack[StepAttrs],
) -> np.ndarray:
    """The divisor of each window of an average pool, a number of elements: [out...].

    1 for a window of border alone, which dilations may skip over the image; its average is 0, as in
    ONNX Runtime.
    """
    ones = np.ones((1, 1, *spatial), np.float32)
    if count_include_pad:
        pads = [(0, 0), (0, 0), *zip(low, high, strict=True)]
        ones = np.pad(ones, pads, constant_values=1)
        low, high = [0] * len(spatial), extra
    else:
        high = [a + b for a, b in zip(high, extra, strict=True)]
    view = windows(ones, **steps, low=low, high=high, value=0)
    return np.maximum(view.sum(axis=_kernel_axes(ones.ndim))[0, 0], 1)


class SumPoolOp(Pool, name="sum_pool"):
    """The sum of each window, of zeros where it lies outside of `x`."""

    amp = MixedPrecision.KEEP

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    layout: Str

    @staticmethod
    def infer(x: TensorType, *, layout: str, **window: Unpack[WindowAttrs]) -> TensorType:
        return _pooled_type(x, layout=layout, **window)

    @staticmethod
    def evaluate(x: np.ndarray, *, layout: str, **window: Unpack[WindowAttrs]) -> np.ndarray:
        image = to_channels_first(x, layout)
        wide = image.astype(np.float32) if x.dtype.itemsize < 4 and is_float(x.dtype) else image
        view = windows(wide, **window, value=0)
        total = view.sum(axis=_kernel_axes(image.ndim), dtype=wide.dtype)
        return from_channels_first(total, layout).astype(x.dtype)


class LpPoolOp(Pool, name="lp_pool"):
    """The `p`-norm of each window (ONNX LpPool 22)."""

    amp = MixedPrecision.KEEP

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    p: Int
    layout: Str

    @staticmethod
    def infer(x: TensorType, *, layout: str, p: int, **window: Unpack[WindowAttrs]) -> TensorType:
        del p
        require_float(x)
        return _pooled_type(x, layout=layout, **window)

    @staticmethod
    def evaluate(
        x: np.ndarray, *, layout: str, p: int, **window: Unpack[WindowAttrs]
    ) -> np.ndarray:
        image = to_channels_first(x, layout)
        wide = image.astype(np.float64 if x.dtype == np.float64 else np.float32)
        powers = np.abs(windows(wide, **window, value=0)) ** p
        norm = powers.sum(axis=_kernel_axes(image.ndim)) ** (1 / p)
        return from_channels_first(norm, layout).astype(x.dtype)


max_pool = builder(MaxPoolOp)
max_pool_with_indices = tuple_builder(MaxPoolWithIndicesOp)
average_pool = builder(AveragePoolOp)
sum_pool = builder(SumPoolOp)
lp_pool = builder(LpPoolOp)
