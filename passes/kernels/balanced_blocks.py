"""Weights of 8 bits in an order in which pairs of their products fit in 16 bits.

VPMADDUBSW adds the products of two adjacent u8 and i8, and saturates. If VPSHUFB moves the factors
of a row first, each column may take 16 of them in an order of its own: the largest weight beside
the least, and so on. Hardly any two weights of one sign that are side by side then have magnitudes
of more than 128 together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, vector
from .group_dot import GroupDot, WideningDot, exceeds_pairs

BLOCK_LINES = 4
"""Lines of groups of four factors in a block."""
BLOCK = 4 * BLOCK_LINES
"""Factors of a block, as many as VPSHUFB indexes."""


@dataclass(frozen=True)
class BalancedBlocks:
    """Weights in blocks, each column in an order of its own. Lines behind the last full block are
    in one that ends with them, and begins in that before it."""

    weights: np.ndarray
    """``[.., lines, n, 4]`` of i8."""
    order: np.ndarray
    """For each weight the factor of its block that it multiplies, as an i8."""
    exact: np.ndarray
    """``[.., lines]``: lines in which pairs of products may exceed 16 bits, and all others of their
    blocks."""


def balance(w: np.ndarray, lines: int) -> BalancedBlocks:
    """Weights ``[panels, .., n, 4]`` of i8 with their `lines` in balanced blocks. Others stay as
    they are: one behind them, which is not full."""
    weights, order, exact = w.copy(), np.zeros_like(w), exceeds_pairs(w)
    full = lines // BLOCK_LINES * BLOCK_LINES
    for first, end, size in ((0, full, BLOCK_LINES), (full, lines, lines - full)):
        if first == end:
            continue
        part = (..., slice(first, end), slice(None), slice(None))
        for panel in range(len(w)):  # one at a time, for less memory
            weights[panel][part], places = _balanced(w[panel][part], size)
            order[panel][part] = places + (BLOCK - 4 * size)
        found = exceeds_pairs(weights[part])
        of_blocks = found.reshape(*found.shape[:-1], -1, size).any(-1)
        exact[..., first:end] = np.repeat(of_blocks, size, -1)
    return BalancedBlocks(weights, order, exact)


def _balanced(w: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of `size` lines of `w` in their new order, and where in its block each weight was."""
    *outer, lines, n, group = w.shape
    factors = group * size
    inner = w.reshape(*outer, lines // size, size, n, group)
    columns = np.swapaxes(inner, -3, -2).reshape(*outer, lines // size, n, factors)
    # sorted with their places below the values, which is faster than to sort places
    ascending = np.sort(columns.astype(np.int16) * BLOCK + np.arange(factors, dtype=np.int16))
    # the least beside the largest, and so on: no pairs have a smaller largest sum, nor a larger
    # least one
    ranks = np.array([[rank, factors - 1 - rank] for rank in range(factors // 2)]).ravel()
    split = ascending[..., ranks].reshape(*outer, lines // size, n, size, group)
    found = np.swapaxes(split, -3, -2).reshape(w.shape)
    return (found >> 4).astype(np.int8), (found & (BLOCK - 1)).astype(np.int8)


FirstLine = Callable[[ir.Value], ir.Value]
"""The first line of the block of a line."""


def block_loops(lines: int) -> list[tuple[int, int, FirstLine]]:
    """The bounds of loops over `lines`, four at least: over full blocks, and over what is left."""
    full = lines // BLOCK_LINES * BLOCK_LINES

    def of_full_blocks(line: ir.Value) -> ir.Value:
        return arith.andi(line, arith.constant(line.type, -BLOCK_LINES))

    def of_others(line: ir.Value) -> ir.Value:
        return arith.constant(line.type, lines - BLOCK_LINES)

    loops = [(0, full, of_full_blocks), (full, lines, of_others)]
    return [loop for loop in loops if loop[0] < loop[1]]


def load_block(memory: ir.Value, at: ir.Value) -> ir.Value:
    """The block of factors at the element `at`, in both halves of a vector."""
    i8 = ir.IntegerType.get_signless(8)
    block = vector.load(ir.VectorType.get([BLOCK], i8), memory, [at])
    return vector.shuffle(block, block, list(range(BLOCK)) * 2)


@dataclass(frozen=True)
class BesideWeights:
    """Buffers that kernels read beside the weights of a `WideningDot`, if they are needed."""

    order: ir.Value | None = None
    """The `order` of balanced blocks, in the places of the weights."""
    exact: ir.Value | None = None
    """Lines in which pairs of products may exceed 16 bits (`exceeds_pairs`), as i8."""

    @staticmethod
    def of(dot: GroupDot, buffers: Sequence[ir.Value]) -> "BesideWeights":
        """The `buffers` that a kernel of `dot` is called with."""
        left = list(buffers)
        order = left.pop(0) if isinstance(dot, WideningDot) and dot.is_balanced else None
        return BesideWeights(order, *left)
