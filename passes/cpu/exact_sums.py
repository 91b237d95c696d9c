"""Contractions of dequantized tensors that f32 sums without rounding, whatever the order."""

import numpy as np

from ...dialects import graph
from ..infra.query import constant_scalar
from .quantized_operands import QuantizedWeights

EXACT = 1 << 24
"""Magnitude up to which f32 holds every integer."""

_F32 = np.finfo(np.float32)


def odd_factors(scales: np.ndarray) -> np.ndarray:
    """The odd integer by which each of the normal f32 `scales` is a multiple of a power of two."""
    fractions, _ = np.frexp(np.abs(scales))
    whole = np.ldexp(fractions, 24).astype(np.int64)
    return whole // (whole & -whole)


def reason_against_exact(x: graph.DequantizeOp, weights: QuantizedWeights, axis: int) -> str | None:
    """The reason why f32 may round sums of the products of `x` by `weights`, whose features are
    along `axis`; None if it does not.

    All products of a feature are multiples of one number: the product of both scales. If the sum of
    their magnitudes is at most 2^24 times an odd factor less, every partial sum is exact, and equal
    to that of the integers times the scales.
    """
    scale, scales = constant_scalar(x.scale), weights.per_feature(axis)
    if scale is None or scales is None:
        return "the scale of the input is not constant"
    if not all(map(_is_moderate, (scale, scales, scale.astype(np.float64) * scales))):
        return "scales are subnormal, or as large as f32 holds"
    limits, zero = np.iinfo(graph.type_of(x.x).dtype), int(constant_scalar(x.zero_point))
    largest = max(limits.max - zero, zero - limits.min)
    others = tuple(n for n in range(weights.integers.ndim) if n != axis)
    sums = largest * np.abs(weights.integers).sum(others, dtype=np.float64)
    factors = odd_factors(np.asarray(scale)).astype(np.float64) * odd_factors(scales)
    return "f32 rounds its sums" if (sums * factors).max(initial=0) > EXACT else None


def _is_moderate(scales: np.ndarray) -> bool:
    """Return whether `scales` are normal numbers of f32, also times any integer that it holds."""
    sizes = np.abs(scales).astype(np.float64)
    return bool(((sizes >= _F32.tiny) & (sizes * EXACT <= _F32.max)).all())
