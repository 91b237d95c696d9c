"""Composite ops recognised in what exporters write out: one file for each family.

Each docstring says how exact a rewrite is. *But for rounding* means that the composite computes
the same formula with roundings in other places, usually fewer.
"""

from . import (
    activations,
    attention,
    fold_into_norm,
    grouped_heads,
    normalization,
    rotary,
    softmax,
)

REWRITES = (
    *activations.REWRITES,
    *normalization.REWRITES,
    *fold_into_norm.REWRITES,
    *softmax.REWRITES,
    *attention.REWRITES,
    *grouped_heads.REWRITES,
    *rotary.REWRITES,
)
"""All rewrites that recognise composites, in the order in which they are tried."""
