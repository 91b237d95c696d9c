"""Attention computed in the registers of a processor."""

from typing import Any

import numpy as np

from .attention import AttentionOp
from .attributes import Bool, Float, Int
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .types import TensorType


class DirectAttentionOp(GraphOp, name="direct_attention"):
    """`attention` whose sizes are all known, in f32, by tiles of `rows` by `vectors` of `lanes`.

    The keys and values have the leading axes of the queries, the mask is of f32, and the features
    of a value fill vectors.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    mask: OptionalTensor
    scale: Float
    causal: Bool
    rows: Int
    vectors: Int
    lanes: Int

    @staticmethod
    def infer(
        q: TensorType,
        k: TensorType,
        v: TensorType,
        mask: TensorType | None,
        *,
        rows: int,
        vectors: int,
        lanes: int,
        **options: Any,
    ) -> TensorType:
        result = AttentionOp.infer(q, k, v, mask, **options)
        given = [q, k, v] if mask is None else [q, k, v, mask]
        if any(x.dtype != np.float32 or not x.is_static for x in given):
            raise TypeRuleError("is for f32 of known sizes alone")
        if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
            raise TypeRuleError(f"leading axes of {q}, {k} and {v} differ")
        if min(rows, vectors, lanes) < 1 or v.static_shape[-1] % lanes or k.static_shape[-2] < rows:
            raise TypeRuleError(f"{k} and {v} do not fill tiles of {rows} rows, vectors of {lanes}")
        return result

    @staticmethod
    def evaluate(
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        mask: np.ndarray | None,
        *,
        rows: int,
        vectors: int,
        lanes: int,
        **options: Any,
    ) -> np.ndarray:
        del rows, vectors, lanes
        return AttentionOp.evaluate(q, k, v, mask, **options)


direct_attention = builder(DirectAttentionOp)
