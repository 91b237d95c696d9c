"""Attention as attention to a cache: its operands as those of `graph.cached_attention`."""

from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import producer


@dataclass(frozen=True)
class CacheAttention:
    """The operands and attributes of a `graph.cached_attention` of heads of a batch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    past: ir.Value
    last: ir.Value
    mask: ir.Value | None
    sink: ir.Value | None
    scale: float
    softcap: float
    left: int
    right: int

    def build(self, cache_batch: ir.Value | None = None) -> ir.Value:
        """Build the op."""
        return graph.cached_attention(
            self.q, self.k, self.v, self.past, self.last, self.mask, self.sink, cache_batch,
            scale=self.scale, softcap=self.softcap, left=self.left, right=self.right,
        )  # fmt: skip


def problem_of(op: graph.AttentionOp) -> str | None:
    """The reason why `op` is no attention to a cache, or None."""
    q, k, v = map(graph.type_of, (op.q, op.k, op.v))
    if not all(isinstance(size, int) and size for size in (q.shape[-1], v.shape[-1])):
        return "the number of features is not known at compile time"
    if k.shape[:-2] != v.shape[:-2] or k.shape[-2] != v.shape[-2]:
        return "keys and values have other heads"
    if _heads(op) is None:
        return "its heads are not those of a batch, or of groups that share keys"
    return None


def to_cache(op: graph.AttentionOp) -> CacheAttention:
    """The operands of `op`, of which `problem_of` knows no problem: all keys are in use."""
    heads = _heads(op)
    assert heads is not None
    shared, group = heads
    keys = graph.type_of(op.k).shape[-2]
    last = graph.reshape(graph.size_scalar(keys - 1), shape=[1])
    zero = graph.constant(value=np.zeros(1, np.int64))
    mask = None if op.mask is None else _mask(op.mask, graph.type_of(op.q).rank, shared, group)
    return CacheAttention(
        _merged(op.q, shared * group), _merged(op.k, shared), _merged(op.v, shared), zero, last,
        mask, None, scale=op.attrs["scale"], softcap=0.0, left=-1,
        right=0 if op.attrs["causal"] else -1,
    )  # fmt: skip


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
