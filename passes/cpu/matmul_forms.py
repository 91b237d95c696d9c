"""The forms in which products by constant weights are computed."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.vector_registers import Tile, choose_tile
from .strassen import best_blocks, by_blocks

TILES_WIDTH = 32
"""Columns of two tiles of AMX."""
COMPACT_BOUND = 5e-5
"""What factors in steps of 2^-16 change a sum of their products by, with some room for sums that
cancel."""
BF16_BOUND = 2e-2
"""What factors in steps of 2^-8 change a sum of their products by, of the largest."""
SPLIT_BOUND = 5e-5
"""The same for factors in steps of 2^-16, with some room for sums that cancel."""
SPLIT_DEPTH = 128
"""Shorter sums are no quicker as three products of bf16 than as one of f32."""
SPLIT_ROWS = 16
"""Of a tile; fewer leave the unit idle."""
SPLIT_PRODUCTS = 1 << 26
"""Multiplications of a product for which it pays to write the terms of its rows to memory."""
SPLIT_COLUMNS = 256
"""Where there are fewer, writing the terms is more of the work, and as much more work is needed."""
COMPACT_ROWS = 4
"""More are more work than reading the weights."""
LARGEST_BF16 = float(ml_dtypes.finfo(graph.BF16).max)
"""What is larger would round to infinity."""
LIKELY_ROWS = 128
"""Where run time counts them."""


@dataclass(frozen=True)
class PackedProducts:
    """Products in f32, by vectors of `cpu`."""

    cpu: CpuModel
    bound: float | None = None
    """How far results move, relative to the largest; None where the order of sums alone changes."""
    compact: bool = False
    """Whether large weights of few rows may be rounded to 24 bits."""
    strassen: bool = False
    """Whether large products may be computed by blocks, with fewer multiplications."""
    threads: int = 1
    """That will share the work."""

    @property
    def lanes(self) -> int:
        """Of a vector."""
        return self.cpu.lanes

    def tile(self, rows: int | None, columns: int) -> Tile | None:
        """See `choose_tile`."""
        return choose_tile(rows, columns, self.cpu)

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """The product of `x`, of so many rows, by `weights` [K, N], for which there is a tile."""
        tile = self.tile(rows, weights.shape[1])
        assert tile is not None
        if rows is not None and self.compact and self._is_mostly_read(rows, weights):
            panels = graph.constant(value=graph.pack_compact(weights))
            return graph.compact_matmul(x, panels, rows=rows, columns=weights.shape[1])
        if self.strassen:
            blocks = best_blocks(graph.type_of(x), weights, self.lanes, self.threads)
            if blocks is not None:
                return by_blocks(x, weights, blocks, self.cpu, self.threads)
        panels = graph.constant(value=graph.pack_weights(weights, tile.width))
        return graph.packed_matmul(
            x, panels, rows=tile.rows, columns=weights.shape[1], lanes=self.lanes
        )

    def _is_mostly_read(self, rows: int, weights: np.ndarray) -> bool:
        """True if a product is little more than reading its weights, which the L2 does not hold,
        and these have 24 bits."""
        if rows > COMPACT_ROWS or weights.nbytes < self.cpu.l2_bytes:
            return False
        wide = weights.shape[1] >= graph.COMPACT_WIDTH
        return wide and bool(np.abs(weights).max() <= LARGEST_BF16)


@dataclass(frozen=True)
class NarrowProducts(PackedProducts):
    """Products of factors rounded to bf16, by a unit that multiplies it."""

    bound: float | None = BF16_BOUND
    unit: str = "amx"

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """See `PackedProducts`."""
        columns = weights.shape[1]
        tile = self.tile(rows, columns)
        assert tile is not None
        x, weights = _filled_up(graph.cast(x, to=graph.BF16), weights, self.unit)
        width = TILES_WIDTH if self.unit == "amx" else tile.width
        panels = graph.constant(value=graph.pack_pairs(weights, width))
        return graph.narrow_matmul(x, panels, rows=tile.rows, columns=columns, unit=self.unit)


@dataclass(frozen=True)
class SplitProducts(PackedProducts):
    """Products in f32, the larger ones as three of bf16 by the tiles of AMX."""

    bound: float | None = SPLIT_BOUND

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """See `PackedProducts`."""
        if not self.pays(LIKELY_ROWS if rows is None else rows, weights):
            return super().build(x, weights, rows)
        x, weights = _filled_up(x, weights, "amx")
        panels = graph.constant(value=graph.pack_terms(weights, TILES_WIDTH))
        return graph.split_matmul(graph.split_terms_of(x), panels, columns=weights.shape[1])

    @staticmethod
    def pays(rows: int, weights: np.ndarray) -> bool:
        """Whether `rows` rows by `weights` are a large product, of weights that have terms."""
        if rows < SPLIT_ROWS or weights.shape[0] < SPLIT_DEPTH:
            return False
        share = min(weights.shape[1] / SPLIT_COLUMNS, 1)
        if share * rows * weights.size < SPLIT_PRODUCTS:
            return False
        return bool(np.abs(weights).max() <= LARGEST_BF16)  # nor NaN


def _filled_up(x: ir.Value, weights: np.ndarray, unit: str) -> tuple[ir.Value, np.ndarray]:
    """The factors with zeros, so that the depth is what `unit` multiplies."""
    missing = -weights.shape[0] % graph.DEPTH_STEPS[unit]
    if not missing:
        return x, weights
    type_ = graph.type_of(x)
    zero = graph.constant(value=np.zeros((), type_.dtype))
    high = [0] * (type_.rank - 1) + [missing]
    x = graph.pad(x, zero, low=[0] * type_.rank, high=high)
    return x, np.pad(weights, [(0, missing), (0, 0)])
