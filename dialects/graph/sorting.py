"""Sorting of rows."""

import numpy as np

from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_number
from .reduction import wide
from .traits import MixedPrecision
from .types import TensorType


class ArgsortRowsOp(GraphOp, name="argsort_rows"):
    """The indices that sort the rows of a matrix (i64).

    Rows compare by their first elements that differ; NaN is larger than all others and equal to
    itself. Equal rows keep their order.
    """

    amp = MixedPrecision.KEEP

    x: Tensor

    @staticmethod
    def infer(x: TensorType) -> TensorType:
        require_number(x)
        if x.rank != 2:
            raise TypeRuleError(f"sorts the rows of a matrix, not of {x}")
        return TensorType(x.shape[:1], np.dtype(np.int64))

    @staticmethod
    def evaluate(x: np.ndarray) -> np.ndarray:
        if not x.shape[1]:
            return np.arange(len(x))
        return np.lexsort(wide(x).T[::-1])


argsort_rows = builder(ArgsortRowsOp)
