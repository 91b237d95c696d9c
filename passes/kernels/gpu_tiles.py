"""Tiles of matmuls and convolutions on NVIDIA GPUs, by type and size.

The backend's own choice suits large matrices: at least 64x64 on tensor cores, so that a sentence of
128 tokens occupies 24 of 132 multiprocessors; and no shared memory for f32.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from .mma_matmul import MMA
from .mma_tiles import MMA_TYPES

VECTOR_BYTES = 16
"""Bytes that a thread loads and stores at once."""

ENOUGH_WORKGROUPS = 256
"""About two workgroups per multiprocessor of a data-centre GPU; if there are fewer, K is split."""
MIN_STEPS = 2
"""Minimum steps along K of a workgroup if K is split."""


@dataclass(frozen=True)
class WorkgroupTile:
    """The tile of a workgroup: `rows` by `columns` of the result, in steps of `k` along K.

    `across` is the grid of subgroups for tensor cores, or the tile of one thread for f32.
    """

    rows: int
    columns: int
    across: tuple[int, int]
    k: int

    def workgroups(self, m: int, n: int) -> int:
        """The number of workgroups for a result of `m` by `n`."""
        return -(-m // self.rows) * -(-n // self.columns)


@dataclass(frozen=True)
class PreferredTile:
    """A tile for tensor cores, its steps along K by preference, and the workgroups from which
    on it is preferred to those after it."""

    rows: int
    columns: int
    across: tuple[int, int]
    steps: tuple[int, ...]
    enough: int

    def with_step(self, k: int) -> WorkgroupTile:
        """The tile with steps of `k`."""
        return WorkgroupTile(self.rows, self.columns, self.across, k)


MMA_TILES = (
    PreferredTile(128, 128, (2, 4), (64,), 384),
    PreferredTile(128, 64, (4, 2), (64,), 192),
    PreferredTile(64, 64, (2, 2), (192, 128, 64), 192),
    PreferredTile(32, 128, (1, 4), (64,), 384),
    PreferredTile(32, 64, (2, 2), (128, 64), 384),
    PreferredTile(32, 32, (2, 2), (128, 192, 64), 96),
    PreferredTile(16, 32, (1, 4), (128, 64), 0),
)
"""Tiles for tensor cores, by preference. A step along K takes one to two microseconds whatever its
size: large tiles pay if they leave two or three workgroups to each multiprocessor, and small ones
take long steps. Tiles that divide the matrix go first: at its border, operands are loaded element
by element. From a sweep over the matmuls and convolutions of ResNet-50 at batch 1, 8 and 32, and of
BERT, on an H200 (24 tiles each, weights from memory)."""
SHORT_K = 512
"""K up to which tiles of 64 rows and more take steps of 64."""
SPLIT_TILE = WorkgroupTile(32, 64, (2, 2), 128)
"""Tile for split K. 128x3072x768 within BERT: 48 microseconds in 96 workgroups, and in six parts 13
and 2 for their sum."""
MIN_SPLIT = 1024
"""Minimum K to split. A step takes about a microsecond if the weights come from memory, and the sum
of the parts three or four."""

F32_TILES = (
    WorkgroupTile(64, 64, (8, 4), 32),
    WorkgroupTile(16, 64, (2, 4), 32),
    WorkgroupTile(32, 32, (2, 4), 32),
    WorkgroupTile(32, 32, (2, 4), 16),
)
"""Tiles for f32, by preference; they must divide the matrix. 128x768x3072 within BERT takes 293
microseconds by the backend's choice, and 48."""


@dataclass(frozen=True)
class MatmulTiling:
    """A tile, and the number of parts of a split K, which are summed at the end."""

    tile: WorkgroupTile
    parts: int


def matmul_tiling(
    left: graph.TensorType, right: graph.TensorType, result: graph.TensorType
) -> MatmulTiling | None:
    """The tiling of ``[B, M, K] x [B, K, N]`` or ``[M, K] x [K, N]``.

    None for matmuls without tiles here: dynamic sizes, vectors, integers, f64.
    """
    sizes = [size for size in (*left.shape, right.shape[-1]) if isinstance(size, int)]
    if right.dtype != left.dtype or len(sizes) <= left.rank or 0 in sizes:
        return None
    *batch, m, k, n = sizes
    count = math.prod(batch)
    if m < MMA[0] or n < MMA[1] or k < MMA[2]:
        return None
    if left.dtype in MMA_TYPES:
        return _mma_tiling(count, m, k, n, can_split=not batch)
    if left.dtype == np.float32:
        return _f32_tiling(count, m, k, n, can_split=not batch)
    return None


