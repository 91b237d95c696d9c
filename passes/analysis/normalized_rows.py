"""Values whose vectors are divided by their lengths, so that errors count relative to each."""

from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array

_MOVES = (graph.ReshapeOp, graph.TransposeOp, graph.SliceOp)
_SUMS = (graph.ReduceSumOp, graph.ReduceMeanOp)


def is_normalized(value: ir.Value) -> bool:
    """Return whether `value`, moved, or with a constant added, is squared and summed.

    That is how lengths of vectors are computed, by which they are divided then. Of a vector of
    zeros, such as padding, nothing but zeros may come, and of a short one a direction: errors
    relative to the largest element of the whole tensor would become as large as the result.
    """
    users = [graph.graph_op(use.owner) for use in value.uses]
    if any(isinstance(op, graph.MulOp) and op.a == op.b and _is_summed(op) for op in users):
        return True
    moved = [
        op for op in users if op is not None and (isinstance(op, _MOVES) or _adds_constant(op))
    ]
    return any(is_normalized(op.operation.results[0]) for op in moved)


def _is_summed(op: Any) -> bool:
    return any(isinstance(graph.graph_op(use.owner), _SUMS) for use in op.result.uses)


def _adds_constant(op: Any) -> bool:
    if not isinstance(op, graph.AddOp):
        return False
    return any(constant_array(each) is not None for each in (op.a, op.b))
