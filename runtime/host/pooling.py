"""Max pooling, with the indices of the maxima.

`onnx.reference` fails or uses wrong windows for asymmetric pads.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .registry import HostError, host_op


@dataclass(frozen=True)
class _Windows:
    """The windows along one axis: `count` windows, the first at `-begin`."""

    begin: int
    count: int
    kernel: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """Extent of a dilated window, in elements."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def positions(self) -> np.ndarray:
        """Positions of the elements of each window, ``[count, kernel]``."""
        starts = np.arange(self.count) * self.stride - self.begin
        return starts[:, None] + np.arange(self.kernel) * self.dilation


def _windows(
    size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], auto: str, ceil: int
) -> _Windows:
    reach = (kernel - 1) * dilation + 1
    if auto.startswith("SAME"):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        less, more = total // 2, total - total // 2
        pads = (less, more) if auto == "SAME_UPPER" else (more, less)
    begin, end = (0, 0) if auto == "VALID" else pads
    room = size + begin + end - reach
    if room < 0:
        raise HostError(f"a window of {reach} elements on {size + begin + end}")
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + begin:  # begins after the last element
        count -= 1
    return _Windows(begin, count, kernel, stride, dilation)


@host_op("MaxPool")
def max_pool(
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
    storage_order: int = 0,
    strides: Sequence[int] = (),
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    rank = len(kernel_shape)
    pads = pads or [0] * 2 * rank
    ones = [1] * rank
    settings = list(
        zip(
            kernel_shape,
            strides or ones,
            dilations or ones,
            zip(pads[:rank], pads[rank:], strict=True),
            strict=True,
        )
    )

    def pool(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes = x.shape[2:]
        windows = [
            _windows(size, *each, auto_pad, ceil_mode)
            for size, each in zip(sizes, settings, strict=True)
        ]
        flat, inside = _flat_positions(sizes, windows, order="F" if storage_order else "C")
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        extent = math.prod(sizes)
        rows = x.reshape(*x.shape[:2], extent)
        if storage_order:
            rows = x.transpose(0, 1, *range(x.ndim - 1, 1, -1)).reshape(rows.shape)
        values = np.where(inside, rows[..., flat], np.array(lowest, x.dtype))
        best = values.argmax(-1)
        found = np.take_along_axis(values, best[..., None], -1)[..., 0]
        positions = flat[np.arange(len(flat)), best]
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1) * extent
        shape = (*x.shape[:2], *(each.count for each in windows))
        return found.reshape(shape), (positions + planes).reshape(shape)

    return pool


def _flat_positions(
    sizes: Sequence[int], windows: Sequence[_Windows], order: str
) -> tuple[np.ndarray, np.ndarray]:
    """The flat positions of the elements of each window in a plane, and a mask of those inside."""
    strides = np.cumprod([1, *(sizes if order == "F" else sizes[::-1])])[:-1]
    strides = strides if order == "F" else strides[::-1]
    total, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), np.bool_)
    for size, window, stride in zip(sizes, windows, strides.tolist(), strict=True):
        positions = window.positions
        fits = (positions >= 0) & (positions < size)
        shape = (total.shape[0] * window.count, total.shape[1] * window.kernel)
        here = np.where(fits, positions, 0) * stride
        total = (total[:, None, :, None] + here[:, None]).reshape(shape)
        inside = (inside[:, None, :, None] & fits[:, None]).reshape(shape)
    return total, inside
