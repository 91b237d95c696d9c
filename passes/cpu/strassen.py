"""Which products by constant weights are computed by blocks, with fewer multiplications."""

import math

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.strassen import StrassenShape
from ..kernels.vector_registers import choose_tile

BLOCK_BOUND = 1e-5
"""What sums of blocks change a sum of products by, of the largest, with some room."""
BLOCK_ROWS = 32
"""Of a block; fewer are read and stored about as often as they are multiplied."""
BLOCK_SIZE = 256
"""Of the depth and of the columns of a block: in smaller ones sums are much of the work, and what
they write to memory costs more than they gain where others use the caches, too."""
BLOCK_PANEL = 64
"""Columns in a piece of work, of so many rows; fewer pieces than threads leave some idle."""
BLOCK_PRODUCTS = 1 << 26
"""Multiplications of a product for which it pays to sum its blocks."""
MOST_COPIES = 2
"""Of sums of rows. More threads would be longer at making them than at reading those of others."""
MIN_PIECES = 4
"""Of work: two for each thread, but for very few threads."""
LARGEST_SUMMAND = float(np.finfo(np.float32).max) / 16
"""Sums of as many blocks as algorithms add are finite."""


def best_blocks(
    x: graph.TensorType, weights: np.ndarray, lanes: int, threads: int = 1
) -> str | None:
    """The algorithm with the fewest products that pays for all rows of `x` by `weights` [K, N], if
    one does: rows must be known, blocks even in depth, and large enough for `threads` to share, and
    their sums finite."""
    if not x.is_static:
        return None
    rows, (depth, columns) = math.prod(x.static_shape[:-1]), weights.shape
    if rows * weights.size < BLOCK_PRODUCTS or not np.abs(weights).max() <= LARGEST_SUMMAND:
        return None

    def pays(algorithm: graph.BilinearAlgorithm) -> bool:
        small = min(depth // algorithm.depth, columns // algorithm.columns) < BLOCK_SIZE
        uneven = depth % (algorithm.depth * lanes)
        pieces = (
            rows // algorithm.rows // BLOCK_ROWS * (columns // algorithm.columns // BLOCK_PANEL)
        )
        return not small and not uneven and pieces >= threads

    paying = [name for name, algorithm in graph.ALGORITHMS.items() if pays(algorithm)]
    return min(paying, key=lambda name: graph.ALGORITHMS[name].share, default=None)


def by_blocks(
    x: ir.Value, weights: np.ndarray, blocks: str, cpu: CpuModel, threads: int
) -> ir.Value:
    """All rows of `x` by `weights` [K, N], by the algorithm called `blocks`."""
    lead, algorithm = graph.type_of(x).static_shape[:-1], graph.ALGORITHMS[blocks]
    depth, columns = weights.shape
    tile = choose_tile(
        -(-math.prod(lead) // algorithm.rows), -(-columns // algorithm.columns), cpu
    )  # fmt: skip
    assert tile is not None  # blocks are large
    shape = StrassenShape(
        math.prod(lead), depth // algorithm.depth, columns, blocks,
        width=tile.width, lanes=cpu.lanes, tile=tile.rows,
        wanted=max(MIN_PIECES, 2 * threads), cpu=cpu,
    )  # fmt: skip
    return graph.strassen_matmul(
        graph.strassen_terms(x, blocks=blocks, copies=_copies(shape, threads)),
        graph.constant(value=graph.pack_sums(weights, blocks, shape.width)),
        blocks=blocks,
        shape=list(lead),
        columns=columns,
        tile=shape.tile,
        lanes=shape.lanes,
        pieces=shape.wanted,
    )


def _copies(shape: StrassenShape, threads: int) -> int:
    """Of the sums of rows: a few threads have their own where all read the same rows."""
    return threads if shape.row_blocks < threads <= MOST_COPIES else 1
