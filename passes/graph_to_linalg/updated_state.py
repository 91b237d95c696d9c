"""Carried values of loops on the host that an iteration updates in place."""

from ...dialects import graph
from ...mlir import ir
from ..infra.query import has_one_use, producer

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
    return [number for number in updated_values(op) if reason_against_in_place(op, number) is None]


def updated_values(op: graph.LoopOp) -> list[int]:
    """The numbers of the carried values of which an iteration updates a part, and hands that on."""
    return [
        number
        for number, (argument, yielded) in enumerate(
            zip(op.body.arguments, op.yielded[0], strict=False)
        )
        if (update := producer(yielded, _UPDATES)) is not None
        and update.operation.operands[0] == argument
        and update.operation.block == op.body
    ]


def reason_against_in_place(op: graph.LoopOp, number: int) -> str | None:
    """The reason why each iteration copies the updated value `number`; None if it need not."""
    argument, yielded = op.body.arguments[number], op.yielded[0][number]
    if not argument.type == yielded.type == op.initial[number].type:
        return "its sizes change"
    if not has_one_use(argument):
        return "something else reads it before it is updated"
    end, place = graph.terminator(op.body), op.leading + number
    only_reads = all(
        use.operand_number == place if use.owner.operation == end else _only_reads(use.owner, op)
        for use in yielded.uses
    )
    return None if only_reads else "it is handed on twice, or in another shape"


def _only_reads(user: ir.Operation | ir.OpView, loop: graph.LoopOp) -> bool:
    """Return whether `user`, or the group of ops that it is in, is of `_READERS` in the body."""
    operation = user.operation
    if operation.block != loop.body:
        parent = operation.parent
        if parent is None or parent.operation.block != loop.body:
            return False
        operation = parent.operation
    return isinstance(graph.graph_op(operation), _READERS)
