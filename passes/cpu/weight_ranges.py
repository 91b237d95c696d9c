"""Ranges of constant weights."""

import numpy as np


def largest_magnitude(weights: np.ndarray) -> float:
    """The largest magnitude of f32 weights, without a copy of them; NaN if any is NaN."""
    return float(np.maximum(weights.max(), -weights.min()))
