"""Tiles of matmuls on NVIDIA GPUs: the attribute ``compilation_info`` of a contraction.

The backend's own choice suits large matrices: at least 64x64 on tensor cores, so that a sentence of
128 tokens occupies 24 of 132 multiprocessors; and no shared memory for f32.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ...dialects import graph
from ...mlir import ir
from .tiles import parse_opaque

SUBGROUP = 32
"""Threads of a warp."""
MMA = (16, 8, 16)
"""M, N and K of the instruction ``mma.sync``."""
INTRINSICS = {
    np.dtype(np.float16): "NV_MMA_SYNC_F32_16x8x16_F16",
    np.dtype(ml_dtypes.bfloat16): "NV_MMA_SYNC_F32_16x8x16_BF16",
}
SHARED_STAGES = 2
"""Stages of the software pipeline: steps along K with operands in shared memory or in flight."""

VECTOR_BYTES = 16
"""Bytes that a thread loads and stores at once."""
COPY_THREADS = 256
"""Maximum threads of a workgroup that copies."""

ENOUGH_WORKGROUPS = 256
"""About two workgroups per multiprocessor of a data-centre GPU; if there are fewer, K is split."""
LONG = 512
"""K from which on these tiles beat the backend's own, if those give enough workgroups:
25088x512x256 (M, K, N) takes 49 microseconds here, and 72 there; 25088x128x512, 68 and 42."""
MIN_STEPS = 2
"""Minimum steps along K of a workgroup if K is split."""


@dataclass(frozen=True)
class Tile:
    """The tile of a workgroup: `rows` by `columns` of the result, in steps of `depth` along K.

    `across` is the grid of subgroups for tensor cores, or the tile of one thread for f32.
    """

    rows: int
    columns: int
    across: tuple[int, int]
    depth: int

    def workgroups(self, m: int, n: int) -> int:
        """The number of workgroups for a result of `m` by `n`."""
        return -(-m // self.rows) * -(-n // self.columns)


MMA_TILES = (
    Tile(128, 128, (2, 2), 64),
    Tile(64, 64, (2, 2), 64),
    Tile(32, 32, (2, 2), 128),
)
"""Tiles for tensor cores; each is for matrices for which the next larger one gives too few
workgroups. Measured within models on an H200, in microseconds, for the backend's choice and for
these: 128x768x2304 (M, K, N), 23 and 12; 128x768x3072, 26 and 13; 128x768x768, 25 and 8."""
BACKEND_TILE = 64
"""Rows and columns of the smallest tile that the backend chooses."""
SPLIT_TILE = Tile(32, 64, (2, 2), 128)
"""Tile for split K. 128x3072x768 within BERT: 48 microseconds in 96 workgroups, and in six parts 13
and 2 for their sum."""
MIN_SPLIT = 1024
"""Minimum K to split. A step takes about a microsecond if the weights come from memory, and the sum
of the parts three or four."""

F32_TILES = (
    Tile(64, 64, (8, 4), 32),
    Tile(16, 64, (2, 4), 32),
    Tile(32, 32, (2, 4), 32),
    Tile(32, 32, (2, 4), 16),
)
"""Tiles for f32, by preference; they must divide the matrix. 128x768x3072 within BERT takes 293
microseconds by the backend's choice, and 48."""


@dataclass(frozen=True)
class Plan:
    """A tile, and the number of parts of a split K, which are summed at the end."""

    tile: Tile
    parts: int


def matmul_plan(
    left: graph.TensorType, right: graph.TensorType, result: graph.TensorType
) -> Plan | None:
    """The plan for ``[B, M, K] x [B, K, N]`` or ``[M, K] x [K, N]``; None for matmuls without tiles
    here: dynamic sizes, vectors, integers, f64."""
    sizes = [size for size in (*left.shape, right.shape[-1]) if isinstance(size, int)]
    if right.dtype != left.dtype or len(sizes) <= left.rank or 0 in sizes:
        return None
    *batch, m, k, n = sizes
    count = math.prod(batch)
    if m < MMA[0] or n < MMA[1] or k < MMA[2]:
        return None
    if left.dtype in INTRINSICS:
        return _mma_plan(count, m, k, n, can_split=not batch)
    if left.dtype == np.float32:
        return _f32_plan(count, m, k, n, can_split=not batch)
    return None


def _mma_plan(batch: int, m: int, k: int, n: int, *, can_split: bool) -> Plan | None:
    parts = _parts(SPLIT_TILE, m, k, n) if can_split else 1
    if parts > 1:
        return Plan(SPLIT_TILE, parts)
    enough = [t for t in MMA_TILES if batch * t.workgroups(m, n) >= ENOUGH_WORKGROUPS]
    if k < LONG and any(tile.rows >= BACKEND_TILE for tile in enough):
        return None
    tile = enough[0] if enough else MMA_TILES[-1]
    return Plan(replace(tile, depth=64) if k % tile.depth else tile, 1)


