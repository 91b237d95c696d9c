"""The pass `graph-expand-cached-attention`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.registry import register
from ..infra.rewrite import Rewrite

Size = int | Dim


@register
@dataclass(frozen=True)
class GraphExpandCachedAttention(Pass):
    """Compute attention to a cache as attention with a mask.

    %1 = "graph.cached_attention"(%q, %k, %v, %past, %last) : 1x9x1x64, 1x3x256x64
    -->
    %1 = "graph.attention"(%q, %k, %v, %mask) : 1x3x3x1x64, 1x3x1x256x64

    The mask hides the keys that a query does not see, but they are read and multiplied, however few
    are in use. A kernel reads those alone: with `kernels`, what it can compute is kept.

    %2 = "graph.extend_cache"(%past, %new, %begin) : 1x3x?x64, 1x3x1x64, 1
    -->
    %1 = "graph.where"(%is_old, %padded, %zero) : 1x3x?x64
    %2 = "graph.tensor_scatter"(%1, %new, %begin) : 1x3x?x64, 1x3x1x64, 1
    """

    name = "graph-expand-cached-attention"
    anchor = FUNCTION
    only_rewrites = True
    kernels: bool = False
    """True to keep what the kernels of a CPU compute."""

    def run(self, op: Any, state: PassState) -> None:
        rewrites = (MaskCache, PadCache, ScatterBatches)
        apply_rewrites(op, [each(self.kernels) for each in rewrites], state)


class MaskCache(Rewrite):
    """``cached_attention(q, k, v, past, last)  -->  attention(q, k, v, mask)``."""

    name = "mask-cache"
    root = graph.CachedAttentionOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.CachedAttentionOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.CachedAttentionOp) -> str | None:
        return "a kernel reads the keys in use" if self.kernels and _has_kernel(op) else None

    def rewrite(self, op: graph.CachedAttentionOp) -> ir.Value:
        shared = graph.static_size(graph.type_of(op.k).shape[1])
        group = graph.static_size(graph.type_of(op.q).shape[1]) // shared
        mask = _masked(op, _visible(op), shared, group)
        k, v = (_of_batches(x, op.cache_batch) for x in (op.k, op.v))
        q, k, v = (_grouped(x, shared, n) for x, n in ((op.q, group), (k, 1), (v, 1)))
        scale, softcap = op.attrs["scale"], op.attrs["softcap"]
        if op.sink is None and not softcap:
            y = graph.attention(q, k, v, mask, scale=scale, causal=False)
        else:
            ends = op.sink and graph.reshape(op.sink, shape=[1, shared, group, 1, 1])
            y, _ = graph.decomposed_attention(q, k, v, mask, scale, softcap, 0, ends)
        return graph.reshape(y, shape=graph.type_of(op.result).shape)


def _has_kernel(op: graph.CachedAttentionOp) -> bool:
    sizes = graph.type_of(op.q).shape[3], graph.type_of(op.v).shape[3]
    known = all(isinstance(size, int) and size for size in sizes)
    return known and graph.type_of(op.q).dtype != np.float64


class PadCache(Rewrite):
    """``extend_cache(past, new, begin)  -->  tensor_scatter(pad(past), new, begin)``."""

    name = "pad-cache"
    root = graph.ExtendCacheOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.ExtendCacheOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.ExtendCacheOp) -> str | None:
        type_ = graph.type_of(op.past)
        rest = (*type_.shape[1 : op.axis], *type_.shape[op.axis + 1 :])
        fits = all(isinstance(size, int) for size in rest)
        if self.kernels and fits and graph.bit_width(type_.dtype) % 8 == 0:
            return "a kernel writes each row once"
        return None

    def rewrite(self, op: graph.ExtendCacheOp) -> ir.Value:
        type_, axis, size = graph.type_of(op.past), op.axis, op.attrs["size"]
        room = type_.shape[axis]
        kept = graph.max_(op.begin, graph.constant(value=np.zeros((), np.int64)))
        kept = graph.min_(kept, graph.size_scalar(room))
        past, zero = op.past, graph.splat_like(0, op.past)
        if size != room:
            high = [0] * type_.rank
            past = graph.pad(
                past, zero, low=high, high=[*high[:axis], size - room, *high[axis + 1 :]]
            )
        rows: list[Size] = [1] * type_.rank
        owner = [graph.type_of(kept).shape[0], *rows[1:]]
        rows[axis] = size
        is_old = graph.less(_positions(size, rows), graph.reshape(kept, shape=owner))
        old = graph.where(is_old, past, zero)
        return graph.tensor_scatter(old, op.new, kept, None, axis=axis, used=0)


class ScatterBatches(Rewrite):
    """``tensor_scatter(x, updates, begin, b)  -->  scatter(x, b, tensor_scatter(x[b], ..))``."""

    name = "scatter-batches"
    root = graph.TensorScatterOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.TensorScatterOp) -> dict[str, Any] | None:
        return {} if op.cache_batch is not None else None

    def check(self, op: graph.TensorScatterOp) -> str | None:
        return "a kernel writes new rows alone" if self.kernels else None

    def rewrite(self, op: graph.TensorScatterOp) -> ir.Value:
        assert op.cache_batch is not None
        numbers = _within_batches(op.cache_batch, op.x)
        old = graph.gather(op.x, numbers, axis=0)
        new = graph.tensor_scatter(old, op.updates, op.begin, None, **op.attrs)
        (count,) = graph.type_of(numbers).shape
        numbers = graph.reshape(numbers, shape=[count, 1])
        return graph.scatter_nd(op.x, numbers, new, reduction="none")


def _of_batches(cache: ir.Value, batches: ir.Value | None) -> ir.Value:
    """The `batches` of a cache, or all."""
    if batches is None:
        return cache
    return graph.gather(cache, _within_batches(batches, cache), axis=0)


def _within_batches(numbers: ir.Value, cache: ir.Value) -> ir.Value:
    """Numbers of batches, clamped to those of a cache."""
    last = graph.sub(graph.size_scalar(graph.type_of(cache).shape[0]), graph.size_scalar(1))
    return graph.max_(graph.min_(numbers, last), graph.size_scalar(0))


def _grouped(x: ir.Value, outer: int, inner: int) -> ir.Value:
    batch, _, *rest = graph.type_of(x).shape
    return graph.reshape(x, shape=[batch, outer, inner, *rest])


def _masked(op: graph.CachedAttentionOp, seen: ir.Value, shared: int, group: int) -> ir.Value:
    """The mask of `op` where a key is `seen`, by groups of heads."""
    if op.mask is None:
        return seen
    mask, keys = op.mask, graph.type_of(op.k).shape[2]
    batch, heads, rows, columns = graph.type_of(mask).shape
    is_flag = graph.type_of(mask).dtype == np.bool_
    if columns not in (1, keys):
        hidden = graph.splat_like(False if is_flag else -np.inf, mask)
        mask = graph.pad(mask, hidden, low=[0] * 4, high=[0, 0, 0, keys - columns])
    if not isinstance(heads, int):
        wanted = graph.type_of(op.q).shape[1]
        mask = graph.expand(mask, shape=[batch, wanted, rows, graph.type_of(mask).shape[3]])
    mask = _grouped(mask, *((1, 1) if heads == 1 else (shared, group)))
    if is_flag:
        return graph.and_(seen, mask)
    dtype = graph.type_of(op.q).dtype
    mask = mask if graph.type_of(mask).dtype == dtype else graph.cast(mask, to=dtype)
    return graph.where(seen, mask, graph.splat_like(-np.inf, mask))


def _visible(op: graph.CachedAttentionOp) -> ir.Value:
    """The keys that each query sees by their positions, [B or 1, 1, 1, queries or 1, keys]."""
    queries, keys = graph.type_of(op.q).shape[2], graph.type_of(op.k).shape[2]
    own = graph.add(_per_batch(op.past), _positions(queries, [queries, 1]))
    at = _positions(keys, [keys])
    seen = graph.less_or_equal(at, _per_batch(op.last))
    if op.right >= 0:
        seen = graph.and_(seen, graph.less_or_equal(at, _shifted(own, op.right)))
    if op.left >= 0:
        seen = graph.and_(seen, graph.greater_or_equal(at, _shifted(own, -op.left)))
    return seen


def _shifted(x: ir.Value, by: int) -> ir.Value:
    return graph.add(x, graph.constant(value=np.array(by, np.int64))) if by else x


def _per_batch(x: ir.Value) -> ir.Value:
    return graph.reshape(x, shape=[graph.type_of(x).shape[0], 1, 1, 1, 1])


def _positions(size: Size, shape: list[Size]) -> ir.Value:
    zero, one = (graph.constant(value=np.array(n, np.int64)) for n in (0, 1))
    return graph.reshape(graph.range_(zero, one, size=size), shape=shape)
