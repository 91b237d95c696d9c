"""Windows that slide over spatial axes: what convolution and pooling have in common.

`kernel`, `strides`, `dilations`, `low` and `high` (padding before and after) hold one entry per
spatial axis. `layout` is ``channels_first`` ([N, C, spatial...]) or ``channels_last``
([N, spatial..., C]).
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from ..symbolic import Dim, floordiv
from .base import TypeRuleError
from .types import Shape

LAYOUTS = ("channels_first", "channels_last")


class StepAttrs(TypedDict):
    """The positions of a window's elements, and of windows."""

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]


class WindowAttrs(StepAttrs):
    """A window over a padded image."""

    low: Sequence[int]
    high: Sequence[int]


def output_size(
    extent: int | Dim,
    kernel: int | Dim,
    stride: int,
    dilation: int,
    low: int | Dim,
    high: int | Dim,
) -> int | Dim:
    """The number of output positions of a window along one axis. TypeRuleError when there are
    none."""
    span = dilation * (kernel - 1) + 1
    size = floordiv(extent + (low + high - span), stride) + 1
    if isinstance(size, int) and size < 1:
        raise TypeRuleError(f"a window of {span} does not fit an axis of {extent} + {low} + {high}")
    return size


def output_sizes(
    extents: Sequence[int | Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> tuple[int | Dim, ...]:
    """`output_size` along every spatial axis."""
    lists = (kernel, strides, dilations, low, high)
    if any(len(values) != len(extents) for values in lists):
        raise TypeRuleError(
            f"needs {len(extents)} entries of kernel, strides, dilations and padding"
        )
    if min((*kernel, *strides, *dilations), default=1) < 1:
        raise TypeRuleError("kernel, strides and dilations must be positive")
    if min((*low, *high), default=0) < 0:
        raise TypeRuleError("padding must not be negative")
    return tuple(output_size(*axis) for axis in zip(extents, *lists, strict=True))


def split_layout(shape: Shape, layout: str) -> tuple[int | Dim, int | Dim, Shape]:
    """Batch, channels and spatial sizes of an image's shape."""
    if layout not in LAYOUTS:
        raise TypeRuleError(f"layout '{layout}' is none of {', '.join(LAYOUTS)}")
    if len(shape) < 3:
        raise TypeRuleError(f"an image needs at least one spatial axis; its shape is {shape}")
    if layout == "channels_first":
        return shape[0], shape[1], shape[2:]
    return shape[0], shape[-1], shape[1:-1]


def join_layout(batch: int | Dim, channels: int | Dim, spatial: Shape, layout: str) -> Shape:
    """The shape of an image from its parts."""
    if layout == "channels_first":
        return (batch, channels, *spatial)
    return (batch, *spatial, channels)


def to_channels_first(x: np.ndarray, layout: str) -> np.ndarray:
    """A view of `x` as [N, C, spatial...]."""
    return x if layout == "channels_first" else np.moveaxis(x, -1, 1)


def from_channels_first(x: np.ndarray, layout: str) -> np.ndarray:
    """A view of `x`, which is [N, C, spatial...], in `layout`."""
    return x if layout == "channels_first" else np.moveaxis(x, 1, -1)


def windows(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    value: float,
) -> np.ndarray:
    """All windows of `x` [N, C, spatial...] padded with `value`: [N, C, out..., kernel...]."""
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    axes = tuple(range(2, x.ndim))
    padded_sizes = (a + n + b for a, n, b in zip(low, x.shape[2:], high, strict=True))
    short = [span - size for span, size in zip(spans, padded_sizes, strict=True)]
    # Short by a stride at most, an axis has no output positions; numpy refuses one that is
    # short by more.
    short = [n if 0 < n <= stride else 0 for n, stride in zip(short, strides, strict=True)]
    ends = [b + more for b, more in zip(high, short, strict=True)]
    pads = [(0, 0), (0, 0), *zip(low, ends, strict=True)]
    padded = np.pad(x, pads, constant_values=value)
    view = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=axes)
    positions = tuple(
        slice(None, 0 if lacks else None, s) for s, lacks in zip(strides, short, strict=True)
    )
    inner = tuple(slice(None, None, dilation) for dilation in dilations)
    return view[(slice(None), slice(None), *positions, *inner)]
