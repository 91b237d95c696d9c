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
        product = _product(operation)
        if product is not None:
            groups.setdefault(product.op.a, []).append(product)
    for products in groups.values():
        if len(products) > 1:
            _merge_group(products, statistics)


def _product(operation: Any) -> Linear | None:
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


def _merge_group(products: Sequence[Linear], statistics: RewriteStatistics) -> None:
    """Merge the `products` whose results are used in the same way."""
    alike: dict[Any, list[Linear]] = {}
    for product in products:
        reason, use = _how_used(product)
        if reason is None:
            alike.setdefault(use, []).append(product)
        else:
            statistics.record_declined(node_name(product.op), reason)
    for members in alike.values():
        if len(members) > 1:
            statistics.record_fired("+".join(node_name(member.op) for member in members))
            _merge(members)
        else:
            statistics.record_declined(node_name(members[0].op), "no other product is used alike")


def _how_used(product: Linear) -> tuple[str | None, Any]:
    """The reason not to merge `product`, or None, and a key that is equal for compatible uses."""
    if not has_one_use(product.weights):
        return "the weights are shared", None
    heads = heads_of(product.outer)
    if heads is not None:
        return None, (heads.size, heads.perm)
    for use in product.outer.uses:
        user = graph.graph_op(use.owner)
        if not isinstance(user, graph.ElementwiseOp):
            return f"'{node_name(use.owner)}' would read a copy", None
    return None, "elementwise"


def _merge(products: Sequence[Linear]) -> None:
    replaced = [ir.OpResult(product.outer).owner for product in products]
    ops = dict.fromkeys([*(product.op.operation for product in products), *replaced])
    with ir.InsertionPoint(products[0].op), fuse_locations(op.location for op in ops):
        y = _merged(products)
        start = 0
        for product in products:
            columns = _columns(y, start, product.channels)
            product.outer.replace_all_uses_with(columns)
            start += product.channels
    for op in reversed(ops):
        op.erase()


def _merged(products: Sequence[Linear]) -> ir.Value:
    arrays = [product.array for product in products]
    weights = graph.constant(value=np.concatenate(arrays, axis=1))
    y = graph.matmul(products[0].op.a, weights)
    if all(product.bias is None for product in products):
        return y
    biases = [np.zeros(p.channels) if p.bias is None else p.bias for p in products]
    type_ = graph.type_of(y)
    return graph.add(y, channel_constant(np.concatenate(biases), type_, type_.rank - 1))


def _columns(y: ir.Value, start: int, size: int) -> ir.Value:
    leading = graph.type_of(y).shape[:-1]
    steps = [1] * (len(leading) + 1)
    return graph.slice_(y, starts=[0] * len(leading) + [start], sizes=[*leading, size], steps=steps)
