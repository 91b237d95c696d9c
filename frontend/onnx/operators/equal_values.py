"""Values that are computed alike, as far as names of sizes need it.

Nodes that slice several tensors at the same positions compute these anew, each for itself; the
slices are known to have equal sizes if these have equal names.
"""

from collections.abc import Sequence
from itertools import islice

from ....dialects import graph
from ....mlir import ir

_DEPTH = 8
"""Ops between the values of two nodes that are computed alike and what both begin with."""
_MOST_USES = 64
"""Uses of a value to look at."""
_REPEATABLE = (graph.ElementwiseOp, graph.CastOp, graph.ReshapeOp)


def earlier_equal(value: ir.Value, depth: int = _DEPTH) -> ir.Value:
    """A value of the same block that is computed as `value` is; `value` if there is no other."""
    op = graph.graph_op(value.owner)
    if depth == 0 or not isinstance(op, _REPEATABLE):
        return value
    operands = [earlier_equal(each, depth - 1) for each in op.operation.operands]
    for operand in operands:
        for use in islice(operand.uses, _MOST_USES):
            if _computes_alike(use.owner, op.operation, operands):
                return use.owner.results[0]
    return value


def _computes_alike(
    other: ir.Operation | ir.OpView, op: ir.Operation, operands: Sequence[ir.Value]
) -> bool:
    return (
        other.operation != op
        and other.operation.block == op.block
        and _has_same_form(other.operation, op)
        and all(map(_is_same, other.operation.operands, operands))
    )


def _has_same_form(a: ir.Operation, b: ir.Operation) -> bool:
    """Return whether two ops differ in their operands alone."""
    return (
        (a.name, len(a.operands)) == (b.name, len(b.operands))
        and len(a.attributes) == len(b.attributes)
        and all(
            name in b.attributes and a.attributes[name] == b.attributes[name]
            for name in a.attributes
        )
    )


def _is_same(a: ir.Value, b: ir.Value, depth: int = _DEPTH) -> bool:
    """Return whether two values are one, or follow from equal constants and sizes."""
    if a == b:
        return True
    first, second = graph.graph_op(a.owner), graph.graph_op(b.owner)
    return (
        depth > 0
        and isinstance(first, (graph.ConstantOp, graph.SizesOp, *_REPEATABLE))
        and second is not None
        and _has_same_form(first.operation, second.operation)
        and all(
            _is_same(*pair, depth - 1)
            for pair in zip(first.operation.operands, second.operation.operands, strict=True)
        )
    )