def _f32_plan(batch: int, m: int, k: int, n: int, *, can_split: bool) -> Plan | None:
    fitting = [t for t in F32_TILES if not (m % t.rows or n % t.columns or k % t.depth)]
    for tile in fitting:
        if batch * tile.workgroups(m, n) >= ENOUGH_WORKGROUPS:
            return Plan(tile, 1)
    small = [tile for tile in fitting if tile.rows < F32_TILES[0].rows]
    if not small:
        return None
    return Plan(small[0], _parts(small[0], m, k, n) if can_split else 1)


def _parts(tile: Tile, m: int, k: int, n: int) -> int:
    """The parts of a split K: as few as give enough workgroups, or as many as possible."""
    workgroups, steps = tile.workgroups(m, n), k // tile.depth
    if k < MIN_SPLIT or k % tile.depth or workgroups >= ENOUGH_WORKGROUPS:
        return 1
    possible = [p for p in range(1, steps // MIN_STEPS + 1) if steps % p == 0]
    enough = [p for p in possible if p * workgroups >= ENOUGH_WORKGROUPS]
    return min(enough, default=max(possible, default=1))


def tile_attribute(dtype: np.dtype, tile: Tile, outer: int, sizes: Sequence[int]) -> ir.Attribute:
    """``compilation_info`` of a contraction of `dtype` with `outer` loops before those of M, N and
    K, which have `sizes`."""
    ones, zeros = [1] * outer, [0] * outer
    config: dict[str, Any] = {"workgroup": [*ones, tile.rows, tile.columns, 0]}
    config["promote_operands"] = [0, 1]  # to shared memory
    a, b = tile.across
    if dtype in INTRINSICS:
        threads = SUBGROUP * a * b
        whole = (tile.rows, tile.columns, tile.depth)
        config["mma_kind"] = f"#iree_gpu.mma_layout<{INTRINSICS[dtype]}>"
        config["subgroup"] = [*ones, tile.rows // a // MMA[0], tile.columns // b // MMA[1], 0]
        config["reduction"] = [*zeros, 0, 0, tile.depth // MMA[2]]
        if any(size % unit for size, unit in zip(sizes, whole, strict=True)):
            config["padding"] = [*ones, *whole]
        stages = f"prefetch_num_stages = {SHARED_STAGES}, "
    else:
        threads = tile.rows // a * (tile.columns // b)
        config["thread"] = [*ones, a, b, 0]
        config["reduction"] = [*zeros, 0, 0, tile.depth]
        stages = ""
    options = (
        f", {{gpu_pipeline_options = #iree_gpu.pipeline_options<{stages}"
        "no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}"
    )
    return _compilation_info(config, threads, options)


def im2col_attribute(windows: graph.TensorType, spatial: int) -> ir.Attribute | None:
    """``compilation_info`` of the copy of `windows`, ``[N, out..., kernel..., C]`` or without N.

    A workgroup copies the last row of the kernel at neighbouring positions. None if channels are no
    whole vectors, or a loop has one step, which the backend drops.
    """
    sizes, vector = windows.shape, VECTOR_BYTES // windows.dtype.itemsize
    if any(not isinstance(size, int) or size < 2 for size in sizes):
        return None
    *_, width, channels = windows.static_shape
    at = len(sizes) - 2 - spatial  # the last spatial axis
    row = width * channels // vector
    if channels % vector or row > COPY_THREADS:
        return None
    positions = windows.static_shape[at]
    fitting = [
        p for p in range(1, positions + 1)
        if positions % p == 0 and p * row <= COPY_THREADS and p * row % SUBGROUP == 0
    ]  # fmt: skip
    if not fitting:
        return None
    workgroup, thread = [1] * len(sizes), [1] * len(sizes)
    workgroup[at], workgroup[-2], workgroup[-1] = fitting[-1], width, channels
    thread[-1] = vector
    return _compilation_info({"thread": thread, "workgroup": workgroup}, fitting[-1] * row)


def _compilation_info(config: dict[str, Any], threads: int, options: str = "") -> ir.Attribute:
    listed = ", ".join(f"{name} = {value}" for name, value in config.items())
    return parse_opaque(
        f"#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{{{listed}}}>,"
        " translation_info = #iree_codegen.translation_info<"
        f"pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [{threads}, 1, 1] "
        f"subgroup_size = {SUBGROUP}{options}>>"
    )
