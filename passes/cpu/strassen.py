"""Selection of the matmuls by constant weights to compute by Strassen-like algorithms."""

import math

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.strassen import StrassenShape
from ..kernels.vector_registers import choose_tile

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
    share, and their sums must be finite."""
    if not x.is_static:
        return None
    rows, (k, columns) = math.prod(x.static_shape[:-1]), weights.shape
    if rows * weights.size < BLOCK_MULTIPLICATIONS or not np.abs(weights).max() <= LARGEST_SUMMAND:
        return None

    def pays(algorithm: graph.BilinearAlgorithm) -> bool:
        small = min(k // algorithm.k, columns // algorithm.columns) < BLOCK_SIZE
        uneven = k % (algorithm.k * lanes)
        workgroups = (
            rows // algorithm.rows // BLOCK_ROWS * (columns // algorithm.columns // BLOCK_PANEL)
        )
        return not small and not uneven and workgroups >= threads

    paying = [name for name, algorithm in graph.ALGORITHMS.items() if pays(algorithm)]
    return min(paying, key=lambda name: graph.ALGORITHMS[name].share, default=None)


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
        wanted=max(MIN_WORKGROUPS, 2 * threads), cpu=cpu,
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


def _replicas(shape: StrassenShape, threads: int) -> int:
    """The number of copies of the sums of rows: one per thread if few threads all read the same
    rows."""
    return threads if shape.m_blocks < threads <= MAX_REPLICAS else 1
