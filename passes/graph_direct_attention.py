"""Attention computed by a kernel of our own."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dialects import graph
from ..mlir import ir
from .base import FUNCTION, Pass, PassState
from .greedy import apply_rewrites
from .registry import register
from .rewrite import Rewrite
from .vectors import LANES, product_tile

MAX_KEYS = 4096
"""Weights of more keys than this, for a block of queries, would not stay in the caches."""


@register
@dataclass(frozen=True)
class GraphDirectAttention(Pass):
    """Compute attention block by block, a vector holding one number for each of its queries.

    %1 = "graph.attention"(%q, %k, %v) : 12x128x64
    -->
    %1 = "graph.direct_attention"(%q, %k, %v) {rows = 6, vectors = 4, lanes = 16}

    For f32 of known sizes, with as many heads of keys as of queries. Exact up to the order of sums.
    """

    name = "graph-direct-attention"
    anchor = FUNCTION
    vector_bits: int = 0
    """Width of the target's vectors: 128, 256 or 512; with 0 the pass does nothing."""

    def run(self, op: Any, state: PassState) -> None:
        if self.vector_bits in LANES:
            apply_rewrites(op, [DirectAttention(self.vector_bits)], state)


class DirectAttention(Rewrite):
    """``attention(q, k, v, mask)  -->  direct_attention(q, k, v, mask)``."""

    name = "direct-attention"
    root = graph.AttentionOp

    def __init__(self, vector_bits: int):
        self.lanes = LANES[vector_bits]
        self.tile = product_tile(vector_bits)

    def pattern(self, op: Any) -> dict[str, Any] | None:
        return {}

    def check(self, op: Any) -> str | None:
        q, k, v = map(graph.type_of, (op.q, op.k, op.v))
        mask = None if op.mask is None else graph.type_of(op.mask)
        given = [q, k, v] if mask is None else [q, k, v, mask]
        if any(x.dtype != np.float32 for x in given):
            return "only f32 is computed this way"
        if not all(x.is_static for x in given):
            return "sizes are not known at compile time"
        if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
            return "heads share keys"
        keys, width = v.static_shape[-2:]
        if q.static_shape[-2] < self.lanes or keys < self.tile.rows or keys > MAX_KEYS:
            return "too few queries or keys for tiles, or too many keys for the caches"
        if width % self.lanes:
            return "the features of a value do not fill vectors"
        if 0 in q.shape:
            return "there are no heads or features"
        if mask is not None and (mask.rank < 2 or mask.shape[-1] != keys):
            return "its mask does not tell keys apart"
        if mask is not None and mask.shape[-2] not in (1, q.shape[-2]):
            return "its mask is of other queries"
        return None

    def rewrite(self, op: Any) -> ir.Value:
        return graph.direct_attention(
            op.q, op.k, op.v, op.mask, scale=op.attrs["scale"], causal=op.attrs["causal"],
            rows=self.tile.rows, vectors=self.tile.vectors, lanes=self.lanes,
        )  # fmt: skip
