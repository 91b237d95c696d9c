"""Caches of keys and values that generative models keep from call to call."""

import numpy as np

from ..symbolic import Dim
from .attributes import Float, Int, Size
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import require_float
from .shape_constraints import require_at_most, require_equal
from .traits import ExcessPrecision, MixedPrecision
from .types import TensorType


def _require_one_per_batch(what: str, x: TensorType, batch: TensorType) -> None:
    """TypeRuleError unless `x` is i64 [batch], or one number for all."""
    if x.dtype != np.int64 or x.rank != 1:
        raise TypeRuleError(f"{what} are i64 for each batch, not {x}")
    if x.shape[0] != 1:
        require_equal(x.shape[0], batch.shape[0])


class TensorScatterOp(GraphOp, name="tensor_scatter"):
    """`x` with `updates` written along `axis`, for each batch from its own position on (ONNX
    TensorScatter, mode ``linear``; ``dynamic_update_slice`` of XLA with batches).

    The shapes of `x` and `updates` are equal but for `axis`; axis 0 is the batch. `begin` is i64
    [batch] or [1]. What would lie outside of the axis is not written. `used` positions of the axis
    are in use then, which must fit; 0 if that is not known.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has updates with the same axes, which would have to be transposed"

    x: Tensor
    updates: Tensor
    begin: Tensor
    axis: Int
    used: Size

    @staticmethod
    def infer(
        x: TensorType, updates: TensorType, begin: TensorType, *, axis: int, used: int | Dim
    ) -> TensorType:
        if x.dtype != updates.dtype or x.rank != updates.rank or not 0 < axis < x.rank:
            raise TypeRuleError(f"cannot write {updates} to {x} along axis {axis}")
        for number, (have, given) in enumerate(zip(x.shape, updates.shape, strict=True)):
            if number != axis:
                require_equal_sizes(have, given, f"sizes of axis {number} of {x} and {updates}")
        _require_one_per_batch("positions", begin, x)
        require_at_most(used, x.shape[axis])
        return x

    @staticmethod
    def evaluate(
        x: np.ndarray, updates: np.ndarray, begin: np.ndarray, *, axis: int, used: int
    ) -> np.ndarray:
        del used
        y = x.copy()
        starts = np.broadcast_to(begin, x.shape[:1])
        for rows, new, start in zip(y, updates, starts, strict=True):
            target, source = np.moveaxis(rows, axis - 1, 0), np.moveaxis(new, axis - 1, 0)
            first, last = max(start, 0), min(start + len(source), len(target))
            if first < last:
                target[first:last] = source[first - start : last - start]
        return y


class CachedAttentionOp(GraphOp, name="cached_attention"):
    """Causal attention to a cache of keys and values (GroupQueryAttention of ONNX Runtime).

    Queries `q` ``[B, H, S, D]``, a cache of keys `k` ``[B, G, T, D]`` and values `v`
    ``[B, G, T, E]``, where ``H / G`` heads share keys; result ``[B, H, S, E]``. `past` and `last`
    are i64 [B] or [1]: query ``i`` sees the keys up to ``min(past + i, last)``, and no more than
    `window` of them before and including that at ``past + i``, unless `window` is 0. A query that
    sees no key gives zeros.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    q: Tensor
    k: Tensor
    v: Tensor
    past: Tensor
    last: Tensor
    scale: Float
    window: Int

    @staticmethod
    def infer(
        q: TensorType,
        k: TensorType,
        v: TensorType,
        past: TensorType,
        last: TensorType,
        *,
        scale: float,
        window: int,
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
        require_equal_sizes(q.shape[0], k.shape[0], f"batches of {q} and {k}")
        for what, given in (("past lengths", past), ("last positions", last)):
            _require_one_per_batch(what, given, q)
        if window < 0:
            raise TypeRuleError(f"a window of {window} keys")
        return q.with_shape((*q.shape[:3], v.shape[3]))

    @staticmethod
    def evaluate(
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        past: np.ndarray,
        last: np.ndarray,
        *,
        scale: float,
        window: int,
    ) -> np.ndarray:
        wide = np.float64 if q.dtype == np.float64 else np.float32
        group = q.shape[1] // k.shape[1]
        keys, values = (np.repeat(x.astype(wide), group, axis=1) for x in (k, v))
        seen = _visible(past, last, q.shape[2], k.shape[2], window)[:, np.newaxis]
        scores = q.astype(wide) @ np.swapaxes(keys, 2, 3) * wide(scale)
        scores = np.where(seen, scores, -np.inf)
        top = np.max(scores, axis=-1, keepdims=True, initial=np.finfo(wide).min)
        weights = np.exp(scores - top)
        total = weights.sum(axis=-1, keepdims=True)
        # What is not seen may be anything, such as NaN in memory that was never written.
        used = np.any(seen, axis=2)[..., np.newaxis]
        values = np.where(used, values, 0)
        return (weights @ values / np.where(total == 0, 1, total)).astype(q.dtype)


def _visible(
    past: np.ndarray, last: np.ndarray, queries: int, keys: int, window: int
) -> np.ndarray:
    """The keys that each query sees, [B or 1, queries, keys]."""
    own = past.reshape(-1, 1, 1) + np.arange(queries).reshape(-1, 1)
    at = np.arange(keys)
    seen = (at <= own) & (at <= last.reshape(-1, 1, 1))
    return seen & (at > own - window) if window else seen


tensor_scatter = builder(TensorScatterOp)
cached_attention = builder(CachedAttentionOp)
