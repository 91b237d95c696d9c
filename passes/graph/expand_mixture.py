"""The pass `graph-expand-mixture`."""

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
class GraphExpandMixture(Pass):
    """Compute mixtures of experts by matmuls of all experts.

    %1 = "graph.mixture"(%x, %weights, %chosen, %w1, %w2) : 64x256, 64x2, 64x2, 8x512x256, 8x256x512
    -->
    %1 = "graph.matmul"(%x, %w1') : 1x64x256, 8x256x512
    ...
    %y = "graph.reduce_sum"(%4) {axes = [0]} : 8x64x256

    Each expert computes all tokens, and those that have not chosen it weigh it by 0. For fewer
    tokens than experts, the weights of the chosen experts are gathered. Exact up to the order of
    sums.
    """

    name = "graph-expand-mixture"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ExpandMixture()], state)


class ExpandMixture(Rewrite):
    """``mixture(x, ...)  -->  reduce_sum(weights * experts(x))``."""

    name = "expand-mixture"
    root = graph.MixtureOp

    def pattern(self, op: graph.MixtureOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.MixtureOp) -> str | None:
        return None

    def rewrite(self, op: graph.MixtureOp) -> ir.Value:
        return graph.decomposed_mixture(op)
