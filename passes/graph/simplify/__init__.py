"""Algebraic simplifications, one idea per rewrite, grouped by subject.

Each docstring says when a rewrite is exact. *Exact* means bit for bit; the other rewrites keep
every finite result within one rounding, and introduce no NaN or infinity.
"""

from . import (
    arithmetic,
    casts,
    chains,
    col2im,
    commuted,
    convolution,
    expansion,
    gathered_tables,
    indexing,
    movement,
    pooling,
    powers,
    quantization,
    reduced_columns,
    selection,
    slicing,
)

REWRITES = (
    *arithmetic.REWRITES,
    *powers.REWRITES,
    *chains.REWRITES,
    *commuted.REWRITES,
    *casts.REWRITES,
    *movement.REWRITES,
    *slicing.REWRITES,
    *selection.REWRITES,
    *indexing.REWRITES,
    *gathered_tables.REWRITES,
    *reduced_columns.REWRITES,
    *expansion.REWRITES,
    *convolution.REWRITES,
    *col2im.REWRITES,
    *pooling.REWRITES,
    *quantization.REWRITES,
)
"""All simplifications, in the order in which they are tried."""
