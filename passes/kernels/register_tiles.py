"""The rows of a block, cut into register tiles, and what these prefetch."""

import math
from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import Prefetch, VectorEmitter, even_tiles

AHEAD_SHARE = 1 / 2
"""Share of a line of a panel that a tile of dynamic rows prefetches at a time, at most. Tiles of
one or two rows, which wait for memory, may prefetch all of it."""


@dataclass(frozen=True)
class RegisterTiles:
    """`count` register tiles of `size` rows, from row `first` of a block on."""

    count: int | ir.Value
    size: int
    first: int | ir.Value


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


def prefetch_per_row(emitter: VectorEmitter, elements: int, rows: ir.Value) -> ir.Value:
    """The share of the next `elements` weights that each of `rows` dynamic rows, which may be none,
    prefetches."""
    return arith.ceildivui(emitter.index(elements), arith.maxui(rows, emitter.index(1)))


def prefetch_share(
    emitter: VectorEmitter,
    start: ir.Value,
    line: ir.Value,
    size: int,
    per_row: ir.Value,
    kc: int,
    width: int,
) -> Prefetch:
    """The share of the next weights, which begin at `start`, that the tile of `size` rows from row
    `line` of a block on prefetches while `kc` lines of `width` elements are multiplied."""
    most = width if size <= 2 else math.ceil(width * AHEAD_SHARE)
    step = arith.ceildivui(emitter.times(per_row, size), emitter.index(kc))
    step = arith.minui(step, emitter.index(most))
    return Prefetch(emitter.add(start, arith.muli(line, per_row)), step, most)
