"""Selection of the matmuls by constant weights to compute by Strassen-like algorithms."""

import math
from dataclasses import dataclass

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.strassen_shape import StrassenShape
from ..kernels.vector_registers import MatmulTile, choose_tile
from .weight_ranges import largest_magnitude

BLOCK_BOUND = 1e-5
"""Error that sums of blocks add to a sum of products, relative to the largest, with some margin."""
BLOCK_ROWS = 32
"""Minimum rows of a block; fewer are read and stored about as often as they are multiplied."""
BLOCK_SIZE = 256
"""Minimum K and columns of a block. In smaller blocks, sums are a large part of the work, and their
memory traffic outweighs the gain if other workloads use the caches too."""
BLOCK_PANEL = 64
"""Columns of a workgroup of `BLOCK_ROWS` rows; fewer workgroups than threads leave some idle."""
BLOCK_MULTIPLICATIONS = 1 << 26
"""Minimum multiplications of a matmul for which it pays to sum its blocks."""
MAX_REPLICAS = 2
"""Maximum copies of the sums of rows. For more threads, computing the copies takes longer than
reading those of others."""
MIN_WORKGROUPS = 4
"""Minimum number of workgroups; with more than two threads, there are two per thread."""
LARGEST_SUMMAND = float(np.finfo(np.float32).max) / 16
"""Largest weight for which all sums of blocks in the algorithms are finite."""


def best_blocks(
    x: graph.TensorType, weights: np.ndarray, lanes: int, threads: int = 1
) -> str | None:
    """The paying algorithm with the fewest products for all rows of `x` by `weights` [K, N], or
    None. Rows must be static, K must split evenly, blocks must be large enough for `threads` to
    share, and their sums must be finite. For other rows see `best_blocks_of_many`."""
    if not x.is_static:
        return None
    rows, fitting = math.prod(x.static_shape[:-1]), _fitting(weights, lanes)
    if rows * weights.size < BLOCK_MULTIPLICATIONS or not fitting or not _has_sums(weights):
        return None
    paying = [name for name in fitting if rows >= _least_rows(name, weights, threads)]
    return min(paying, key=_share, default=None)


@dataclass(frozen=True)
class BlocksOfMany:
    """The algorithm named `blocks` for matmuls of at least `least` rows, which the run counts."""

    blocks: str
    least: int


def best_blocks_of_many(weights: np.ndarray, lanes: int, threads: int = 1) -> BlocksOfMany | str:
    """The algorithm with the fewest products for a dynamic number of rows by `weights` [K, N], and
    the rows from which it pays; or the reason why there is none."""
    fitting = _fitting(weights, lanes)
    if not fitting:
        return f"blocks would have fewer than {BLOCK_SIZE} lines or columns, or K no whole vectors"
    if not _has_sums(weights):
        return "weights are too large for their sums, or not finite"
    blocks = min(fitting, key=_share)
    many = -(-BLOCK_MULTIPLICATIONS // weights.size)
    return BlocksOfMany(blocks, max(many, _least_rows(blocks, weights, threads)))


def _share(name: str) -> float:
    return graph.ALGORITHMS[name].share


def _fitting(weights: np.ndarray, lanes: int) -> list[str]:
    """The algorithms for whose blocks `weights` [K, N] are large enough."""
    k, columns = weights.shape

    def fits(algorithm: graph.BilinearAlgorithm) -> bool:
        small = min(k // algorithm.k, columns // algorithm.columns) < BLOCK_SIZE
        return not small and not k % (algorithm.k * lanes)

    return [name for name, algorithm in graph.ALGORITHMS.items() if fits(algorithm)]


def _has_sums(weights: np.ndarray) -> bool:
    """Return whether all sums of weights are finite."""
    return largest_magnitude(weights) <= LARGEST_SUMMAND


def _least_rows(name: str, weights: np.ndarray, threads: int) -> int:
    """The rows from which blocks are enough for `threads` to share."""
    algorithm = graph.ALGORITHMS[name]
    across = weights.shape[1] // algorithm.columns // BLOCK_PANEL
    return algorithm.rows * BLOCK_ROWS * -(-threads // across)


def by_blocks(
    x: ir.Value, weights: np.ndarray, blocks: str, cpu: CpuModel, threads: int
) -> ir.Value:
    """Build the matmul of all rows of `x` by `weights` [K, N] with the algorithm named `blocks`."""
    lead, algorithm = graph.type_of(x).static_shape[:-1], graph.ALGORITHMS[blocks]
    k, columns = weights.shape
    tile = choose_tile(
        -(-math.prod(lead) // algorithm.rows), -(-columns // algorithm.columns), cpu
    )  # fmt: skip
    assert tile is not None  # blocks are large
    shape = StrassenShape(
        math.prod(lead), k // algorithm.k, columns, blocks,
        nr=tile.width, lanes=cpu.lanes, mr=tile.rows,
        wanted=_wanted(threads), cpu=cpu,
    )  # fmt: skip
    return graph.strassen_matmul(
        graph.strassen_terms(x, blocks=blocks, replicas=_replicas(shape, threads)),
        graph.constant(value=graph.pack_sums(weights, blocks, shape.nr)),
        blocks=blocks,
        shape=list(lead),
        columns=columns,
        mr=shape.mr,
        lanes=shape.lanes,
        workgroups=shape.wanted,
    )


def tile_of_blocks(columns: int, blocks: str, cpu: CpuModel) -> MatmulTile:
    """The register tile of a dynamic number of rows by a block of `columns`."""
    tile = choose_tile(None, -(-columns // graph.ALGORITHMS[blocks].columns), cpu)
    assert tile is not None  # blocks are large
    return tile


def by_rows(
    x: ir.Value,
    weights: np.ndarray,
    chosen: BlocksOfMany,
    cpu: CpuModel,
    threads: int,
    few_rows: int = 0,
) -> ir.Value:
    """Build the matmul of the rows of `x`, whose number is dynamic, by `weights` [K, N]; up to
    `few_rows` by 24 bits of these."""
    blocks, columns = chosen.blocks, weights.shape[1]
    tile = tile_of_blocks(columns, blocks, cpu)
    panels = graph.pack_sums_and_blocks(weights, blocks, tile.width, split=few_rows > 0)
    return graph.plain_or_strassen_matmul(
        x,
        graph.constant(value=panels),
        blocks=blocks,
        few_rows=few_rows,
        least=chosen.least,
        columns=columns,
        mr=tile.rows,
        lanes=cpu.lanes,
        workgroups=_wanted(threads),
        replicas=threads if threads <= MAX_REPLICAS else 1,
    )


def _wanted(threads: int) -> int:
    """The workgroups that `threads` need."""
    return max(MIN_WORKGROUPS, 2 * threads)


def _replicas(shape: StrassenShape, threads: int) -> int:
    """The number of copies of the sums of rows: one per thread if few threads all read the same
    rows."""
    return threads if shape.m_blocks < threads <= MAX_REPLICAS else 1
