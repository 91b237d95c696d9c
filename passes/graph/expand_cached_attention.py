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


@register
@dataclass(frozen=True)
class GraphExpandCachedAttention(Pass):
    """Compute attention to a cache as attention with a mask.

    %1 = "graph.cached_attention"(%q, %k, %v, %past, %last) : 1x9x1x64, 1x3x256x64
    -->
    %1 = "graph.attention"(%q, %k, %v, %mask) : 1x3x3x1x64, 1x3x1x256x64

    The mask hides the keys that a query does not see, but they are read and multiplied, however few
    are in use. A kernel reads those alone: with `kernels`, what it can compute is kept.
    """

    name = "graph-expand-cached-attention"
    anchor = FUNCTION
    kernels: bool = False
    """True to keep what the kernel of a CPU computes."""

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [MaskCache(self.kernels)], state)


class MaskCache(Rewrite):
    """``cached_attention(q, k, v, past, last)  -->  attention(q, k, v, mask)``."""

    name = "mask-cache"
    root = graph.CachedAttentionOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.CachedAttentionOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.CachedAttentionOp) -> str | None:
        if not self.kernels or graph.type_of(op.q).dtype == np.float64:
            return None
        sizes = graph.type_of(op.q).shape[3], graph.type_of(op.v).shape[3]
        known = all(isinstance(size, int) and size for size in sizes)
        return "a kernel reads the keys in use" if known else None

    def rewrite(self, op: graph.CachedAttentionOp) -> ir.Value:
        q, k = graph.type_of(op.q), graph.type_of(op.k)
        shared = graph.static_size(k.shape[1])
        group = graph.static_size(q.shape[1]) // shared
        seen = _visible(op.past, op.last, q.shape[2], k.shape[2], op.attrs["window"])
        y = graph.attention(
            _grouped(op.q, shared, group), _grouped(op.k, shared, 1), _grouped(op.v, shared, 1),
            seen, scale=op.attrs["scale"], causal=False,
        )  # fmt: skip
        return graph.reshape(y, shape=graph.type_of(op.result).shape)


def _grouped(x: ir.Value, outer: int, inner: int) -> ir.Value:
    batch, _, *rest = graph.type_of(x).shape
    return graph.reshape(x, shape=[batch, outer, inner, *rest])


def _visible(
    past: ir.Value, last: ir.Value, queries: int | Dim, keys: int | Dim, window: int
) -> ir.Value:
    """The keys that each query sees, [B or 1, 1, 1, queries, keys]."""
    own = graph.add(_per_batch(past), _positions(queries, [queries, 1]))
    at = _positions(keys, [keys])
    seen = graph.and_(graph.less_or_equal(at, own), graph.less_or_equal(at, _per_batch(last)))
    if not window:
        return seen
    first = graph.sub(own, graph.constant(value=np.array(window, np.int64)))
    return graph.and_(seen, graph.greater(at, first))


def _per_batch(x: ir.Value) -> ir.Value:
    return graph.reshape(x, shape=[graph.type_of(x).shape[0], 1, 1, 1, 1])


def _positions(size: int | Dim, shape: list[int | Dim]) -> ir.Value:
    zero, one = (graph.constant(value=np.array(n, np.int64)) for n in (0, 1))
    return graph.reshape(graph.range_(zero, one, size=size), shape=shape)
