"""Carried values of loops on the host that an iteration updates in place."""

from ...dialects import graph
from ...mlir import ir

_UPDATES = (graph.ScatterElementsOp, graph.ScatterNdOp, graph.TensorScatterOp)
"""Ops whose result may be the memory of their first operand."""

_READERS = (
    *graph.op_classes_of(graph.Arg),
    *graph.op_classes_of(graph.Contraction),
    *graph.op_classes_of(graph.ElementwiseOp),
    *graph.op_classes_of(graph.Reduction),
    graph.FusedOp,
    graph.GatherOp,
)
"""Ops whose results are no part of the memory of an operand."""


def updated_in_place(op: graph.LoopOp) -> list[int]:
    """The numbers of the carried values that each iteration updates, and hands on, once: no copy is
    needed but one before the loop."""
    return [number for number in range(len(op.initial)) if _is_updated(op, number)]


def _is_updated(op: graph.LoopOp, number: int) -> bool:
    argument, yielded = op.body.arguments[number], op.yielded[0][number]
    if not argument.type == yielded.type == op.initial[number].type:
        return False
    uses = list(argument.uses)
    if len(uses) != 1 or uses[0].operand_number != 0:
        return False
    update = uses[0].owner.operation
    if not isinstance(graph.graph_op(update), _UPDATES) or update.block != op.body:
        return False
    if update.results[0] != yielded:
        return False
    end, place = graph.terminator(op.body), op.leading + number
    return all(
        use.operand_number == place if use.owner.operation == end else _only_reads(use.owner, op)
        for use in yielded.uses
    )


def _only_reads(user: ir.Operation | ir.OpView, loop: graph.LoopOp) -> bool:
    """Return whether `user`, or the group of ops that it is in, is of `_READERS` in the body."""
    operation = user.operation
    if operation.block != loop.body:
        parent = operation.parent
        if parent is None or parent.operation.block != loop.body:
            return False
        operation = parent.operation
    return isinstance(graph.graph_op(operation), _READERS)
