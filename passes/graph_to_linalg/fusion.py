"""Fused groups: the contraction, if there is one, then one generic for all that follows it."""

from ...dialects import graph
from ...mlir import ir
from .elementwise import evaluate_scalars, lower_elementwise
from .lowering import Lowering, lower_op, lowers


@lowers(graph.FusedOp)
def fused(ctx: Lowering, op: graph.FusedOp) -> ir.Value:
    ops = op.ops
    if op.attrs["kind"] == "epilogue":
        with ops[0].operation.location:
            lower_op(ctx, ops[0])
        ops = ops[1:]
    inside = {each.operation.results[0] for each in ops}
    used = dict.fromkeys(value for each in ops for value in each.operation.operands)
    leaves = {value: ctx.values[value] for value in used if value not in inside}
    return lower_elementwise(
        ctx,
        graph.type_of(op.operation.results[0]),
        leaves,
        lambda known: evaluate_scalars(ops, known)[op.yielded],
    )
