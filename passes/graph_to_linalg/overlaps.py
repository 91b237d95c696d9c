"""Overlap of boxes (intersection over union)."""

from collections.abc import Sequence

import numpy as np

from ...mlir import arith, ir
from ..kernels.detection import area_of, overlap_exceeds
from .lowering import scalar_constant

_BOOL = np.dtype(np.bool_)


def is_apart(a: Sequence[ir.Value], b: Sequence[ir.Value], threshold: ir.Value) -> ir.Value:
    """True (an i1) if the intersection over union of two boxes is at most `threshold`.

    A box is (lowest y, lowest x, highest y, highest x), f32 scalars.
    """
    clash = overlap_exceeds(a, b, [area_of(a), area_of(b)], threshold)
    return arith.xori(clash, scalar_constant(True, _BOOL))
