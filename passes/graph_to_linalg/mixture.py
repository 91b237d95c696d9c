"""Mixtures of experts that no pass has expanded."""

from ...dialects import graph
from ...mlir import ir
from .lowering import Lowering, lower_op, lowers


@lowers(graph.MixtureOp)
def mixture(ctx: Lowering, op: graph.MixtureOp, *operands: ir.Value | None) -> ir.Value:
    """Lower the ops that it decomposes to."""
    del operands
    block = op.operation.block
    before = list(block.operations)
    place = before.index(op)
    y = graph.decomposed_mixture(op)
    made = list(block.operations)[place : place + len(block.operations) - len(before)]
    for each in made:
        lower_op(ctx, each.operation.opview)
    result = ctx.values[y]
    for each in reversed(made):
        for value in each.operation.results:
            del ctx.values[value]
        each.operation.erase()
    return result
