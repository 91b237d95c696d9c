"""Batch normalisation, and other constants for each channel, folded into weights and biases."""

from . import affine, normalization

REWRITES = (*normalization.REWRITES, *affine.REWRITES)
"""The rewrites, in the order in which they are tried."""
