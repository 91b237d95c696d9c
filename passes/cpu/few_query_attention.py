"""Attention of few queries, as decoders have it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite


@register
@dataclass(frozen=True)
class CpuFewQueryAttention(Pass):
    """Compute attention of fewer queries than a vector has lanes as attention to a cache.

    %1 = "graph.concat"(%past, %new) {axis = 2} : 1x9x?x64, 1x9x1x64 -> 1x9x?x64
    %2 = "graph.attention"(%q, %1, %v, %mask) : 1x9x1x64, 1x9x?x64, 1x9x?x64, 1x1x1x?
    -->
    %1 = "graph.extend_cache"(%past, %new, %begin) : 1x9x?x64, 1x9x1x64, 1 -> 1x9x?x64
    %2 = "graph.cached_attention"(%q, %1, %v, %zero, %last, %mask)

    Its kernel reads keys and values as they are, where matmuls would have keys transposed and
    copied for each step. Exact up to the order of sums. A cache that grows is written in one pass.
    """

    name = "cpu-few-query-attention"
    anchor = FUNCTION
    optional = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            apply_rewrites(op, [AttendToCache(self.cpu.lanes)], state)
            apply_rewrites(op, [ExtendByConcat], state)


class AttendToCache(Rewrite):
    """``attention(q, k, v, mask)  -->  cached_attention(q, k, v, 0, keys - 1, mask)``."""

    name = "attend-to-cache"
    root = graph.AttentionOp

    def __init__(self, lanes: int):
        self.lanes = lanes

    def pattern(self, op: graph.AttentionOp) -> dict[str, Any] | None:
        queries = graph.type_of(op.q).shape[-2]
        return {} if isinstance(queries, int) and queries < self.lanes else None

    def check(self, op: graph.AttentionOp) -> str | None:
        q, k, v = map(graph.type_of, (op.q, op.k, op.v))
        if q.dtype.itemsize > np.dtype(np.float32).itemsize:
            return "the kernel computes in f32"
        if not all(isinstance(size, int) and size for size in (q.shape[-1], v.shape[-1])):
            return "the number of features is not known at compile time"
        if k.shape[:-2] != v.shape[:-2] or k.shape[-2] != v.shape[-2]:
            return "keys and values have other heads"
        if _heads(op) is None:
            return "its heads are not those of a batch, or of groups that share keys"
        return None

    def rewrite(self, op: graph.AttentionOp) -> ir.Value:
        heads = _heads(op)
        assert heads is not None
        shared, group = heads
        keys = graph.type_of(op.k).shape[-2]
        last = graph.reshape(graph.size_scalar(keys - 1), shape=[1])
        zero = graph.constant(value=np.zeros(1, np.int64))
        mask = None if op.mask is None else _mask(op.mask, graph.type_of(op.q).rank, shared, group)
        y = graph.cached_attention(
            _merged(op.q, shared * group), _merged(op.k, shared), _merged(op.v, shared), zero, last,
            mask, None, None, scale=op.attrs["scale"], softcap=0.0, left=-1,
            right=0 if op.attrs["causal"] else -1,
        )  # fmt: skip
        return graph.reshape(y, shape=graph.type_of(op.result).shape)


def _heads(op: graph.AttentionOp) -> tuple[int, int] | None:
    """The heads of keys, and those of queries that share one; None for other forms."""
    q, k = graph.type_of(op.q), graph.type_of(op.k)
    if q.rank not in (4, 5) or q.shape[0] != k.shape[0]:
        return None
    group = q.shape[2] if q.rank == 5 else 1
    shared = k.shape[1]
    if not isinstance(shared, int) or not isinstance(group, int):
        return None
    if q.shape[1] != shared or (q.rank == 5 and k.shape[2] != 1):
        return None
    if op.mask is not None:
        of_heads = graph.type_of(op.mask).shape[:-2][1 - q.rank + graph.type_of(op.mask).rank :]
        if not all(isinstance(size, int) for size in of_heads):
            return None
    return shared, group


def _merged(x: ir.Value, heads: int) -> ir.Value:
    """``[B, H, G, S, D] -> [B, H G, S, D]``."""
    batch, *_, rows, features = graph.type_of(x).shape
    shape = (batch, heads, rows, features)
    whole = producer(x, graph.ReshapeOp)
    if whole is not None and graph.type_of(whole.x).shape == shape:
        return whole.x
    return x if graph.type_of(x).shape == shape else graph.reshape(x, shape=shape)


def _mask(mask: ir.Value, rank: int, shared: int, group: int) -> ir.Value:
    """A mask of the heads of queries, or one for all of them, ``[B, H or 1, S, T]``."""
    shape = graph.type_of(mask).shape
    batch, *heads, rows, columns = [*[1] * (rank - len(shape)), *shape]
    if all(size == 1 for size in heads):
        return graph.reshape(mask, shape=[batch, 1, rows, columns])
    whole = [batch, shared, group][: rank - 2]
    mask = graph.reshape(mask, shape=[batch, *heads, rows, columns])
    mask = graph.expand(mask, shape=[*whole, rows, columns])
    return graph.reshape(mask, shape=[batch, shared * group, rows, columns])


class ExtendByConcat(Rewrite):
    """``concat(past, new)  -->  extend_cache(past, new, rows of past)``, for attention."""

    name = "extend-by-concat"
    root = graph.ConcatOp

    def pattern(self, op: graph.ConcatOp) -> dict[str, Any] | None:
        users = [graph.graph_op(use.owner) for use in op.result.uses]
        is_cache = any(isinstance(user, graph.CachedAttentionOp) for user in users)
        return {} if is_cache and op.axis == 2 else None

    def check(self, op: graph.ConcatOp) -> str | None:
        if len(op.xs) != 2:
            return "it is not of two parts"
        shape = graph.type_of(op.result).shape
        if not all(isinstance(shape[axis], int) for axis in (1, 3)):
            return "heads or features are not known at compile time"
        return None

    def rewrite(self, op: graph.ConcatOp) -> ir.Value:
        past, new = op.xs
        before = graph.type_of(past).shape[2]
        begin = graph.reshape(graph.size_scalar(before), shape=[1])
        size = graph.type_of(op.result).shape[2]
        return graph.extend_cache(past, new, begin, axis=2, size=size)
