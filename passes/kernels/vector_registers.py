"""Register tiles of matmuls, for the vectors of a CPU."""

from dataclasses import dataclass

from ...cpu_model import CpuModel


@dataclass(frozen=True)
class RegisterTile:
    """A register tile of a matmul: `rows` (MR) by `vectors`."""

    rows: int
    vectors: int


WIDEST = {128: 4, 256: 2, 512: 4}
"""Vectors of a register tile, if the result is wide enough, by the bits of a vector."""
EFFICIENCY = {1: 0.7, 2: 0.95, 3: 1.0, 4: 1.0}
"""Efficiency of a tile by its vectors: narrow tiles load more per product (measured, AVX-512)."""


def register_tile(cpu: CpuModel, wide: int | None = None) -> RegisterTile:
    """The register tile for a matmul of `wide` vectors of columns, or of very many.

    It has as many accumulators as fit beside the vectors of a line of weights and one broadcast
    element of a row, and few unused vectors in the last tile.
    """
    widest = WIDEST[cpu.vector_bits]

    def cost(vectors: int) -> float:
        return -(-wide // vectors) * vectors / EFFICIENCY[vectors] if wide else -vectors

    vectors = min(range(widest, 0, -1), key=cost)
    return RegisterTile((cpu.registers - 1 - vectors) // vectors, vectors)


@dataclass(frozen=True)
class MatmulTile:
    """A register tile: `rows` rows by `width` columns."""

    rows: int
    width: int


def choose_tile(rows: int | None, columns: int, cpu: CpuModel) -> MatmulTile | None:
    """The tile for a matmul of `rows` rows (None if dynamic) and `columns` columns; None if the
    columns do not fill a vector."""
    lanes = cpu.lanes
    if columns < lanes:
        return None
    tile = register_tile(cpu, -(-columns // lanes))
    return MatmulTile(tile.rows if rows is None else min(tile.rows, rows), tile.vectors * lanes)


STATE_VECTORS = {128: 4, 256: 4, 512: 8}
"""Vectors of 16 accumulators of a row that hide the latency of FMAs and leave registers for another
row, by the bits of a vector."""


def state_width(gates: int, vector_bits: int) -> int:
    """Elements of the state in a panel of a recurrence with `gates` gates, all of whose
    accumulators are in registers."""
    return 16 * max(1, STATE_VECTORS[vector_bits] // gates)
