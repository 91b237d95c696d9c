"""Constants, and sizes as data."""

import numpy as np

from ...dialects import graph, iree
from ...mlir import arith, ir, tensor
from .dispatch import behind_barrier
from .lowering import Lowering, lowers, plain_type


@lowers(graph.ConstantOp)
def constant(ctx: Lowering, op: graph.ConstantOp) -> ir.Value:
    del ctx
    attribute = op.operation.attributes["value"]
    wanted = plain_type(graph.type_of(op.result))
    if attribute.type == wanted:
        return arith.constant(wanted, attribute)
    array = op.attrs["value"]  # the same bits, signless
    signed = array.view(np.dtype(f"i{array.dtype.itemsize}"))
    return arith.constant(wanted, graph.write_elements(signed))


@lowers(graph.SizesOp)
def sizes(ctx: Lowering, op: graph.SizesOp) -> ir.Value:
    element = ir.IntegerType.get_signless(64)
    values = [arith.index_cast(element, ctx.index(size)) for size in op.attrs["sizes"]]
    type_ = graph.type_of(op.result)
    listed = tensor.from_elements(plain_type(type_), values)
    # Materialized in this shape: of a list that is reshaped to rows, the backend writes each
    # element to several positions, the last one out of bounds.
    return behind_barrier(ctx, listed, type_) if len(values) > 1 else listed


@lowers(graph.BindSizesOp)
def bind_sizes(ctx: Lowering, op: graph.BindSizesOp, x: ir.Value) -> ir.Value:
    """Bind sizes behind a barrier: a size that becomes data again would be fused with `x`.

    That would be a store of one element by many workgroups, which the backend rejects. Sizes that
    follow from others are computed without reading `x`.
    """
    source = graph.graph_op(op.x.owner)
    if isinstance(source, graph.SizesOp):
        for name, size in zip(op.names, source.sizes, strict=True):
            ctx.require_at_least(size, 0, f"size '{name}' is negative")
            ctx.bind(name, ctx.index(size))
        return x
    bind = ctx.bind_varying if ctx.in_kernel else ctx.bind
    is_nonnegative = _is_nonnegative(op.x)
    x = iree.optimization_barrier(x)
    for position, name in enumerate(op.attrs["names"]):
        indices = [ctx.index(position)] if graph.type_of(op.x).rank else []
        size = arith.index_cast(ir.IndexType.get(), tensor.extract(x, indices))
        if not is_nonnegative:
            not_negative = arith.cmpi(arith.CmpIPredicate.sge, size, ctx.index(0))
            ctx.require(not_negative, f"size '{name}' is negative")
        bind(name, iree.optimization_barrier(size))
    return x


def _is_nonnegative(x: ir.Value) -> bool:
    """Return whether the numbers in `x` are known to be 0 at least."""
    op = graph.graph_op(x.owner)
    if isinstance(op, graph.ReshapeOp):
        return _is_nonnegative(op.x)
    if isinstance(op, graph.MaxOp):
        return any(map(_is_nonnegative, op.operation.operands))
    if isinstance(op, graph.MinOp):
        return all(map(_is_nonnegative, op.operation.operands))
    if isinstance(op, graph.ConstantOp):
        return bool((op.attrs["value"] >= 0).all())
    return isinstance(op, graph.ReluOp | graph.SizesOp)


@lowers(graph.RequireOp)
def require(ctx: Lowering, op: graph.RequireOp, condition: ir.Value) -> tuple[()]:
    holds = _compared_sizes(ctx, op.condition)
    ctx.require(tensor.extract(condition, []) if holds is None else holds, op.attrs["message"])
    return ()


def _compared_sizes(ctx: Lowering, condition: ir.Value) -> ir.Value | None:
    """`condition` as a scalar if it compares two sizes: loops in kernels check these before they
    begin."""
    op = graph.graph_op(condition.owner)
    if not isinstance(op, graph.LessOrEqualOp):
        return None
    sides = [graph.known_sizes(side) for side in op.operation.operands]
    if any(side is None or len(side) != 1 for side in sides):
        return None
    low, high = (ctx.index(size) for (size,) in filter(None, sides))
    return arith.cmpi(arith.CmpIPredicate.sle, low, high)
