"""Decision trees: a walk from the root to a leaf for each row and tree."""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...dialects.graph.trees import EQUAL, GREATER, LESS, UNORDERED
from ...mlir import arith, ir, tensor
from ..kernels.leaf_votes import (
    LeafVotesEmitter,
    LeafVotesShape,
    TreePartsEmitter,
    TreePartsShape,
)
from ..kernels.quickscorer import QuickscorerEmitter, QuickscorerShape, QuickscorerTables
from ..kernels.trees import TreeVotesEmitter, TreeVotesShape
from .dispatch import read_in_loops
from .generic import loop_index, parallel, projection
from .kernel_calls import Operand, operands_of, run_emitter
from .loops import while_
from .lowering import Lowering, lowers, plain_element, scalar_constant

_I32 = np.dtype(np.int32)


@lowers(graph.TreeLeavesOp)
def tree_leaves(
    ctx: Lowering,
    op: graph.TreeLeavesOp,
    x: ir.Value,
    roots: ir.Value,
    features: ir.Value,
    thresholds: ir.Value,
    outcomes: ir.Value,
    children: ir.Value,
) -> ir.Value:
    """Walk the trees. Node and feature numbers are clamped, because no table is trusted."""
    rows, nodes = graph.type_of(op.x).shape, graph.type_of(op.features).shape[0]
    ctx.require_at_least(rows[1], op.attrs["width"], f"has fewer features than {op.attrs['width']}")
    x = read_in_loops(ctx, x, graph.type_of(op.x))
    zero, one = ctx.index(0), ctx.index(1)
    last_node, last_feature = ctx.index(nodes - 1), ctx.index(rows[1] - 1)
    depth = ctx.index(op.attrs["depth"])
    index = ir.IndexType.get()

    def is_node(at: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.sge, at, zero)

    def goes_on(at: ir.Value, steps: ir.Value) -> ir.Value:
        return arith.andi(is_node(at), arith.cmpi(arith.CmpIPredicate.slt, steps, depth))

    def read(table: ir.Value, *coordinates: ir.Value) -> ir.Value:
        return arith.index_cast(index, tensor.extract(table, list(coordinates)))

    def step(row: ir.Value, at: ir.Value, steps: ir.Value) -> list[ir.Value]:
        node = arith.minsi(at, last_node)
        feature = arith.minsi(arith.maxsi(read(features, node), zero), last_feature)
        value = tensor.extract(x, [row, feature])
        seen = _comparison(value, tensor.extract(thresholds, [node]))
        wanted = arith.andi(tensor.extract(outcomes, [node]), seen)
        hit = arith.cmpi(arith.CmpIPredicate.ne, wanted, arith.constant(wanted.type, 0))
        child = read(children, node, arith.select(hit, zero, one))
        return [child, arith.addi(steps, one)]

    def leaf(root: ir.Value) -> ir.Value:
        row = loop_index(0)
        state = [arith.index_cast(index, root), zero]
        at, _ = while_(state, goes_on, lambda at, steps: step(row, at, steps))
        number = arith.subi(arith.subi(zero, one), at)
        return arith.index_cast(plain_element(_I32), arith.select(is_node(at), zero, number))

    result = ctx.empty(graph.type_of(op.result))
    return parallel([roots], [projection(2, [1])], result, leaf)


def _comparison(value: ir.Value, threshold: ir.Value) -> ir.Value:
    """The bit of the comparison that holds between two floats (i8)."""
    found = scalar_constant(UNORDERED, np.dtype(np.uint8))
    for predicate, bit in (("OLT", LESS), ("OEQ", EQUAL), ("OGT", GREATER)):
        holds = arith.cmpf(getattr(arith.CmpFPredicate, predicate), value, threshold)
        found = arith.select(holds, scalar_constant(bit, np.dtype(np.uint8)), found)
    return found


@lowers(graph.TreeVotesOp)
def tree_votes(ctx: Lowering, op: graph.TreeVotesOp, *operands: ir.Value) -> ir.Value:
    """Compute what `cpu-select-tree-kernels` left for the kernel."""
    del operands
    x, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    ctx.require_at_least(x.shape[1], op.width, f"has fewer features than {op.width}")
    (roots,), (words,), weights = (
        graph.type_of(value).static_shape for value in (op.roots, op.nodes, op.weights)
    )
    shape = TreeVotesShape(
        rows=x.shape[0], columns=x.shape[1], trees=roots - 1, leaves=weights[0],
        targets=weights[1], depth=op.depth, outcomes=op.outcomes, varying=op.varying,
        reduction=op.reduction, lanes=_lanes(ctx, x), threads=ctx.threads,
        is_cached=(words + weights[0] * weights[1]) * x.dtype.itemsize <= ctx.cpu.l3_bytes,
    )  # fmt: skip

    def make_emitter(*buffers: ir.Value) -> TreeVotesEmitter:
        return TreeVotesEmitter(shape, *buffers)

    read = operands_of(ctx, [op.x, op.roots, op.nodes, op.weights])
    return _joined(ctx, "tree_votes", shape, read, result, make_emitter)


@lowers(graph.QuickscorerVotesOp)
def quickscorer_votes(ctx: Lowering, op: graph.QuickscorerVotesOp, *operands: ir.Value) -> ir.Value:
    """Compute what `cpu-select-tree-kernels` left for the kernel."""
    del operands
    x, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    ctx.require_at_least(x.shape[1], op.width, f"has fewer features than {op.width}")
    columns, offsets, thresholds, leaves = (
        graph.type_of(value).static_shape[0]
        for value in (op.columns, op.offsets, op.thresholds, op.leaves)
    )
    shape = QuickscorerShape(
        rows=x.shape[0], columns=x.shape[1], targets=graph.type_of(op.weights).static_shape[1],
        reduction=op.reduction, lanes=_lanes(ctx, x), threads=ctx.threads, trees=leaves,
        block_trees=op.block, nodes=thresholds - (offsets - 1), features=columns,
        strict=op.strict,
    )  # fmt: skip

    def make_emitter(x: ir.Value, *buffers: ir.Value) -> QuickscorerEmitter:
        *tables, weights, result = buffers
        return QuickscorerEmitter(shape, x, QuickscorerTables(*tables), weights, result)

    tables = [op.columns, op.offsets, op.thresholds, op.trees, op.masks, op.unordered, op.leaves]
    read = operands_of(ctx, [op.x, *tables, op.weights])
    return _joined(ctx, "quickscorer", shape, read, result, make_emitter)


def _lanes(ctx: Lowering, x: graph.TensorType) -> int:
    return max(1, ctx.cpu.lanes * 4 // x.dtype.itemsize)


def _joined(
    ctx: Lowering,
    family: str,
    shape: LeafVotesShape,
    read: Sequence[Operand],
    result: graph.TensorType,
    make_emitter: Callable[..., LeafVotesEmitter],
) -> ir.Value:
    """The `result` of a kernel of votes, whose parts of the trees are joined by another."""
    partial = result.with_shape((shape.partial_rows, *result.shape[1:]))
    votes = run_emitter(ctx, family, shape, (), read, [partial], shape.sizes, make_emitter)
    if not shape.shares_trees:
        return votes
    parts = TreePartsShape(shape)

    def make_parts(*buffers: ir.Value) -> TreePartsEmitter:
        return TreePartsEmitter(parts, *buffers)

    return run_emitter(
        ctx, "tree_parts", parts, (), [(votes, partial)], [result], parts.sizes, make_parts
    )
