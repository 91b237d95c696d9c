"""Attention, and the rotation of queries and keys by their positions."""

import numpy as np

from .attributes import Bool, Float
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import require_float
from .shape_constraints import require_broadcast
from .traits import MixedPrecision
from .types import Shape, TensorType


def require_broadcastable(what: str, shape: Shape, to: Shape) -> None:
    """TypeRuleError when `shape` is known not to broadcast to `to`."""
    pairs = [*zip(reversed(shape), reversed(to), strict=False)]
    fits = all(a in (1, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int))
    if len(shape) > len(to) or not fits:
        listing = " to ".join(str(tuple(map(str, s))) for s in (shape, to))
        raise TypeRuleError(f"{what} do not broadcast: {listing}")
    for a, b in pairs:
        require_broadcast(a, b)


class AttentionOp(GraphOp, name="attention"):
    """``softmax(q k^T * scale + mask) v`` (Vaswani et al., 2017; ONNX Attention).

    `q` is ``[..., S, D]``, `k` ``[..., T, D]``, `v` ``[..., T, E]``; the result is ``[..., S, E]``.
    The leading axes of `k` and `v` broadcast to those of `q`: a group of query heads may share a
    key. `mask` broadcasts to ``[..., S, T]``: floats are added to the scores, booleans say which
    keys are seen. With `causal`, query ``i`` sees the keys up to ``i``. A query that sees no key
    gives zeros.
    """

    amp = MixedPrecision.NARROW

    q: Tensor
    k: Tensor
    v: Tensor
    mask: OptionalTensor
    scale: Float
    causal: Bool

    @staticmethod
    def infer(
        q: TensorType,
        k: TensorType,
        v: TensorType,
        mask: TensorType | None,
        *,
        scale: float,
        causal: bool,
    ) -> TensorType:
        del scale, causal
        require_float(q)
        if not q.rank == k.rank == v.rank >= 2 or not q.dtype == k.dtype == v.dtype:
            raise TypeRuleError(f"ranks or element types of {q}, {k} and {v} differ")
        require_equal_sizes(q.shape[-1], k.shape[-1], f"sizes of a query {q} and a key {k}")
        require_equal_sizes(k.shape[-2], v.shape[-2], f"numbers of keys {k} and values {v}")
        for operand in (k, v):
            require_broadcastable("heads", operand.shape[:-2], q.shape[:-2])
        if mask is not None:
            if mask.dtype != np.bool_ and mask.dtype != q.dtype:
                raise TypeRuleError(f"scores of {q} are masked by a {mask}")
            require_broadcastable("masks", mask.shape, (*q.shape[:-1], k.shape[-2]))
        return q.with_shape((*q.shape[:-1], v.shape[-1]))

    @staticmethod
    def evaluate(
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        mask: np.ndarray | None,
        *,
        scale: float,
        causal: bool,
    ) -> np.ndarray:
        wide = np.float64 if q.dtype == np.float64 else np.float32
        scores = q.astype(wide) @ np.swapaxes(k.astype(wide), -1, -2) * wide(scale)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        lowest = np.finfo(wide).min
        e = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=lowest))
        total = np.sum(e, axis=-1, keepdims=True)
        return ((e @ v.astype(wide)) / np.where(total == 0, 1, total)).astype(q.dtype)


class RotaryEmbeddingOp(GraphOp, name="rotary_embedding"):
    """Pairs of elements turned by an angle (Su et al., 2021; ONNX RotaryEmbedding).

    `cos` and `sin` broadcast to ``[..., R / 2]``; of the last axis of `x` the first ``R`` elements
    are turned and the others kept. A pair ``(a, b)`` becomes
    ``(a * cos - b * sin, b * cos + a * sin)``; pair ``i`` is elements ``2 i`` and ``2 i + 1`` if
    `interleaved`, else ``i`` and ``R / 2 + i``.
    """

    amp = MixedPrecision.FOLLOW

    x: Tensor
    cos: Tensor
    sin: Tensor
    interleaved: Bool

    @staticmethod
    def infer(x: TensorType, cos: TensorType, sin: TensorType, *, interleaved: bool) -> TensorType:
        del interleaved
        require_float(x)
        if not x.dtype == cos.dtype == sin.dtype or not x.rank * cos.rank * sin.rank:
            raise TypeRuleError(f"cannot turn {x} by cosines {cos} and sines {sin}")
        half, size = cos.shape[-1], x.shape[-1]
        if not isinstance(half, int) or not isinstance(size, int) or not 2 <= 2 * half <= size:
            raise TypeRuleError(f"{half} pairs do not fit a last axis of {size}")
        require_equal_sizes(half, sin.shape[-1], "numbers of cosines and sines")
        for angles in (cos, sin):
            require_broadcastable("angles", angles.shape[:-1], x.shape[:-1])
        return x

    @staticmethod
    def evaluate(
        x: np.ndarray, cos: np.ndarray, sin: np.ndarray, *, interleaved: bool
    ) -> np.ndarray:
        wide = np.float64 if x.dtype == np.float64 else np.float32
        half = cos.shape[-1]
        cos, sin = cos.astype(wide), sin.astype(wide)
        y = x.astype(wide)
        first, second = (
            (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
            if interleaved
            else (slice(0, half), slice(half, 2 * half))
        )
        a, b = y[..., first].copy(), y[..., second].copy()
        y[..., first] = a * cos - b * sin
        y[..., second] = b * cos + a * sin
        return y.astype(x.dtype)


attention = builder(AttentionOp)
rotary_embedding = builder(RotaryEmbeddingOp)
