"""The rows of a block, cut into register tiles, and what these prefetch."""

import math
from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import Prefetch, VectorEmitter, even_tiles

SMALL_TILE_SHARE = 1 / 8
"""Share of the next weights that a tile of fewer rows than fill the registers prefetches. If it
is the only one, memory limits how fast weights are read, and more prefetches make it slower."""


@dataclass(frozen=True)
class RegisterTiles:
    """`count` register tiles of `size` rows, from row `first` of a block on."""

    count: int | ir.Value
    size: int
    first: int | ir.Value
    latest: ir.Value | None = None
    """The row at which the last tile begins, at most: it overlaps others. It may be negative."""

    def line(self, emitter: VectorEmitter, number: ir.Value) -> ir.Value:
        """The first row of tile `number`, in the block."""
        line = emitter.add(emitter.times(number, self.size), self.first)
        return line if self.latest is None else arith.minsi(line, self.latest)


def even_register_tiles(rows: int, most: int) -> list[RegisterTiles]:
    """`rows` in as few tiles as possible, whose heights differ by at most one."""
    tiles, done = [], 0
    for count, size in even_tiles(rows, most):
        tiles.append(RegisterTiles(count, size, done))
        done += count * size
    return tiles


def falling_tiles(emitter: VectorEmitter, rows: ir.Value, most: int) -> list[RegisterTiles]:
    """`rows` rows, whose number is dynamic, in full tiles, then in ever smaller ones."""
    tiles, left, done, height = [], rows, emitter.index(0), most
    while True:
        count = arith.divui(left, emitter.index(height))
        tiles.append(RegisterTiles(count, height, done))
        if height == 1:
            return tiles
        taken = emitter.times(count, height)
        left, done = arith.subi(left, taken), arith.addi(done, taken)
        height = 1 << (height - 1).bit_length() - 1  # the next smaller power of two


def overlapping_tiles(
    emitter: VectorEmitter, rows: ir.Value, size: int, before: ir.Value
) -> list[RegisterTiles]:
    """`rows` rows, whose number is dynamic, in full tiles, the last of which ends with them and may
    overlap others, also those `before` them. Rows that are too few for a tile together with these
    are taken one by one. That is half of the code of `falling_tiles`, for rows that may be computed
    twice, and are seldom few."""
    full, zero = emitter.index(size), emitter.index(0)
    fits = arith.cmpi(arith.CmpIPredicate.uge, arith.addi(before, rows), full)
    tiles = arith.select(fits, arith.ceildivui(rows, full), zero)
    single = RegisterTiles(arith.select(fits, zero, rows), 1, 0)
    full_tiles = RegisterTiles(tiles, size, 0, arith.subi(rows, full))
    return [full_tiles, *([single] if size > 1 else [])]


def prefetch_per_row(emitter: VectorEmitter, elements: int, rows: ir.Value) -> ir.Value:
    """The share of the next `elements` weights that each of `rows` dynamic rows, which may be none,
    prefetches."""
    return arith.ceildivui(emitter.index(elements), arith.maxui(rows, emitter.index(1)))


def prefetch_share(
    emitter: VectorEmitter,
    start: ir.Value,
    line: ir.Value,
    per_row: ir.Value,
    full_tile: int | None,
    kc: int,
    width: int,
) -> Prefetch:
    """The share of the next weights, which begin at `start`, that the tile from row `line` of a
    block on prefetches while `kc` lines of `width` elements are multiplied. `full_tile` are its
    rows, if they fill the registers."""
    at = emitter.add(start, arith.muli(line, per_row))
    if full_tile is None:
        return Prefetch(at, math.ceil(width * SMALL_TILE_SHARE))
    step = arith.ceildivui(emitter.times(per_row, full_tile), emitter.index(kc))
    return Prefetch(at, arith.minui(step, emitter.index(width)), width)
