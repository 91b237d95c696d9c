"""Which matmuls and convolutions tensor cores compute by our kernel, and in which tiles."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from ...dialects import graph
from .mma_matmul import F32, MmaShape, MmaTile
from .mma_operands import VECTOR, ImageWindows, widest_copy
from .wgmma_matmul import WgmmaTile

MMA_TYPES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
"""Element types of the operands of ``mma.sync``; the accumulators are f32."""
MAX_ELEMENTS = 1 << 31
"""Elements of an operand or result, less than these: indices have 32 bits."""

ODD_ROWS = "its rows have an odd number of elements, and are copied by pairs"
UNKNOWN_SIZES = "a size is unknown, 0, or too large for indices of 32 bits"

MULTIPROCESSORS = 132
"""Multiprocessors of an H100 or H200."""


@dataclass(frozen=True)
class TileCost:
    """The time that a tile takes, in microseconds.

    A workgroup takes `fixed`, while `resident` of them share a multiprocessor. A step along K takes
    `latency`, or `work` for each workgroup on the multiprocessor if that is longer.
    """

    fixed: float
    latency: float
    work: float
    resident: int

    def time(self, workgroups: int, steps: int) -> float:
        """The time of a kernel."""
        shared = -(-workgroups // MULTIPROCESSORS)
        fixed = self.fixed * max(1.0, shared / self.resident)
        return fixed + steps * max(self.latency, self.work * shared)


COSTS = {
    MmaTile(128, 128, 64, (2, 4), 3): TileCost(4.5, 0.49, 0.77, 2),
    MmaTile(128, 64, 64, (2, 2), 3): TileCost(3.0, 0.46, 0.49, 3),
    MmaTile(64, 128, 64, (2, 4), 3): TileCost(2.5, 0.60, 0.46, 2),
    MmaTile(64, 64, 64, (2, 2), 3): TileCost(3.3, 0.37, 0.25, 4),
    MmaTile(64, 64, 128, (2, 4), 3): TileCost(2.5, 0.78, 0.64, 2),
    MmaTile(64, 32, 64, (2, 2), 4): TileCost(2.8, 0.27, 0.18, 4),
    MmaTile(32, 64, 64, (2, 2), 4): TileCost(2.8, 0.34, 0.19, 4),
    MmaTile(32, 64, 128, (2, 2), 3): TileCost(2.4, 0.69, 0.40, 3),
    MmaTile(32, 32, 64, (2, 2), 6): TileCost(2.0, 0.23, 0.14, 4),
    MmaTile(32, 32, 128, (2, 2), 4): TileCost(2.0, 0.40, 0.25, 3),
    MmaTile(16, 64, 128, (1, 4), 3): TileCost(2.1, 0.46, 0.28, 3),
    MmaTile(16, 32, 128, (1, 2), 4): TileCost(2.1, 0.43, 0.16, 4),
}
"""Tiles, and a regression over 931 kernels on an H200: the matmuls and convolutions of ResNet-50 at
batch 1, 8 and 32 and of BERT, in f16, with and without an epilogue. The tile that it finds is 4 %
slower than the best one, on average."""
F32_COSTS = {
    MmaTile(128, 128, 32, (2, 4), 3): TileCost(4.8, 0.81, 1.98, 1),
    MmaTile(128, 64, 32, (2, 2), 3): TileCost(3.0, 1.13, 0.99, 1),
    MmaTile(64, 128, 32, (2, 4), 3): TileCost(2.9, 1.17, 1.09, 1),
    MmaTile(64, 64, 32, (2, 2), 3): TileCost(2.9, 0.63, 0.59, 3),
    MmaTile(64, 32, 32, (2, 2), 4): TileCost(2.8, 0.52, 0.36, 6),
    MmaTile(32, 64, 32, (2, 2), 4): TileCost(2.5, 0.55, 0.36, 6),
    MmaTile(32, 64, 64, (2, 2), 3): TileCost(2.2, 0.98, 0.73, 6),
    MmaTile(32, 32, 32, (2, 2), 4): TileCost(2.0, 0.35, 0.21, 6),
    MmaTile(32, 32, 64, (2, 2), 4): TileCost(2.3, 0.63, 0.41, 6),
    MmaTile(16, 64, 64, (1, 4), 3): TileCost(2.3, 0.67, 0.45, 6),
    MmaTile(16, 32, 64, (1, 2), 4): TileCost(1.7, 0.72, 0.25, 6),
}
"""As `COSTS`, for f32 in three products of TF32; over 864 kernels, 3 % slower than the best one."""
TF32_COSTS = {replace(tile, k=tile.k // 2): cost for tile, cost in COSTS.items()}
"""As `COSTS`, for TF32: a step has the bytes and instructions of one of 16 bits."""
MAX_PARTS = 16
MIN_STEPS = 2
"""Minimum steps along K of a workgroup if K is split."""
SUM_COST = 4.0
"""Microseconds that the sum of the parts of a split K takes, in a kernel of its own."""


WGMMA_COSTS = {
    WgmmaTile(128, 256, 64, (8, 1), 4, (True, True)): TileCost(6.5, 0.60, 0.75, 1),
    WgmmaTile(128, 128, 64, (8, 1), 3, (True, True)): TileCost(5.0, 0.40, 0.43, 2),
    WgmmaTile(128, 128, 64, (8, 1), 6, (True, True)): TileCost(5.0, 0.35, 0.43, 1),
    WgmmaTile(128, 64, 64, (8, 1), 4, (True, True)): TileCost(4.0, 0.30, 0.31, 2),
    WgmmaTile(64, 128, 64, (4, 1), 4, (True, True)): TileCost(4.0, 0.30, 0.22, 2),
    WgmmaTile(64, 64, 64, (4, 1), 4, (True, True)): TileCost(3.5, 0.25, 0.16, 3),
    WgmmaTile(64, 64, 64, (4, 1), 12, (True, True)): TileCost(3.5, 0.20, 0.16, 1),
    WgmmaTile(64, 32, 64, (4, 1), 14, (True, True)): TileCost(3.5, 0.20, 0.14, 1),
    WgmmaTile(128, 256, 64, (8, 1), 4, (False, True)): TileCost(6.5, 0.70, 0.80, 1),
    WgmmaTile(128, 128, 64, (8, 1), 3, (False, True)): TileCost(5.0, 0.50, 0.48, 2),
    WgmmaTile(128, 64, 64, (8, 1), 4, (False, True)): TileCost(4.0, 0.40, 0.33, 2),
    WgmmaTile(64, 128, 64, (4, 1), 4, (False, True)): TileCost(4.0, 0.40, 0.24, 2),
    WgmmaTile(64, 64, 64, (4, 1), 4, (False, True)): TileCost(3.5, 0.35, 0.17, 3),
    WgmmaTile(128, 256, 64, (8, 1), 4): TileCost(5.5, 0.80, 0.85, 1),
    WgmmaTile(128, 128, 64, (8, 1), 3): TileCost(4.0, 0.55, 0.52, 2),
    WgmmaTile(128, 64, 64, (8, 1), 4): TileCost(3.0, 0.45, 0.36, 2),
    WgmmaTile(64, 64, 64, (4, 1), 4): TileCost(2.8, 0.37, 0.18, 3),
}
"""As `COSTS`, for tiles of warpgroups. These are estimates, from peak rates and the costs of
`mma.sync`: no such kernel has been timed (``python -m graphc.benchmarks.mma_archive``)."""


def costs_of(dtype: np.dtype, products: int) -> dict[MmaTile, TileCost]:
    """The tiles for operands of `dtype`, and their costs; those of f32 are multiplied in `products`
    of TF32."""
    if dtype != F32:
        return COSTS
    return TF32_COSTS if products == 1 else F32_COSTS


def conv_shape(op: graph.ConvOp, tf32: int) -> MmaShape | str:
    """The kernel for a convolution, or the reason why it has none.

    Operands of f32 are multiplied in `tf32` products; 0 for no kernel.

    The image of its windows may be wider than that of `op`, and have more channels: zeros, so that
    vectors can be copied (`image_of`).
    """
    x, w, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    attrs = op.attrs
    if attrs["groups"] != 1:
        return "its groups are convolutions of their own"
    if attrs["layout"] != "channels_last":
        return "its channels are not last"
    if (reason := _reason_against(tf32, x, w, result)) is not None:
        return reason
    windows = ImageWindows(
        x.static_shape,
        w.static_shape[:-2],
        result.static_shape[1:-1],
        tuple(attrs["strides"]),
        tuple(attrs["dilations"]),
        tuple(attrs["low"]),
        vector=16 // x.dtype.itemsize,
    )
    windows = _in_pairs(windows) if _has_pairs(windows) else _in_vectors(windows)
    filters = result.static_shape[-1]
    return _shape(windows.rows, filters, windows.columns, x.dtype, tf32, windows)


def _in_vectors(windows: ImageWindows) -> ImageWindows:
    """The windows of the image with so many channels that a pixel is whole vectors, or half one."""
    channels, vector = windows.channels, windows.vector
    padded = vector // 2 if channels <= vector // 2 else -(-channels // vector) * vector
    return replace(windows, image=(*windows.image[:-1], padded))


def _has_pairs(windows: ImageWindows) -> bool:
    """Return whether every window starts at an even pixel of a row of less than half a vector."""
    even = windows.strides[-1] % 2 == 0 and windows.dilations[-1] == 1
    few = windows.channels <= VECTOR // 2 and windows.vector == VECTOR
    return even and few and windows.kernel[-1] > 1


def _in_pairs(windows: ImageWindows) -> ImageWindows:
    """The same windows of an image whose rows are pairs of pixels of four channels, with a border:
    one vector each."""
    *image, _, _ = windows.image
    pairs = -(-windows.kernel[-1] // 2)
    stride = windows.strides[-1] // 2
    row = (windows.positions[-1] - 1) * stride + pairs
    return replace(
        windows,
        image=(*image, row, VECTOR),
        kernel=(*windows.kernel[:-1], pairs),
        strides=(*windows.strides[:-1], stride),
        low=(*windows.low[:-1], 0),
    )


@dataclass(frozen=True)
class CopiedImage:
    """The sizes of an image ``[N, spatial..., C]`` as its windows are copied, and the pixels of the
    border before it; the kernel's last axis has `taps`."""

    sizes: tuple[int, ...]
    low: tuple[int, ...]
    taps: int


