"""Attention."""

import numpy as np

from .attributes import Bool, Float
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import broadcast_shapes, require_float
from .normalization import SoftmaxOp


class AttentionOp(GraphOp, name="attention"):
    """Scaled dot-product attention: ``softmax(q k^T * scale + mask) v`` (Vaswani et al., 2017).

    `q` [..., S, D], `k` [..., T, D], `v` [..., T, E]; the axes before broadcast. `mask` broadcasts
    to [..., S, T]: a float is added, a bool keeps where true. `causal`: position s sees t <= s
    only, counted from the start of both.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    mask: OptionalTensor
    scale: Float
    causal: Bool

    @staticmethod
    def infer(q, k, v, mask, *, scale, causal):
        del scale, causal
        require_float(q)
        if min(q.rank, k.rank, v.rank) < 2 or not q.dtype == k.dtype == v.dtype:
            raise TypeRuleError(f"needs matrices of one element type, not {q}, {k}, {v}")
        require_equal_sizes(q.shape[-1], k.shape[-1], "the widths of queries and keys")
        require_equal_sizes(k.shape[-2], v.shape[-2], "the numbers of keys and values")
        batch = broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        scores = (*batch, q.shape[-2], k.shape[-2])
        if mask is not None and broadcast_shapes(mask.shape, scores) != scores:
            raise TypeRuleError(f"a mask of type {mask} does not fit scores of shape {scores}")
        if mask is not None and mask.dtype not in (q.dtype, np.bool_):
            raise TypeRuleError(f"a mask is {q.dtype} or bool, not {mask.dtype}")
        return q.with_shape((*batch, q.shape[-2], v.shape[-1]))

    @staticmethod
    def evaluate(q, k, v, mask, *, scale, causal):
        wide = np.float64 if q.dtype == np.float64 else np.float32
        scores = np.matmul(q.astype(wide), np.swapaxes(k.astype(wide), -1, -2)) * wide(scale)
        lowest = np.finfo(wide).min
        if mask is not None:
            keeps = mask.dtype == np.bool_
            scores = np.where(mask, scores, lowest) if keeps else scores + mask.astype(wide)
        if causal:
            visible = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
            scores = np.where(visible, scores, lowest)
        weights = SoftmaxOp.evaluate(np.maximum(scores, lowest), axis=scores.ndim - 1)
        return np.matmul(weights, v.astype(wide)).astype(q.dtype)


attention = builder(AttentionOp)
