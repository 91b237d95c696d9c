"""The forms in which matmuls by constant weights are computed."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.vector_registers import MatmulTile, choose_tile
from .strassen import (
    BlocksOfMany,
    best_blocks,
    best_blocks_of_many,
    by_blocks,
    by_rows,
    tile_of_blocks,
)
from .weight_ranges import largest_magnitude

TILES_WIDTH = 32
"""Columns of two tiles of AMX."""
F24_BOUND = 5e-5
"""Relative error of a sum of products whose factors are rounded to steps of 2^-16, with some margin
for sums that cancel."""
BF16_BOUND = 2e-2
"""Error of a sum of products whose factors are rounded to steps of 2^-8, relative to the largest
sum."""
BF16X3_BOUND = 5e-5
"""The same for steps of 2^-16, with some margin for sums that cancel."""
BF16X3_MIN_K = 128
"""Minimum K for three bf16 matmuls to be faster than one f32 matmul."""
BF16X3_MIN_ROWS = 16
"""Rows of a tile; fewer leave the unit idle."""
BF16X3_MULTIPLICATIONS = 1 << 26
"""Minimum multiplications of a matmul for which writing the terms of its rows to memory pays."""
BF16X3_COLUMNS = 256
"""Columns below which writing the terms is a larger share of the work, and `BF16X3_MULTIPLICATIONS`
grows in proportion."""
F16_LANES = 8
"""Minimum lanes of a vector for numbers to be f16: such CPUs widen them in one instruction."""
SAMPLE = 1024
"""Weights that are looked at first: few of those that were not rounded to 16 bits are exact."""
F24_ROWS = 4
"""Maximum rows for which a matmul is bound by reading its weights."""
LARGEST_BF16 = float(ml_dtypes.finfo(graph.BF16).max)
"""Largest finite bf16; larger factors would round to infinity."""
LIKELY_ROWS = 128
"""Rows assumed if they are dynamic."""


@dataclass(frozen=True)
class MatmulForm:
    """f32 matmuls on the vectors of `cpu`."""

    cpu: CpuModel
    bound: float | None = None
    """Error of the results, relative to the largest; None if only the order of sums changes."""
    allow_f24: bool = False
    """True if large weights of matmuls with few rows may be rounded to 24 bits."""
    allow_strassen: bool = False
    """True if large matmuls may be computed by blocks, with fewer multiplications."""
    threads: int = 1
    """Threads that will share the work."""

    @property
    def lanes(self) -> int:
        """Lanes of a vector."""
        return self.cpu.lanes

    def tile(self, rows: int | None, columns: int) -> MatmulTile | None:
        """See `choose_tile`."""
        return choose_tile(rows, columns, self.cpu)

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """Build the matmul of `x`, of `rows` rows, by `weights` [K, N], which must have a tile."""
        tile = self.tile(rows, weights.shape[1])
        assert tile is not None
        if self.allow_strassen:
            blocks = best_blocks(graph.type_of(x), weights, self.lanes, self.threads)
            if blocks is not None:
                return by_blocks(x, weights, blocks, self.cpu, self.threads)
        stored = self._exact_half(weights) or weights.dtype
        if stored == weights.dtype and self._is_mostly_read(rows, weights):
            panels = graph.constant(value=graph.pack_f24(weights))
            return graph.f24_matmul(x, panels, mr=tile.rows, columns=weights.shape[1])
        panels = graph.constant(value=graph.pack_weights(weights.astype(stored), tile.width))
        return graph.packed_matmul(
            x, panels, mr=tile.rows, columns=weights.shape[1], lanes=self.lanes
        )

    def blocks_of_many(self, weights: np.ndarray) -> BlocksOfMany | str:
        """The algorithm for a dynamic number of rows by `weights` [K, N] from some number on, or
        the reason why there is none."""
        if self._exact_half(weights) is not None:
            return "16 bits hold the weights"
        return best_blocks_of_many(weights, self.lanes, self.threads)

    def few_rows(self, weights: np.ndarray, chosen: BlocksOfMany) -> int | str:
        """The most of a dynamic number of rows that read 24 bits of `weights`, or the reason why
        none do."""
        if not self._is_mostly_read(F24_ROWS, weights):
            return "its weights are in the second cache, narrow or too large for 24 bits"
        tile = tile_of_blocks(weights.shape[1], chosen.blocks, self.cpu)
        if tile.width != graph.F24_WIDTH:
            return f"its panels are {tile.width} columns wide, those of 24 bits {graph.F24_WIDTH}"
        return max(F24_ROWS, tile.rows - 1)  # a full tile joins the weights for others

    def build_by_rows(
        self, x: ir.Value, weights: np.ndarray, chosen: BlocksOfMany, few_rows: int = 0
    ) -> ir.Value:
        """Build the matmul of a dynamic number of rows, from some number on by what is `chosen`, up
        to `few_rows` by 24 bits of the weights."""
        return by_rows(x, weights, chosen, self.cpu, self.threads, few_rows)

    def _exact_half(self, weights: np.ndarray) -> np.dtype | None:
        """The type of 16 bits that holds large weights exactly, or None: that halves the time to
        read them, and the kernel widens them beside its multiplications."""
        if weights.nbytes < self.cpu.l2_bytes:
            return None
        types = (t for t in graph.HALVES if t == graph.BF16 or self.lanes >= F16_LANES)
        return next((each for each in types if is_exact(weights, each)), None)

    def _is_mostly_read(self, rows: int | None, weights: np.ndarray) -> bool:
        """Return whether a matmul is bound by reading its weights, which exceed the L2, and these
        may be rounded to 24 bits."""
        few = self.allow_f24 and rows is not None and rows <= F24_ROWS
        if not few or weights.nbytes < self.cpu.l2_bytes:
            return False
        wide = weights.shape[1] >= graph.F24_WIDTH
        return wide and largest_magnitude(weights) <= LARGEST_BF16


@dataclass(frozen=True)
class Bf16Form(MatmulForm):
    """Matmuls of factors rounded to bf16, on a unit that multiplies bf16."""

    bound: float | None = BF16_BOUND
    unit: str = "amx"

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """See `MatmulForm`."""
        columns = weights.shape[1]
        tile = self.tile(rows, columns)
        assert tile is not None
        x, weights = _filled_up(graph.cast(x, to=graph.BF16), weights, self.unit)
        width = TILES_WIDTH if self.unit == "amx" else tile.width
        panels = graph.constant(value=graph.pack_pairs(weights, width))
        return graph.bf16_matmul(x, panels, mr=tile.rows, columns=columns, unit=self.unit)


@dataclass(frozen=True)
class Bf16x3Form(MatmulForm):
    """f32 matmuls, the larger ones as three bf16 matmuls on the tiles of AMX."""

    bound: float | None = BF16X3_BOUND

    def build(self, x: ir.Value, weights: np.ndarray, rows: int | None) -> ir.Value:
        """See `MatmulForm`."""
        if not self.pays(LIKELY_ROWS if rows is None else rows, weights):
            return super().build(x, weights, rows)
        x, weights = _filled_up(x, weights, "amx")
        panels = graph.constant(value=graph.pack_hi_lo(weights, TILES_WIDTH))
        return graph.bf16x3_matmul(graph.split_hi_lo(x), panels, columns=weights.shape[1])

    @staticmethod
    def pays(rows: int, weights: np.ndarray) -> bool:
        """Return whether `rows` rows by `weights` are a large matmul, of weights that bf16 terms
        can represent."""
        if rows < BF16X3_MIN_ROWS or weights.shape[0] < BF16X3_MIN_K:
            return False
        share = min(weights.shape[1] / BF16X3_COLUMNS, 1)
        if share * rows * weights.size < BF16X3_MULTIPLICATIONS:
            return False
        return largest_magnitude(weights) <= LARGEST_BF16  # nor NaN


def is_exact(weights: np.ndarray, dtype: np.dtype) -> bool:
    """Return whether `dtype` holds all elements of a matrix."""
    sample = weights.flat[:: max(1, weights.size // SAMPLE)]
    parts = (sample, *(weights if weights.flags.c_contiguous else weights.T))
    with np.errstate(over="ignore"):
        return all(np.array_equal(part.astype(dtype).astype(part.dtype), part) for part in parts)


def _filled_up(x: ir.Value, weights: np.ndarray, unit: str) -> tuple[ir.Value, np.ndarray]:
    """The factors, zero-padded along K to a multiple of the step of `unit`."""
    missing = -weights.shape[0] % graph.K_STEPS[unit]
    if not missing:
        return x, weights
    type_ = graph.type_of(x)
    zero = graph.constant(value=np.zeros((), type_.dtype))
    high = [0] * (type_.rank - 1) + [missing]
    x = graph.pad(x, zero, low=[0] * type_.rank, high=high)
    return x, np.pad(weights, [(0, missing), (0, 0)])
