"""Overlap of boxes (intersection over union)."""

from collections.abc import Sequence

import numpy as np

from ...mlir import arith, ir
from ..kernels.scalar_functions import product
from .lowering import scalar_constant

_F32 = np.dtype(np.float32)
_BOOL = np.dtype(np.bool_)


def is_apart(a: Sequence[ir.Value], b: Sequence[ir.Value], threshold: ir.Value) -> ir.Value:
    """True (an i1) if the intersection over union of two boxes is at most `threshold`.

    A box is (lowest y, lowest x, highest y, highest x), f32 scalars.
    """
    nothing = scalar_constant(0, _F32)
    sides = [
        arith.maximumf(
            arith.subf(arith.minimumf(a[i + 2], b[i + 2]), arith.maximumf(a[i], b[i])), nothing
        )
        for i in range(2)
    ]
    common = product(*sides)
    areas = [product(arith.subf(x[2], x[0]), arith.subf(x[3], x[1])) for x in (a, b)]
    union = arith.subf(arith.addf(*areas), common)
    overlap = arith.divf(common, union)
    too_much = arith.cmpf(arith.CmpFPredicate.OGT, overlap, threshold)
    some = arith.cmpf(arith.CmpFPredicate.OGT, common, nothing)
    false = scalar_constant(False, _BOOL)
    return arith.select(arith.andi(some, too_much), false, scalar_constant(True, _BOOL))
