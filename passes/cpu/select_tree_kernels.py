"""Selection of the kernels for ensembles of decision trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.graph.trees import FEATURE_BITS
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, producer
from ..infra.registry import register
from ..infra.rewrite import Decline, Rewrite
from .quickscorer_tables import TreeTables, plan_quickscorer
from .tree_costs import cycles_of_scans, cycles_of_walks

_REDUCTIONS: dict[type[graph.GraphOp], str] = {
    graph.ReduceSumOp: "sum",
    graph.ReduceMaxOp: "max",
    graph.ReduceMinOp: "min",
}


@register
@dataclass(frozen=True)
class SelectTreeKernels(Pass):
    """Find the leaves of an ensemble and reduce their weights by one kernel.

    %1 = "graph.tree_leaves"(%x, ...) : 1000x100xi32
    %2 = "graph.gather"(%weights, %1) : 1000x100x3xf32
    %3 = "graph.reduce_sum"(%2) {axes = [1]} : 1000x3xf32
    -->
    %3 = "graph.quickscorer_votes"(%x, %columns, ..., %leaves, %weights) : 1000x3xf32

    Trees of more than 64 leaves, or whose nodes compare in another way than by order, are walked,
    as are those that compare so many features that walks take less time:

    %3 = "graph.tree_votes"(%x, %roots, %nodes, %weights) : 1000x3xf32

    Their tables become one, in which a node is within one line of the cache, and leaves lead to
    themselves.
    """

    name = "cpu-select-tree-kernels"
    anchor = FUNCTION
    only_rewrites = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for, whose second cache should hold a block of trees."""

    def run(self, op: Any, state: PassState) -> None:
        cache_bytes = self.cpu.l2_bytes
        apply_rewrites(op, [QuickscorerLeaves(root, cache_bytes) for root in _REDUCTIONS], state)
        apply_rewrites(op, [*map(WalkedLeaves, _REDUCTIONS)], state)


class ReducedLeaves(Rewrite):
    """``reduce(gather(weights, tree_leaves(x, ...)))`` by one of the kernels."""

    def __init__(self, root: type[graph.GraphOp], kernel: str):
        self.root, self.reduction = root, _REDUCTIONS[root]
        self.name = f"{kernel}-{self.reduction}"

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
        tables, count = _read(leaves), weights.static_shape[0]
        if graph.lead_outside(tables.roots, tables.features, tables.children, count, leaves.width):
            return "its tables name nodes, leaves or features that are not there"
        return None


class QuickscorerLeaves(ReducedLeaves):
    """``reduce(gather(weights, tree_leaves(x, ...)))  -->  quickscorer_votes(x, ...)``."""

    def __init__(self, root: type[graph.GraphOp], cache_bytes: int):
        super().__init__(root, "quickscorer")
        self.cache_bytes = cache_bytes

    def rewrite(self, op: Any, votes: graph.GatherOp, leaves: graph.TreeLeavesOp) -> ir.Value:
        del op
        plan = plan_quickscorer(_read(leaves), self.cache_bytes)
        if plan.shapes.depths.max() > leaves.depth:
            raise Decline(f"its trees are deeper than the {leaves.depth} nodes that count")
        x = graph.type_of(leaves.x)
        quick, walks = cycles_of_scans(plan), cycles_of_walks(plan, x, self.cache_bytes)
        if quick >= walks:
            raise Decline(f"scans of thresholds take longer than walks: {quick / walks:.2f}")
        first_leaves, order = (
            graph.constant(value=each.astype(np.int32))
            for each in (plan.shapes.first_leaves, plan.shapes.leaves)
        )
        return graph.quickscorer_votes(
            leaves.x,
            graph.constant(value=plan.columns),
            graph.constant(value=plan.offsets),
            graph.constant(value=plan.thresholds),
            graph.constant(value=plan.trees),
            graph.constant(value=plan.masks),
            graph.constant(value=plan.unordered),
            first_leaves,
            graph.gather(votes.x, order, axis=0),
            block=plan.block,
            width=leaves.width,
            strict=plan.strict,
            reduction=self.reduction,
        )


class WalkedLeaves(ReducedLeaves):
    """``reduce(gather(weights, tree_leaves(x, ...)))  -->  tree_votes(x, ...)``."""

    def __init__(self, root: type[graph.GraphOp]):
        super().__init__(root, "tree-votes")

    def rewrite(self, op: Any, votes: graph.GatherOp, leaves: graph.TreeLeavesOp) -> ir.Value:
        del op
        tables, count = _read(leaves), graph.type_of(votes.x).static_shape[0]
        always = np.bitwise_and.reduce(tables.outcomes)
        nodes = graph.pack_nodes(
            tables.features, tables.thresholds, tables.outcomes, tables.children, count
        )
        return graph.tree_votes(
            leaves.x,
            graph.constant(value=graph.pack_roots(tables.roots)),
            graph.constant(value=nodes),
            votes.x,
            depth=leaves.depth,
            width=leaves.width,
            outcomes=int(always),
            varying=int(np.bitwise_or.reduce(tables.outcomes) & ~always),
            reduction=self.reduction,
        )


def _tables(leaves: graph.TreeLeavesOp) -> list[ir.Value]:
    return [leaves.roots, leaves.features, leaves.thresholds, leaves.outcomes, leaves.children]


def _read(leaves: graph.TreeLeavesOp) -> TreeTables:
    return TreeTables(*(np.asarray(constant_array(table)) for table in _tables(leaves)))