def _mma_tiling(batch: int, m: int, k: int, n: int, *, can_split: bool) -> MatmulTiling:
    parts = _parts(SPLIT_TILE, m, k, n) if can_split else 1
    if parts > 1:
        return MatmulTiling(SPLIT_TILE, parts)
    tile = mma_tile(batch, m, k, n) or _padded_tile(batch, m, k, n)
    return MatmulTiling(tile, 1)


def mma_tile(batch: int, m: int, k: int, n: int) -> WorkgroupTile | None:
    """The tile for a matmul on tensor cores that divides it, None if none does."""
    for tile in MMA_TILES:
        step = next((each for each in _steps(tile, k) if k % each == 0), None)
        if step is not None and not (m % tile.rows or n % tile.columns):
            found = tile.with_step(step)
            if batch * found.workgroups(m, n) >= tile.enough:
                return found
    return None


def _padded_tile(batch: int, m: int, k: int, n: int) -> WorkgroupTile:
    """The tile for a matmul that it does not divide."""
    for tile in MMA_TILES:
        found = tile.with_step(next((each for each in _steps(tile, k) if k % each == 0), 64))
        if batch * found.workgroups(m, n) >= tile.enough:
            return found
    raise AssertionError("the last tile is for every matmul")


def _steps(tile: PreferredTile, k: int) -> tuple[int, ...]:
    return (64,) if k <= SHORT_K and tile.rows >= 64 else tile.steps


def _f32_tiling(batch: int, m: int, k: int, n: int, *, can_split: bool) -> MatmulTiling | None:
    fitting = _fitting_f32(m, k, n)
    for tile in fitting:
        if batch * tile.workgroups(m, n) >= ENOUGH_WORKGROUPS:
            return MatmulTiling(tile, 1)
    small = [tile for tile in fitting if tile.rows < F32_TILES[0].rows]
    if not small:
        return None
    return MatmulTiling(small[0], _parts(small[0], m, k, n) if can_split else 1)


def _fitting_f32(m: int, k: int, n: int) -> list[WorkgroupTile]:
    return [t for t in F32_TILES if not (m % t.rows or n % t.columns or k % t.k)]


def _parts(tile: WorkgroupTile, m: int, k: int, n: int) -> int:
    """The parts of a split K: as few as give enough workgroups, or as many as possible."""
    workgroups, steps = tile.workgroups(m, n), k // tile.k
    if k < MIN_SPLIT or k % tile.k or workgroups >= ENOUGH_WORKGROUPS:
        return 1
    possible = [p for p in range(1, steps // MIN_STEPS + 1) if steps % p == 0]
    enough = [p for p in possible if p * workgroups >= ENOUGH_WORKGROUPS]
    return min(enough, default=max(possible, default=1))


ENOUGH_IMPLICIT = 128
"""Workgroups from which on a convolution is an implicit GEMM. With fewer, its windows are copied,
and K is split, which implicit GEMM does not do."""


def implicit_tile(op: graph.ConvOp) -> WorkgroupTile | None:
    """The tile of a convolution of f32 as implicit GEMM; None for those without: other types,
    unknown sizes, groups, channels that are no whole vectors, few output positions."""
    x, w, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    attrs = op.attrs
    if attrs["groups"] != 1 or attrs["layout"] != "channels_last":
        return None
    if x.dtype != np.float32 or w.dtype != x.dtype:
        return None
    if not (x.is_static and w.is_static and result.is_static) or 0 in (*x.shape, *w.shape):
        return None
    if x.static_shape[-1] * x.dtype.itemsize % VECTOR_BYTES:
        return None
    m, n = math.prod(result.static_shape[:-1]), result.static_shape[-1]
    fitting = _fitting_f32(m, math.prod(w.static_shape[:-1]), n)
    return next((each for each in fitting if each.workgroups(m, n) >= ENOUGH_IMPLICIT), None)
