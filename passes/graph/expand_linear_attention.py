"""The pass `graph-expand-linear-attention`."""

import itertools
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.registry import register
from ..infra.rewrite import Rewrite


@register
@dataclass(frozen=True)
class GraphExpandLinearAttention(Pass):
    """Compute linear attention token by token in a loop.

    %y, %last = "graph.linear_attention"(%q, %k, %v, %state) : 1x128x512, ..., 1x8x64x64
    -->
    %last, %y = "graph.for"(%state) : the state after each token, and what its queries read

    A kernel keeps the state of a head in the cache meanwhile: with `kernels`, what it can compute
    is kept. Exact up to the order of sums.
    """

    name = "graph-expand-linear-attention"
    anchor = FUNCTION
    only_rewrites = True
    kernels: bool = False
    """True to keep what the kernel of a CPU computes."""

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ExpandTokens(self.kernels)], state)


class ExpandTokens(Rewrite):
    """``linear_attention(q, k, v, state)  -->  for token: ...``."""

    name = "expand-tokens"
    root = graph.LinearAttentionOp

    def __init__(self, kernels: bool):
        self.kernels = kernels
        self._numbers = itertools.count()

    def pattern(self, op: graph.LinearAttentionOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.LinearAttentionOp) -> str | None:
        *_, depth, width = graph.type_of(op.state).shape
        if not self.kernels or not isinstance(depth, int) or not isinstance(width, int):
            return None
        around = op.operation.parent
        is_body = around is not None and around.name != "func.func"  # it may become a kernel itself
        return None if is_body or not depth * width else "a kernel computes it"

    def rewrite(self, op: graph.LinearAttentionOp) -> tuple[ir.Value, ir.Value]:
        def fresh(hint: str) -> str:
            return f"attended_{next(self._numbers)}_{hint}"

        return graph.decomposed_linear_attention(op, fresh)
