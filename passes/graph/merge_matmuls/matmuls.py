"""Matmuls of one left operand by several constant matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.locations import fuse_locations, node_name
from ....mlir import ir
from ...infra.query import has_one_use
from ...infra.report import RewriteStatistics
from ..affine_op import Linear, channel_constant, linear
from .heads import heads_of

REWRITE = "merge-matmuls"


def merge_matmuls(block: ir.Block, statistics: RewriteStatistics) -> None:
    """Merge the matmuls of `block` that share a left operand.

        %0 = matmul(%x, %a) + %c                 %0 = matmul(%x, %a_and_b) + %c_and_d
        %1 = matmul(%x, %b) + %d        -->      %1 = slice(%0), %2 = slice(%0)

    Exact up to the order of sums.
    """
    groups: dict[ir.Value, list[Linear]] = {}
    for operation in block.operations:
        matmul = _matmul(operation)
        if matmul is not None:
            groups.setdefault(matmul.x, []).append(matmul)
    for matmuls in groups.values():
        if len(matmuls) > 1:
            _merge_group(matmuls, statistics)


def _matmul(operation: Any) -> Linear | None:
    """Read the op as a matmul by a constant matrix, with the bias that follows it."""
    op = graph.graph_op(operation)
    if not isinstance(op, graph.MatmulOp):
        return None
    bare = linear(op.result)
    if bare is None or graph.type_of(bare.weights).rank != 2:
        return None
    if has_one_use(op.result):
        user = next(iter(op.result.uses)).owner.opview
        biased = linear(user.result) if isinstance(user, graph.AddOp) else None
        return bare if biased is None else biased
    return bare


def _merge_group(matmuls: Sequence[Linear], statistics: RewriteStatistics) -> None:
    """Merge the `matmuls` whose results are used in the same way."""
    alike: dict[Any, list[Linear]] = {}
    for matmul in matmuls:
        reason, use = _how_used(matmul)
        if reason is None:
            alike.setdefault(use, []).append(matmul)
        else:
            statistics.record_declined(node_name(matmul.op), reason)
    for members in alike.values():
        if len(members) > 1:
            statistics.record_fired("+".join(node_name(member.op) for member in members))
            _merge(members)
        else:
            statistics.record_declined(node_name(members[0].op), "no other matmul is used alike")


def _how_used(matmul: Linear) -> tuple[str | None, Any]:
    """The reason not to merge `matmul`, or None, and a key that is equal for compatible uses."""
    if not has_one_use(matmul.weights):
        return "the weights are shared", None
    heads = heads_of(matmul.outer)
    if heads is not None:
        return None, (heads.size, heads.perm)
    for use in matmul.outer.uses:
        user = graph.graph_op(use.owner)
        if not isinstance(user, graph.ElementwiseOp):
            return f"'{node_name(use.owner)}' would read a copy", None
    return None, "elementwise"


def _merge(matmuls: Sequence[Linear]) -> None:
    replaced = [ir.OpResult(matmul.outer).owner for matmul in matmuls]
    ops = dict.fromkeys([*(matmul.op.operation for matmul in matmuls), *replaced])
    with ir.InsertionPoint(matmuls[0].op), fuse_locations(op.location for op in ops):
        y = _merged(matmuls)
        start = 0
        for matmul in matmuls:
            columns = _columns(y, start, matmul.channels)
            matmul.outer.replace_all_uses_with(columns)
            start += matmul.channels
    for op in reversed(ops):
        op.erase()


def _merged(matmuls: Sequence[Linear]) -> ir.Value:
    arrays = [matmul.array for matmul in matmuls]
    weights = graph.constant(value=np.concatenate(arrays, axis=1))
    y = graph.matmul(matmuls[0].x, weights)
    if all(matmul.bias is None for matmul in matmuls):
        return y
    biases = [np.zeros(p.channels) if p.bias is None else p.bias for p in matmuls]
    type_ = graph.type_of(y)
    return graph.add(y, channel_constant(np.concatenate(biases), type_, type_.rank - 1))


def _columns(y: ir.Value, start: int, size: int) -> ir.Value:
    leading = graph.type_of(y).shape[:-1]
    steps = [1] * (len(leading) + 1)
    return graph.slice_(y, starts=[0] * len(leading) + [start], sizes=[*leading, size], steps=steps)
