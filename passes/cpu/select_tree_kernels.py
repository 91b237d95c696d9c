"""Selection of the kernel for ensembles of decision trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.trees import FEATURE_BITS
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite

_REDUCTIONS: dict[type[graph.GraphOp], str] = {
    graph.ReduceSumOp: "sum",
    graph.ReduceMaxOp: "max",
    graph.ReduceMinOp: "min",
}


@register
@dataclass(frozen=True)
class SelectTreeKernels(Pass):
    """Walk the trees of an ensemble and reduce the weights of their leaves by one kernel.

    %1 = "graph.tree_leaves"(%x, ...) : 1000x100xi32
    %2 = "graph.gather"(%weights, %1) : 1000x100x3xf32
    %3 = "graph.reduce_sum"(%2) {axes = [1]} : 1000x3xf32
    -->
    %3 = "graph.tree_votes"(%x, %roots, %nodes, %weights) : 1000x3xf32

    The tables of the trees become one, in which a node is within one line of the cache, and leaves
    lead to themselves.
    """

    name = "cpu-select-tree-kernels"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [*map(ReducedLeaves, _REDUCTIONS)], state)


class ReducedLeaves(Rewrite):
    """``reduce(gather(weights, tree_leaves(x, ...)))  -->  tree_votes(x, ...)``."""

    def __init__(self, root: type[graph.GraphOp]):
        self.root, self.reduction = root, _REDUCTIONS[root]
        self.name = f"tree-votes-{self.reduction}"

    def pattern(self, op: Any) -> dict[str, Any] | None:
        votes = producer(op.x, graph.GatherOp)
        leaves = None if votes is None else producer(votes.indices, graph.TreeLeavesOp)
        if votes is None or leaves is None:
            return None
        return {"votes": votes, "leaves": leaves}

    def check(self, op: Any, votes: graph.GatherOp, leaves: graph.TreeLeavesOp) -> str | None:
        weights, x = graph.type_of(votes.x), graph.type_of(leaves.x)
        if votes.axis != 0 or weights.rank != 2 or op.axes != (1,) or op.keepdims:
            return "the weights of leaves are reduced in another way"
        if x.dtype not in (np.float32, np.float64) or weights.dtype != x.dtype:
            return "features and weights are not both f32 or f64"
        if any(constant_array(table) is None for table in _tables(leaves)):
            return "the trees are not known at compile time"
        if not weights.is_static or 0 in weights.shape:
            return "the number of leaves is not known at compile time"
        if leaves.width > 1 << FEATURE_BITS:
            return "there are too many features"
        roots, features, _, _, children = (np.asarray(constant_array(t)) for t in _tables(leaves))
        if graph.lead_outside(roots, features, children, weights.static_shape[0], leaves.width):
            return "its tables name nodes, leaves or features that are not there"
        return None

    def rewrite(self, op: Any, votes: graph.GatherOp, leaves: graph.TreeLeavesOp) -> ir.Value:
        del op
        roots, features, thresholds, outcomes, children = (
            np.asarray(constant_array(table)) for table in _tables(leaves)
        )
        count = graph.type_of(votes.x).static_shape[0]
        always = np.bitwise_and.reduce(outcomes)
        nodes = graph.pack_nodes(features, thresholds, outcomes, children, count)
        return graph.tree_votes(
            leaves.x,
            graph.constant(value=graph.pack_roots(roots)),
            graph.constant(value=nodes),
            votes.x,
            depth=leaves.depth,
            width=leaves.width,
            outcomes=int(always),
            varying=int(np.bitwise_or.reduce(outcomes) & ~always),
            reduction=self.reduction,
        )


def _tables(leaves: graph.TreeLeavesOp) -> list[ir.Value]:
    return [leaves.roots, leaves.features, leaves.thresholds, leaves.outcomes, leaves.children]
