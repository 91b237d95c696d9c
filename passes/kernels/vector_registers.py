"""Register tiles of products, for the vectors of a CPU."""

from dataclasses import dataclass

from ...cpu_model import CpuModel


@dataclass(frozen=True)
class RegisterTile:
    """A tile of a product in registers: `rows` by `vectors`."""

    rows: int
    vectors: int


WIDEST = {128: 4, 256: 2, 512: 4}
"""Vectors of a tile of a product, where the result is wide enough, by the width of vectors."""
EFFICIENCY = {1: 0.7, 2: 0.95, 3: 1.0, 4: 1.0}
"""Of a tile, by its vectors: narrow ones load more for each product (measured, AVX-512)."""


def product_tile(cpu: CpuModel, wide: int | None = None) -> RegisterTile:
    """The tile for a product of `wide` vectors, or of very many.

    As many sums as there are registers for, beside a vector of each column and one of the rows;
    few vectors in the last tile that nothing needs.
    """
    widest = WIDEST[cpu.vector_bits]

    def cost(vectors: int) -> float:
        return -(-wide // vectors) * vectors / EFFICIENCY[vectors] if wide else -vectors

    vectors = min(range(widest, 0, -1), key=cost)
    return RegisterTile((cpu.registers - 1 - vectors) // vectors, vectors)


@dataclass(frozen=True)
class Tile:
    """A register tile: `rows` rows by `width` columns."""

    rows: int
    width: int


def choose_tile(rows: int | None, columns: int, cpu: CpuModel) -> Tile | None:
    """The tile for a product of so many rows, None where run time counts them, and columns; None
    when too few columns fill one."""
    lanes = cpu.lanes
    if columns < lanes:
        return None
    tile = product_tile(cpu, -(-columns // lanes))
    return Tile(tile.rows if rows is None else min(tile.rows, rows), tile.vectors * lanes)


SUMS = {128: 4, 256: 4, 512: 8}
"""Vectors of 16 sums of a row that hide the latency of multiply-adds, and leave registers for
another row's; by the width of vectors."""


def state_width(gates: int, vector_bits: int) -> int:
    """Elements of the state in a panel of a recurrence with so many `gates`, whose sums are in
    registers together."""
    return 16 * max(1, SUMS[vector_bits] // gates)
