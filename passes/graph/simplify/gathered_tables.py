"""Gathers from tables that are computed from constants: of what is gathered alone.

Embeddings are stored in few bits, by rows or columns with a scale each, and are too large to be
computed at compile time.
"""

from typing import Any

from ....dialects import graph
from ....dialects.symbolic import at_least
from ....mlir import ir
from ...infra.query import constant_array, producer
from ...infra.rewrite import rewrite


@rewrite(graph.GatherOp)
def gather_computed(op: graph.GatherOp) -> Any:
    """``gather(mul(cast(c), s), i)  -->  mul(cast(gather(c, i)), gather(s, i))`` for a table that
    nothing else reads, if `i` may have fewer elements than it has rows. Exact for indices within
    bounds."""
    table = producer(op.x, graph.ElementwiseOp)
    if table is None or not _is_computed(op.x) or not _is_only_gathered(op):
        return None
    groups = [
        graph.map_group(lambda part: _gathered(part, op), group)
        for group in table.operand_groups.values()
    ]
    return graph.build(type(table), groups, table.attrs)


@rewrite(graph.GatherOp)
def gather_reshaped(op: graph.GatherOp) -> Any:
    """``gather(reshape(t), i)  -->  reshape(gather(t, i))`` for such a table, whose rows are
    reshaped: blocks of a row have scales of their own. Exact."""
    reshaped, behind = producer(op.x, graph.ReshapeOp), op.axis + 1
    if reshaped is None or constant_array(reshaped.x) is not None or not _is_computed(reshaped.x):
        return None
    shape, source = graph.type_of(op.x).shape, graph.type_of(reshaped.x).shape
    if shape[:behind] != source[:behind] or not _is_only_gathered(op):
        return None
    rows = graph.gather(reshaped.x, op.indices, axis=op.axis)
    return graph.reshape(rows, shape=graph.type_of(op.result).shape)


def _is_computed(value: ir.Value) -> bool:
    """Return whether `value` is a constant, or computed from constants elementwise."""
    if constant_array(value) is not None:
        return True
    op = producer(value, graph.ElementwiseOp)
    return op is not None and all(map(_is_computed, op.operation.operands))


def _is_only_gathered(op: graph.GatherOp) -> bool:
    """Return whether nothing but gathers reads the table of `op`, which may take fewer rows than it
    has."""
    count = graph.element_count(graph.type_of(op.indices).shape)
    if at_least(count, graph.type_of(op.x).shape[op.axis]):
        return False
    users = [graph.graph_op(use.owner) for use in op.x.uses]
    return all(isinstance(user, graph.GatherOp) and user.x == op.x for user in users)


def _gathered(part: ir.Value, op: graph.GatherOp) -> ir.Value:
    """The part that `op` takes of an operand of its table, which is broadcast to it."""
    shape, indices = graph.type_of(part).shape, graph.type_of(op.indices)
    axis = op.axis - (graph.type_of(op.x).rank - len(shape))
    if axis < 0:
        return part
    if shape[axis] != 1:
        return graph.gather(part, op.indices, axis=axis)
    return graph.reshape(part, shape=[*shape[:axis], *[1] * indices.rank, *shape[axis + 1 :]])


REWRITES = (gather_computed, gather_reshaped)
