"""Regions of control flow, lowered at the insertion point."""

from collections.abc import Sequence

from ...dialects import graph
from ...mlir import ir, tensor
from .lowering import Lowering, lower_op


def lower_block(ctx: Lowering, block: ir.Block) -> list[ir.Value]:
    """Lower the ops of a region at the current insertion point; returns the yielded values."""
    *operations, terminator = list(block.operations)
    for operation in operations:
        with operation.operation.location:
            lower_op(ctx, operation.operation.opview)
    return [ctx.values[value] for value in terminator.operation.operands]


def bind_axes(
    ctx: Lowering,
    op: graph.RegionOp,
    values: Sequence[ir.Value],
    types: Sequence[graph.TensorType],
) -> None:
    """Bind the size names that `op` introduces to the extents of the axes with these sizes."""
    for value, type_ in zip(values, types, strict=True):
        for axis, size in enumerate(type_.shape):
            if str(size) in op.own_names and not ctx.knows(str(size)):
                ctx.bind(str(size), tensor.dim(value, ctx.index(axis)))


def cast_all(
    ctx: Lowering, values: Sequence[ir.Value], types: Sequence[graph.TensorType]
) -> list[ir.Value]:
    return [ctx.cast(value, type_) for value, type_ in zip(values, types, strict=True)]
