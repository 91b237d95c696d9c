"""Passes that group ops into `graph.fused`: one kernel for each group."""

from dataclasses import dataclass
from typing import Any

from ....dialects import graph
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .broadcasts import fuse_broadcasts
from .groups import fuse_groups


@register
@dataclass(frozen=True)
class GraphFuseEpilogue(Pass):
    """Join a contraction with the elementwise ops that follow it: bias, activation, residual.

    %1 = "graph.conv"(%x, %w)
    %2 = "graph.add"(%1, %bias)
    %3 = "graph.relu"(%2)
    -->
    %3 = "graph.fused"() ({ conv; add; relu; graph.yield }) {kind = "epilogue"}
    """

    name = "graph-fuse-epilogue"
    anchor = FUNCTION
    max_operands: int = 12
    """Values that a group may read, numbers known when compiling aside; the backend takes at most
    32 buffers per kernel."""

    def run(self, op: Any, state: PassState) -> None:
        fuse_groups(op, graph.Contraction, "epilogue", self.max_operands, state)


@register
@dataclass(frozen=True)
class GraphFuseElementwise(Pass):
    """Join elementwise ops of one shape that feed each other.

    %1 = "graph.sigmoid"(%x)
    %2 = "graph.mul"(%x, %1)
    -->
    %2 = "graph.fused"() ({ sigmoid; mul; graph.yield }) {kind = "elementwise"}
    """

    name = "graph-fuse-elementwise"
    anchor = FUNCTION
    max_operands: int = 12
    """Values that a group may read, numbers known when compiling aside; the backend takes at most
    32 buffers per kernel."""

    def run(self, op: Any, state: PassState) -> None:
        fuse_groups(op, graph.ElementwiseOp, "elementwise", self.max_operands, state)


@register
@dataclass(frozen=True)
class GraphFuseBroadcasts(Pass):
    """Join elementwise ops that read repeated elements, or are broadcast at run time.

    %1 = "graph.mul"(%x, %s) : ["h", 8]
    %2 = "graph.repeat"(%y) {repeats = [2, 1]} : ["k", 8] -> ["2*k", 8]
    %3 = "graph.add"(%1, %2) : ["2*k", 8]
    -->
    %3 = "graph.fused"() ({ mul; repeat; add; graph.yield }) {kind = "broadcast"}

    One kernel reads the operands where they are.
    """

    name = "graph-fuse-broadcasts"
    anchor = FUNCTION
    optional = True
    max_operands: int = 12
    """Values that a group may read; the backend takes at most 32 buffers per kernel."""

    def run(self, op: Any, state: PassState) -> None:
        fuse_broadcasts(op, self.max_operands, state)
