"""Attention of few queries, as decoders have it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...mlir import ir
from ..analysis.attention_operands import problem_of, to_cache
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
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
    only_rewrites = True
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
        if graph.type_of(op.q).dtype.itemsize > np.dtype(np.float32).itemsize:
            return "the kernel computes in f32"
        return problem_of(op)

    def rewrite(self, op: graph.AttentionOp) -> ir.Value:
        return graph.reshape(to_cache(op).build(), shape=graph.type_of(op.result).shape)


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