def copied_image(op: graph.ConvOp, windows: ImageWindows) -> CopiedImage | None:
    """The image that `windows` of `conv_shape` are of; None if it is that of `op`."""
    sizes = graph.type_of(op.x).static_shape
    if windows.image == sizes:
        return None
    none = (0,) * len(windows.low)
    *others, row, channels = windows.image
    if windows.kernel[-1] == graph.type_of(op.w).shape[-3]:
        return CopiedImage(windows.image, none, windows.kernel[-1])
    low = (*none[:-1], op.attrs["low"][-1])
    return CopiedImage((*others, 2 * row, channels // 2), low, 2 * windows.kernel[-1])


def matmul_shape(op: graph.MatmulOp, tf32: int) -> MmaShape | str:
    """The kernel for ``[..., M, K] x [K, N]``, or equal batches on the right, or the reason why
    there is none; `tf32` as for `conv_shape`."""
    a, b, result = (graph.type_of(v) for v in (op.a, op.b, op.result))
    if (reason := _reason_against(tf32, a, b, result)) is not None:
        return reason
    k, n = b.static_shape[-2:]
    batch = math.prod(b.static_shape[:-2])
    if not widest_copy(k, 16 // a.dtype.itemsize):
        return ODD_ROWS
    if batch > 1 and a.shape[:-2] != b.shape[:-2]:
        return "its batches broadcast"
    return _shape(math.prod(a.static_shape[:-1]) // batch, n, k, a.dtype, tf32, batch=batch)


def _reason_against(tf32: int, *types: graph.TensorType) -> str | None:
    """The reason why the kernel does not compute tensors of `types`; None if it does."""
    left, right, _ = types
    allowed = (*MMA_TYPES, F32) if tf32 else MMA_TYPES
    if left.dtype not in allowed or right.dtype != left.dtype:
        return "its operands are " + ("neither f32 nor" if tf32 else "no") + " floats of 16 bits"
    return None if can_index(*types) else UNKNOWN_SIZES


def can_index(*types: graph.TensorType) -> bool:
    """Return whether tensors of `types` have static sizes, elements, and indices of 32 bits."""
    if not all(type_.is_static for type_ in types):
        return False
    return all(0 < math.prod(type_.static_shape) < MAX_ELEMENTS for type_ in types)


def _shape(
    m: int,
    n: int,
    k: int,
    dtype: np.dtype,
    tf32: int,
    windows: ImageWindows | None = None,
    batch: int = 1,
) -> MmaShape:
    """The shape with the tile and the parts of K of least cost."""
    products = tf32 if dtype == F32 else 1
    costs = costs_of(dtype, products)
    any_tile = next(iter(costs))
    shape = MmaShape(m, n, k, dtype, any_tile, batch, windows, products=products)
    return _fastest(shape, costs)


def with_warpgroups(shape: MmaShape) -> MmaShape:
    """`shape`, in tiles of warpgroups if these are faster: of matmuls whose right operand has K
    innermost, of elements of 16 bits."""
    if not shape.k_innermost or shape.dtype not in MMA_TYPES:
        return shape
    is_bulk = shape.k % VECTOR == 0
    bulk = (is_bulk and shape.windows is None, is_bulk)
    allowed = {
        tile: cost
        for tile, cost in WGMMA_COSTS.items()
        if all(can or not does for can, does in zip(bulk, tile.bulk, strict=True))
    }
    return _fastest(shape, COSTS | allowed)


def _fastest(shape: MmaShape, costs: Mapping[MmaTile, TileCost]) -> MmaShape:
    """`shape` with the tile of `costs` and the parts of K of least cost."""
    shapes = (
        replace(shape, tile=tile, parts=parts)
        for tile in costs
        for parts in (_possible_parts(shape.k, tile) if shape.batch == 1 else [1])
    )
    best = min(shapes, key=lambda each: _cost(each, costs[each.tile]))
    stages = max(best.tile.least_stages, min(best.tile.stages, best.steps))
    return replace(best, tile=replace(best.tile, stages=stages))


def _possible_parts(k: int, tile: MmaTile) -> list[int]:
    steps, rest = divmod(k, tile.k)
    most = 1 if rest else min(MAX_PARTS, steps // MIN_STEPS)
    return [1, *(parts for parts in range(2, most + 1) if steps % parts == 0)]


def cost_of(shape: MmaShape) -> float:
    """The time of a kernel in microseconds; its tile has as many stages as in the tables."""
    costs = costs_of(shape.dtype, shape.products)
    return _cost(shape, (costs | WGMMA_COSTS)[shape.tile])


def _cost(shape: MmaShape, cost: TileCost) -> float:
    """The time of the kernel in microseconds."""
    time = cost.time(shape.workgroups, shape.steps)
    return time if shape.parts == 1 else time + SUM_COST
