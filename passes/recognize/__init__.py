"""Composite ops recognised in what exporters write out: one file for each family.

Each docstring says how exact a rewrite is. *But for rounding* means that the composite computes
the same formula with roundings in other places, usually fewer.
"""

from . import activations

REWRITES = (*activations.REWRITES,)
"""All that recognise composites, in the order in which they are tried."""
