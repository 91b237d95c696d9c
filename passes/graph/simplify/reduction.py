"""Reductions of one element."""

from typing import Any

from ....dialects import graph
from ...infra.rewrite import rewrite


@rewrite(
    graph.ReduceSumOp, graph.ReduceMeanOp, graph.ReduceProdOp, graph.ReduceMaxOp, graph.ReduceMinOp
)
def drop_unit_reduction(op: Any) -> Any:
    """``reduce_sum(x, axes=[1])  -->  reshape(x)`` where axis 1 has one element. Exact, but for
    -0.0, whose sum with the neutral element is 0.0."""
    x = graph.type_of(op.x)
    if any(x.shape[axis] != 1 for axis in op.attrs["axes"]):
        return None
    return graph.reshape(op.x, shape=graph.type_of(op.result).shape)


REWRITES = (drop_unit_reduction,)
