"""Sorting of rows."""

import numpy as np

from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .elementwise import require_number
from .indexing import TopKOp
from .reduction import wide
from .traits import MixedPrecision
from .types import TensorType

_I64 = np.dtype(np.int64)


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


class OrderCandidatesOp(GraphOp, name="order_candidates"):
    """The positions (i64) of the largest elements along the last axis, from the largest on: as many
    as `counts` (i64, one for each row) has, then -1.

    NaN is the largest; equal elements keep their order. Unlike a `top_k` of all elements, it sorts
    no others than those. A `threshold`, a scalar, says that `counts` are not more than are greater
    than it, so that no others need to be looked at.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    counts: Tensor
    threshold: OptionalTensor

    @staticmethod
    def infer(x: TensorType, counts: TensorType, threshold: TensorType | None) -> TensorType:
        require_number(x)
        if threshold not in (None, TensorType((), x.dtype)):
            raise TypeRuleError(f"a threshold of {threshold} for elements of {x}")
        if x.rank == 0 or counts != TensorType(x.shape[:-1], _I64):
            raise TypeRuleError(f"orders rows of {x} by counts of {counts}")
        return x.with_dtype(_I64)

    @staticmethod
    def evaluate(x: np.ndarray, counts: np.ndarray, threshold: np.ndarray | None) -> np.ndarray:
        del threshold
        length = x.shape[-1]
        _, order = TopKOp.evaluate(x, k=length, axis=x.ndim - 1, largest=True, sorted=True)
        result = order.copy()
        for row in np.ndindex(counts.shape):
            result[row][max(int(counts[row]), 0) :] = -1
        return result


argsort_rows = builder(ArgsortRowsOp)
order_candidates = builder(OrderCandidatesOp)
