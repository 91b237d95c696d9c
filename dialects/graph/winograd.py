"""Convolutions by Winograd's minimal filtering (Lavin and Gray, 2016)."""

from dataclasses import dataclass

import numpy as np

from .attributes import Int, Ints
from .base import Tensor, TypeRuleError, builder
from .contraction import KernelContraction
from .types import TensorType, static_size
from .window import output_sizes

KERNEL = 3
"""Taps of a kernel along an axis."""


@dataclass(frozen=True)
class Transforms:
    """F(m, 3) along one axis: ``y = inverse ((kernel g) * (image d))``.

    `d` are ``m + 2`` input pixels, `g` the taps, `y` the `m` output pixels.
    """

    image: np.ndarray
    kernel: np.ndarray
    inverse: np.ndarray


POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
"""Interpolation points besides infinity, by tile size. They are exact in binary, symmetric about 0,
and chosen for small errors. With 256 channels, the error relative to the largest element of the
result is 3e-6 for tiles of 4; with the points 0, 1, -1, 2, -2 of the paper it is 1e-5."""


def winograd_transforms(tile: int) -> Transforms:
    """The transforms for tiles of `tile` output pixels, in f64 (Toom-Cook).

    KeyError for tiles that have no `POINTS`.
    """
    points = POINTS[tile]
    size = tile + KERNEL - 1
    inverse = np.array([[p**i for p in points] + [float(i == tile - 1)] for i in range(tile)])
    image = np.zeros((size, size))
    kernel = np.zeros((size, KERNEL))
    for row, point in enumerate(points):
        others = [p for p in points if p != point]
        image[row, : size - 1] = np.poly(others)[::-1]
        scale = float(np.prod([point - p for p in others]))
        kernel[row] = [point**i / scale for i in range(KERNEL)]
    image[-1] = np.poly(points)[::-1]
    kernel[-1, -1] = 1
    return Transforms(image, kernel, inverse)


class WinogradConvOp(KernelContraction, name="winograd_conv"):
    """A convolution by a 3x3 kernel with stride 1, in tiles of `tile` x `tile` output pixels.

    `x` [N, H, W, g*C], `w` [panels, (tile + 2)^2, C, n] of kernels that were transformed, `n`
    features side by side in a panel; result [N, H', W', panels * n]. Each of the `g` groups of
    channels has the same number of panels. `mr` tiles are multiplied at a time, in registers that
    hold vectors of `lanes`. Results are rounded differently from those of `conv`; see `POINTS`.
    """

    x: Tensor
    w: Tensor
    low: Ints
    high: Ints
    tile: Int
    mr: Int
    lanes: Int

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        low: tuple[int, ...],
        high: tuple[int, ...],
        tile: int,
        mr: int,
        lanes: int,
    ) -> TensorType:
        if x.dtype != np.float32 or w.dtype != np.float32:
            raise TypeRuleError(f"convolves f32, not {x.dtype} with {w.dtype}")
        if x.rank != 4 or w.rank != 4 or not w.is_static:
            raise TypeRuleError(f"cannot convolve {x} with panels {w}")
        panels, products, channels, width = w.static_shape
        if tile not in POINTS or mr < 1 or products != (tile + KERNEL - 1) ** 2:
            raise TypeRuleError(f"panels {w} are not for tiles of {tile}")
        if lanes < 1 or width % lanes or channels % lanes:
            raise TypeRuleError(f"panels {w} are not of vectors of {lanes}")
        groups, rest = divmod(static_size(x.shape[-1]), channels)
        if rest or not groups or panels % groups:
            raise TypeRuleError(f"panels {w} are not for groups of the channels of {x}")
        out = output_sizes(x.shape[1:-1], [KERNEL, KERNEL], [1, 1], [1, 1], low, high)
        return x.with_shape((x.shape[0], *out, panels * width))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        low: tuple[int, ...],
        high: tuple[int, ...],
        tile: int,
        mr: int,
        lanes: int,
    ) -> np.ndarray:
        del mr, lanes
        transforms = winograd_transforms(tile)
        size = tile + KERNEL - 1
        height, width = output_sizes(x.shape[1:3], [KERNEL, KERNEL], [1, 1], [1, 1], low, high)
        grid = [-(-static_size(n) // tile) for n in (height, width)]
        ends = [n * tile + KERNEL - 1 for n in grid]
        padded = np.zeros((x.shape[0], ends[0], ends[1], x.shape[3]))
        padded[:, low[0] : low[0] + x.shape[1], low[1] : low[1] + x.shape[2]] = x[
            :, : ends[0] - low[0], : ends[1] - low[1]
        ]
        view = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
        tiles = np.moveaxis(view[:, ::tile, ::tile], (-2, -1), (0, 1))
        image = _both_ways(transforms.image, tiles)  # [size, size, N, rows, columns, C]
        groups = x.shape[3] // w.shape[2]
        image = np.moveaxis(image.reshape(size * size, -1, groups, w.shape[2]), 2, 0)
        matrices = np.moveaxis(w.reshape(groups, -1, *w.shape[1:]), 1, 3).astype(np.float64)
        products = image @ matrices.reshape(groups, size * size, w.shape[2], -1)
        products = np.moveaxis(products, 0, 2).reshape(size, size, x.shape[0], *grid, -1)
        y = np.moveaxis(_both_ways(transforms.inverse, products), (0, 1), (2, 4))
        y = y.reshape(x.shape[0], grid[0] * tile, grid[1] * tile, -1)
        return y[:, :height, :width].astype(np.float32)


def _both_ways(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`matrix` [m, n] applied along both of the first axes of `x` [n, n, ...]: [m, m, ...]."""
    once = np.tensordot(matrix, x, 1)
    return np.moveaxis(np.tensordot(matrix, once, (1, 1)), 1, 0)


def winograd_kernel(w: np.ndarray, tile: int, width: int) -> np.ndarray:
    """[3, 3, C, F] as panels [F/width, (tile + 2)^2, C, width], transformed in f64."""
    kernel = winograd_transforms(tile).kernel
    size, channels, features = len(kernel), w.shape[2], w.shape[3]
    u = _both_ways(kernel, w.astype(np.float64))
    u = u.reshape(size * size, channels, features // width, width).astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(u, 2, 0))


winograd_conv = builder(WinogradConvOp)
