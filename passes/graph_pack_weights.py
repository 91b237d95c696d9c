"""Constant weights laid out for the registers of the target."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..dialects import graph
from ..mlir import ir
from .base import FUNCTION, Pass, PassState
from .greedy import apply_rewrites
from .query import constant_array, producer
from .registry import register
from .rewrite import Rewrite
from .vectors import LANES, product_tile
from .windows import is_pointwise, windows_as_rows

IM2COL_ROWS = 1024
"""A convolution with more places than this is left alone: rows of windows would fill the caches."""
TILES_WIDTH = 32
"""Columns of two tiles of AMX."""
BF16_BOUND = 2e-2
"""What factors in steps of 2^-8 change a sum of their products by, of the largest."""
MIN_DEPTH = 16
"""Shorter sums do not pay."""


@register
@dataclass(frozen=True)
class GraphPackWeights(Pass):
    """Multiply by constant weights in panels that fill the vector registers.

    %1 = "graph.matmul"(%x, %w) : 128x768, 768x3072
    -->
    %1 = "graph.packed_matmul"(%x, %w') {rows = 6} : 128x768, 48x768x64

    Channels-last convolutions become such products too: with a 1x1 kernel as they are, with a
    larger one, on few places, of `graph.im2col`. Exact up to the order of sums.

    With a unit that multiplies bf16, factors are rounded to that, and `graph.narrow_matmul` sums
    their products in f32.
    """

    name = "graph-pack-weights"
    anchor = FUNCTION
    vector_bits: int = 0
    """Width of the target's vectors: 128, 256 or 512; with 0 the pass does nothing."""
    bf16: Literal["none", "amx", "avx512bf16"] = "none"
    """The unit that multiplies bf16, with vectors of 512 bits; with ``none`` products stay f32."""

    @property
    def bound(self) -> float | None:

        return None if self.bf16 == "none" else BF16_BOUND

    def run(self, op: Any, state: PassState) -> None:
        if self.vector_bits in LANES:
            wide = self.vector_bits == 512
            unit = self.bf16 if wide and self.bf16 != "none" else None
            rewrites = [rule(self.vector_bits, unit) for rule in (PackMatmul, PackConv)]
            apply_rewrites(op, rewrites, state)


@dataclass(frozen=True)
class Tile:
    """A register tile: `rows` rows by `width` columns."""

    rows: int
    width: int


def choose_tile(rows: int | None, columns: int, vector_bits: int) -> Tile | None:
    """The tile for a product of so many rows, None where run time counts them, and columns; None
    when too few columns fill one."""
    lanes = LANES[vector_bits]
    if columns < lanes:
        return None
    tile = product_tile(vector_bits, -(-columns // lanes))
    return Tile(tile.rows if rows is None else min(tile.rows, rows), tile.vectors * lanes)


class _Pack(Rewrite):
    """Base of rewrites to packed products; holds the width of vectors."""

    def __init__(self, vector_bits: int, unit: str | None = None):
        self.vector_bits, self.unit = vector_bits, unit
        self.bound = None if unit is None else BF16_BOUND

    def _tile(self, x: ir.Value, rows: Any, weights: np.ndarray) -> Tile | str:
        """The tile for `rows` rows of or from `x` by `weights` [K, N], or why there is none."""
        if not isinstance(graph.type_of(x).shape[-1], int):
            return "the length of the sums has a name"
        known = rows if isinstance(rows, int) else None
        if known == 0:
            return "there are no rows"
        if weights.dtype != np.float32:
            return "only f32 is packed"
        if weights.shape[0] < MIN_DEPTH:
            return "the sums are too short"
        tile = choose_tile(known, weights.shape[1], self.vector_bits)
        return "no panel fits the columns" if tile is None else tile

    def _packed(self, x: ir.Value, weights: np.ndarray, tile: Tile) -> ir.Value:
        if self.unit is not None:
            return self._narrow(x, weights, self.unit, tile)
        panels = graph.constant(value=graph.pack_weights(weights, tile.width))
        return graph.packed_matmul(
            x, panels, rows=tile.rows, columns=weights.shape[1], lanes=LANES[self.vector_bits]
        )

    def _narrow(self, x: ir.Value, weights: np.ndarray, unit: str, tile: Tile) -> ir.Value:
        """The product in bf16; zeros fill up the depth."""
        missing = -weights.shape[0] % graph.DEPTH_STEPS[unit]
        x = graph.cast(x, to=graph.BF16)
        if missing:
            x = _widened(x, missing)
            weights = np.pad(weights, [(0, missing), (0, 0)])
        width = TILES_WIDTH if unit == "amx" else tile.width
        panels = graph.constant(value=graph.pack_pairs(weights, width))
        return graph.narrow_matmul(x, panels, rows=tile.rows, columns=weights.shape[1], unit=unit)


class PackMatmul(_Pack):
    """``matmul(x, constant)  -->  packed_matmul(x, panels)``."""

    name = "pack-matmul"
    root = graph.MatmulOp

    def pattern(self, op: Any) -> dict[str, Any] | None:
        weights = _constant_matrix(op.b)
        return None if weights is None else {"weights": weights}

    def check(self, op: Any, weights: np.ndarray) -> str | None:
        tile = self._tile(op.a, _rows(op.a), weights)
        return tile if isinstance(tile, str) else None

    def rewrite(self, op: Any, weights: np.ndarray) -> ir.Value:
        tile = self._tile(op.a, _rows(op.a), weights)
        assert isinstance(tile, Tile)
        return self._packed(op.a, weights, tile)


class PackConv(_Pack):
    """``conv(x, constant)  -->  packed_matmul(im2col(x), panels)``; of 1x1, x or a slice of it."""

    name = "pack-conv"
    root = graph.ConvOp

    def pattern(self, op: Any) -> dict[str, Any] | None:
        attrs = op.attrs
        if attrs["layout"] != "channels_last" or attrs["groups"] != 1:
            return None
        weights = constant_array(op.w)
        return None if weights is None else {"weights": weights, "attrs": attrs}

    def check(self, op: Any, weights: np.ndarray, attrs: dict[str, Any]) -> str | None:
        rows = _rows(op.result)
        matrix = weights.reshape(-1, weights.shape[-1])
        tile = self._tile(op.x, rows, matrix)
        if isinstance(tile, str):
            return tile
        few = isinstance(rows, int) and rows <= IM2COL_ROWS
        if not is_pointwise(weights, attrs) and not few:
            return "too many windows to lay out as rows"
        return None

    def rewrite(self, op: Any, weights: np.ndarray, attrs: dict[str, Any]) -> ir.Value:
        matrix = weights.reshape(-1, weights.shape[-1])
        tile = self._tile(op.x, _rows(op.result), matrix)
        assert isinstance(tile, Tile)
        return self._packed(windows_as_rows(op, weights, attrs), matrix, tile)


def _constant_matrix(x: ir.Value) -> np.ndarray | None:
    """The data of a constant matrix, or of one that is transposed, as tied embeddings are."""
    transposed = producer(x, graph.TransposeOp)
    array = constant_array(x if transposed is None else transposed.x)
    if array is None or array.ndim != 2:
        return None
    return array if transposed is None else array.transpose(transposed.attrs["perm"])


def _widened(x: ir.Value, count: int) -> ir.Value:
    """`x` with so many zeros behind the last axis."""
    rank = graph.type_of(x).rank
    zero = graph.constant(value=np.zeros((), graph.BF16))
    return graph.pad(x, zero, low=[0] * rank, high=[0] * (rank - 1) + [count])


def _rows(x: ir.Value) -> Any:
    return graph.element_count(graph.type_of(x).shape[:-1])
