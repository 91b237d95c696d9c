"""The rows of a block, cut into register tiles."""

from dataclasses import dataclass

from ...mlir import arith, ir
from .emitter import VectorEmitter, even_tiles


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
