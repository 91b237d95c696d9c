"""Broadcasts delayed until a consumer needs them, if any does. All are exact."""

from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer, same_type
from ...infra.rewrite import rewrite


def unexpanded(value: ir.Value) -> ir.Value:
    """The operand of the expansion that makes `value`, or `value` itself."""
    expand = producer(value, graph.ExpandOp)
    return value if expand is None else expand.x


def as_result(op: Any, x: ir.Value) -> ir.Value:
    """`x`, expanded to the type of the result of `op` if it is smaller."""
    result = op.operation.results[0]
    return x if same_type(x, result) else graph.expand(x, shape=graph.type_of(result).shape)


@rewrite(graph.AndOp, graph.OrOp, graph.NotOp, graph.WhereOp, graph.CastOp)
def mask_of_expand(op: graph.BinaryOp | graph.UnaryOp | graph.WhereOp | graph.CastOp) -> Any:
    """``where(expand(c), 0, 1)  -->  expand(where(c, 0, 1))``, likewise for the other ops that
    compute masks: fewer elements are computed, or the other operands are broadcast anyway."""
    operands = list(op.operation.operands)
    smaller = [unexpanded(value) for value in operands]
    if smaller == operands:
        return None
    return as_result(op, graph.build(type(op), smaller, op.attrs))


@rewrite(graph.AttentionOp)
def attention_of_expanded_mask(op: graph.AttentionOp) -> Any:
    """``attention(q, k, v, expand(mask))  -->  attention(q, k, v, mask)``, which broadcasts."""
    if op.mask is None or (mask := unexpanded(op.mask)) == op.mask:
        return None
    return graph.attention(op.q, op.k, op.v, mask, **op.attrs)


REWRITES = (mask_of_expand, attention_of_expanded_mask)
