"""Attention to a cache of keys and values."""

import numpy as np

from .attention import require_broadcastable
from .attributes import Float, Int
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .cache import batches_of, require_cache_batch, require_one_per_batch
from .contraction import require_equal_sizes
from .elementwise import require_float
from .shape_constraints import require_at_most
from .traits import ExcessPrecision, MixedPrecision
from .types import TensorType


class CachedAttentionOp(GraphOp, name="cached_attention"):
    """Attention to a cache of keys and values, of which some are in use (GroupQueryAttention of
    ONNX Runtime, ONNX Attention with a past).

    Queries `q` ``[B, H, S, D]``, a cache of keys `k` ``[B, G, T, D]`` and values `v`
    ``[B, G, T, E]``, where ``H / G`` heads share keys; result ``[B, H, S, E]``. `past` and `last`
    are i64 [B] or [1]: query ``i`` is at position ``past + i``, and the keys up to `last` are in
    use. Of these, a query sees the `left` keys before its own position, that one, and the `right`
    keys behind; -1 is all of them, and a causal attention has no `right` ones.

    Scores are ``q k^T * scale``, and with a `softcap` that is not 0, ``softcap * tanh(scores /
    softcap)``. Then a `mask` is added, or says which keys are seen. It broadcasts to
    ``[B, H, S, M]``; keys behind the first M, of T at most, are not seen, unless M is 1. `sink`
    ``[H]`` is the score of one more key, whose value is 0. A query that sees no key gives zeros.

    With `cache_batch`, i64 [B], the cache may have other batches than the queries, which see these
    (``cache_batch_idx`` of flash-attention); the numbers are clamped.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    q: Tensor
    k: Tensor
    v: Tensor
    past: Tensor
    last: Tensor
    mask: OptionalTensor
    sink: OptionalTensor
    cache_batch: OptionalTensor
    scale: Float
    softcap: Float
    left: Int
    right: Int

    @staticmethod
    def infer(
        q: TensorType,
        k: TensorType,
        v: TensorType,
        past: TensorType,
        last: TensorType,
        mask: TensorType | None,
        sink: TensorType | None,
        cache_batch: TensorType | None,
        *,
        scale: float,
        softcap: float,
        left: int,
        right: int,
    ) -> TensorType:
        del scale
        require_float(q)
        if not q.rank == k.rank == v.rank == 4 or not q.dtype == k.dtype == v.dtype:
            raise TypeRuleError(f"ranks or element types of {q}, {k} and {v} differ")
        heads, shared = q.shape[1], k.shape[1]
        if not isinstance(heads, int) or not isinstance(shared, int) or heads % max(shared, 1):
            raise TypeRuleError(f"{heads} heads of queries share {shared} heads of keys")
        require_equal_sizes(q.shape[3], k.shape[3], f"sizes of a query {q} and a key {k}")
        for axis in range(3):
            require_equal_sizes(k.shape[axis], v.shape[axis], f"sizes of keys {k} and values {v}")
        require_cache_batch(cache_batch, q, k)
        for what, given in (("past lengths", past), ("last positions", last)):
            require_one_per_batch(what, given, q)
        if mask is not None:
            _require_mask(mask, q, k)
        if sink is not None and (sink.shape != (heads,) or sink.dtype != q.dtype):
            raise TypeRuleError(f"{heads} sinks of {q.dtype} are not {sink}")
        if softcap < 0 or min(left, right) < -1:
            raise TypeRuleError(f"a cap of {softcap}, or windows of {left} and {right} keys")
        return q.with_shape((*q.shape[:3], v.shape[3]))

    @staticmethod
    def evaluate(
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        past: np.ndarray,
        last: np.ndarray,
        mask: np.ndarray | None,
        sink: np.ndarray | None,
        cache_batch: np.ndarray | None,
        *,
        scale: float,
        softcap: float,
        left: int,
        right: int,
    ) -> np.ndarray:
        wide = np.float64 if q.dtype == np.float64 else np.float32
        group = q.shape[1] // k.shape[1]
        batches = batches_of(k, cache_batch)
        keys, values = (np.repeat(x[batches].astype(wide), group, axis=1) for x in (k, v))
        seen = _visible(past, last, q.shape[2], k.shape[2], left, right)[:, np.newaxis]
        scores = q.astype(wide) @ np.swapaxes(keys, 2, 3) * wide(scale)
        if softcap:
            scores = np.tanh(scores / wide(softcap)) * wide(softcap)
        if mask is not None:
            mask, seen = _to_keys(mask, seen)
            scores = scores if mask.dtype == np.bool_ else scores + mask.astype(wide)
            seen = seen & mask if mask.dtype == np.bool_ else seen
        scores = np.where(seen, scores, -np.inf)
        top = np.max(scores, axis=-1, keepdims=True, initial=np.finfo(wide).min)
        ends = None if sink is None else sink.astype(wide).reshape(-1, 1, 1)
        top = top if ends is None else np.maximum(top, ends)
        weights = np.exp(scores - top)
        total = weights.sum(axis=-1, keepdims=True)
        total = total if ends is None else total + np.exp(ends - top)
        # What is not seen may be anything, such as NaN in memory that was never written.
        seen = np.broadcast_to(seen, scores.shape)
        values = np.where(np.any(seen, axis=2)[..., np.newaxis], values, 0)
        return (weights @ values / np.where(total == 0, 1, total)).astype(q.dtype)


def _require_mask(mask: TensorType, q: TensorType, k: TensorType) -> None:
    """TypeRuleError unless `mask` is one for the scores of `q`."""
    if mask.rank != 4 or mask.dtype not in (np.bool_, np.float32, q.dtype):
        raise TypeRuleError(f"scores of {q} are masked by a {mask}")
    require_broadcastable("masks", mask.shape[:3], q.shape[:3])
    if mask.shape[3] != 1:
        require_at_most(mask.shape[3], k.shape[2])


def _to_keys(mask: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`mask` with a column for each key, and what is `seen` of the keys that it is for."""
    columns, keys = int(mask.shape[-1]), int(seen.shape[-1])
    if columns == 1 or columns == keys:
        return mask, seen
    padded: np.ndarray = np.pad(mask, [(0, 0)] * 3 + [(0, keys - columns)])
    given: np.ndarray = np.arange(keys) < columns
    return padded, np.logical_and(seen, given)


def _visible(
    past: np.ndarray, last: np.ndarray, queries: int, keys: int, left: int, right: int
) -> np.ndarray:
    """The keys that each query sees, [B or 1, queries, keys]."""
    own = past.reshape(-1, 1, 1) + np.arange(queries).reshape(-1, 1)
    at = np.arange(keys)
    seen = (at <= last.reshape(-1, 1, 1)) & np.ones_like(own, bool)
    seen = seen & (at >= own - left) if left >= 0 else seen
    return seen & (at <= own + right) if right >= 0 else seen


cached_attention = builder(CachedAttentionOp)
