"""Caches of keys and values that generative models keep from call to call."""

import numpy as np

from ..symbolic import Dim
from .attributes import Int, Size
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .shape_constraints import require_at_most, require_equal
from .traits import ExcessPrecision, MixedPrecision
from .types import TensorType


def require_cache_batch(cache_batch: TensorType | None, x: TensorType, cache: TensorType) -> None:
    """TypeRuleError unless `cache_batch` has the batch of `cache` for each of `x`; without it, both
    have the same batches."""
    if cache_batch is None:
        require_equal_sizes(cache.shape[0], x.shape[0], f"batches of {cache} and {x}")
    elif cache_batch.dtype != np.int64 or cache_batch.rank != 1:
        raise TypeRuleError(f"batches of a cache are i64 for each batch, not {cache_batch}")
    else:
        require_equal_sizes(cache_batch.shape[0], x.shape[0], f"batches of {cache_batch} and {x}")


def batches_of(cache: np.ndarray, cache_batch: np.ndarray | None) -> np.ndarray:
    """The numbers of the batches in `cache`, those of `cache_batch` or all."""
    if cache_batch is None:
        return np.arange(len(cache))
    return np.clip(cache_batch, 0, len(cache) - 1)


def require_one_per_batch(what: str, x: TensorType, batch: TensorType) -> None:
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
    are in use then, which must fit; 0 if that is not known. With `cache_batch`, i64 [batch], `x`
    may have other batches than `updates`, which go to these; the numbers are clamped.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has updates with the same axes, which would have to be transposed"

    x: Tensor
    updates: Tensor
    begin: Tensor
    cache_batch: OptionalTensor
    axis: Int
    used: Size

    @staticmethod
    def infer(
        x: TensorType,
        updates: TensorType,
        begin: TensorType,
        cache_batch: TensorType | None,
        *,
        axis: int,
        used: int | Dim,
    ) -> TensorType:
        _require_rows(x, updates, axis)
        require_cache_batch(cache_batch, updates, x)
        require_one_per_batch("positions", begin, updates)
        require_at_most(used, x.shape[axis])
        return x

    @staticmethod
    def evaluate(
        x: np.ndarray,
        updates: np.ndarray,
        begin: np.ndarray,
        cache_batch: np.ndarray | None,
        *,
        axis: int,
        used: int,
    ) -> np.ndarray:
        del used
        y = x.copy()
        starts = np.broadcast_to(begin, updates.shape[:1])
        for batch, new, start in zip(batches_of(x, cache_batch), updates, starts, strict=True):
            target, source = np.moveaxis(y[batch], axis - 1, 0), np.moveaxis(new, axis - 1, 0)
            first, last = max(start, 0), min(start + len(source), len(target))
            if first < last:
                target[first:last] = source[first - start : last - start]
        return y


class ExtendCacheOp(GraphOp, name="extend_cache"):
    """The first rows of `past` along `axis`, `new` rows behind them, and zeros behind these.

    The shapes of `past` and `new` are equal but for `axis`; axis 0 is the batch. `begin` is i64
    [batch] or [1]: the number of rows of `past` that are kept, for each batch, which is clamped to
    those that there are. The result has `size` rows along the axis, as many as `past` at least; new
    rows beyond them are not written.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has new rows with the same axes, which would have to be transposed"

    past: Tensor
    new: Tensor
    begin: Tensor
    axis: Int
    size: Size

    @staticmethod
    def infer(
        past: TensorType, new: TensorType, begin: TensorType, *, axis: int, size: int | Dim
    ) -> TensorType:
        _require_rows(past, new, axis)
        require_cache_batch(None, new, past)
        require_one_per_batch("numbers of rows", begin, past)
        require_at_most(past.shape[axis], size)
        return past.with_shape((*past.shape[:axis], size, *past.shape[axis + 1 :]))

    @staticmethod
    def evaluate(
        past: np.ndarray, new: np.ndarray, begin: np.ndarray, *, axis: int, size: int
    ) -> np.ndarray:
        begin = np.clip(begin, 0, past.shape[axis])
        widths = [(0, 0)] * past.ndim
        widths[axis] = (0, size - past.shape[axis])
        old = np.moveaxis(np.pad(past, widths), axis, 1)
        kept = np.broadcast_to(begin, past.shape[:1]).reshape(-1, *[1] * (past.ndim - 1))
        rows = np.arange(size).reshape(1, -1, *[1] * (past.ndim - 2))
        old = np.moveaxis(np.where(rows < kept, old, np.zeros((), past.dtype)), 1, axis)
        return TensorScatterOp.evaluate(old, new, begin, None, axis=axis, used=0)


class ReadCacheOp(GraphOp, name="read_cache"):
    """The rows in use of a cache `x` along `axis`, for each batch at the end of `size` rows.

    `lengths` are i64 [batch] or [1]: the number of rows in use, `size` at most. The rows in front
    of them are padding, of zeros: sequences of a batch that differ in length are padded on the
    left. With `cache_batch`, i64 [batch], `x` may have other batches than the result, whose rows
    are from these; the numbers are clamped.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has rows from another position for each batch"

    x: Tensor
    lengths: Tensor
    cache_batch: OptionalTensor
    axis: Int
    size: Size

    @staticmethod
    def infer(
        x: TensorType,
        lengths: TensorType,
        cache_batch: TensorType | None,
        *,
        axis: int,
        size: int | Dim,
    ) -> TensorType:
        if not 0 < axis < x.rank:
            raise TypeRuleError(f"cannot read rows of {x} along axis {axis}")
        batch = x.shape[0] if cache_batch is None else cache_batch.shape[0]
        result = x.with_shape((batch, *x.shape[1:axis], size, *x.shape[axis + 1 :]))
        require_cache_batch(cache_batch, result, x)
        require_one_per_batch("numbers of rows", lengths, result)
        require_at_most(size, x.shape[axis])
        return result

    @staticmethod
    def evaluate(
        x: np.ndarray,
        lengths: np.ndarray,
        cache_batch: np.ndarray | None,
        *,
        axis: int,
        size: int,
    ) -> np.ndarray:
        rows = np.moveaxis(x[batches_of(x, cache_batch)], axis, 1)
        own = np.broadcast_to(lengths, len(rows))[:, np.newaxis] + np.arange(size) - size
        inside = (own >= 0) & (own < rows.shape[1])
        y = rows[np.arange(len(rows))[:, np.newaxis], np.where(inside, own, 0)]
        y = np.where(inside.reshape(*inside.shape, *[1] * (x.ndim - 2)), y, np.zeros((), x.dtype))
        return np.moveaxis(y, 1, axis)


def _require_rows(x: TensorType, rows: TensorType, axis: int) -> None:
    """TypeRuleError unless `rows` are rows of `x` along `axis`, of any batches."""
    if x.dtype != rows.dtype or x.rank != rows.rank or not 0 < axis < x.rank:
        raise TypeRuleError(f"cannot write {rows} to {x} along axis {axis}")
    for number, (have, given) in enumerate(zip(x.shape, rows.shape, strict=True)):
        if number not in (0, axis):
            require_equal_sizes(have, given, f"sizes of axis {number} of {x} and {rows}")


tensor_scatter = builder(TensorScatterOp)
extend_cache = builder(ExtendCacheOp)
read_cache = builder(ReadCacheOp)
