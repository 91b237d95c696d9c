"""Attention, decomposed: a batched product, softmax, a batched product.

The backend's own attention op is many times slower on processors than these three.
"""

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, linalg
from .contraction import broadcast, contract, converted
from .generic import loop_index, parallel, projection
from .lowering import Lowering, lowers, scalar_constant
from .movement import reshape_tensor
from .normalization import softmax_tensor
from .reduction import accumulator
from .scalar import convert_scalar


@lowers(graph.AttentionOp)
def attention(ctx: Lowering, op: graph.GraphOp, q, k, v, mask) -> ir.Value:
    result = graph.type_of(op.result)
    types = [graph.type_of(x) for x in (op.q, op.k, op.v)]
    lead = result.shape[:-2]
    batch = graph.element_count(lead)
    flat = []
    for value, type_ in zip((q, k, v), types, strict=True):
        full = type_.with_shape((*lead, *type_.shape[-2:]))
        value = broadcast(ctx, value, type_, full)
        merged = full.with_shape((batch, *full.shape[-2:]))
        flat.append((reshape_tensor(ctx, value, full, merged), merged))
    (q, q_type), (k, k_type), (v, _) = flat
    wide = accumulator(result.dtype)
    scores = graph.TensorType((batch, q_type.shape[1], k_type.shape[1]), wide)
    q = _scaled(ctx, q, q_type, op.attrs["scale"])
    value = contract(ctx, _product_with_transposed, q, k, scores)
    value = _masked(ctx, op, value, scores, lead, mask)
    weights = softmax_tensor(ctx, value, scores, 2)
    weights = converted(ctx, weights, scores, scores.with_dtype(result.dtype))
    merged = result.with_shape((batch, *result.shape[-2:]))
    return reshape_tensor(
        ctx, contract(ctx, linalg.batch_matmul, weights, v, merged), merged, result
    )


def _scaled(ctx: Lowering, q: ir.Value, type_: graph.TensorType, scale: float) -> ir.Value:
    """Scaling the queries touches less memory than scaling the scores."""
    wide = accumulator(type_.dtype)

    def element(s: ir.Value) -> ir.Value:
        product = arith.mulf(convert_scalar(s, type_.dtype, wide), scalar_constant(scale, wide))
        return convert_scalar(product, wide, type_.dtype)

    return parallel([q], [ir.AffineMap.get_identity(type_.rank)], ctx.empty(type_), element)


def _product_with_transposed(a: ir.Value, b: ir.Value, outs) -> ir.Value:
    """``a b^T`` per batch: the second operand is read transposed, not copied."""
    d = [ir.AffineExpr.get_dim(i) for i in range(4)]
    maps = [[d[0], d[1], d[3]], [d[0], d[2], d[3]], [d[0], d[1], d[2]]]
    return linalg.batch_matmul(
        a,
        b,
        outs=outs,
        indexing_maps=[ir.AffineMap.get(4, 0, m) for m in maps],
    )


def _masked(ctx, op, scores, type_, lead, mask) -> ir.Value:
    """Scores with the mask applied. What must not be seen gets a finite lowest score."""
    causal = op.attrs["causal"]
    if mask is None and not causal:
        return scores
    full = type_.with_shape((*lead, *type_.shape[1:]))
    scores = reshape_tensor(ctx, scores, type_, full)
    inputs, maps = [scores], [ir.AffineMap.get_identity(full.rank)]
    mask_type = None
    if mask is not None:
        mask_type = graph.type_of(op.mask)
        first = full.rank - mask_type.rank
        axes = [None if size == 1 else first + i for i, size in enumerate(mask_type.shape)]
        inputs.append(mask)
        maps.append(projection(full.rank, axes))
    lowest = float(np.finfo(full.dtype).min)

    def element(score: ir.Value, *masks: ir.Value) -> ir.Value:
        low = scalar_constant(lowest, full.dtype)
        if mask_type is not None and mask_type.dtype == np.bool_:
            score = arith.select(masks[0], score, low)
        elif mask_type is not None:
            bias = convert_scalar(masks[0], mask_type.dtype, full.dtype)
            score = arith.maximumf(arith.addf(score, bias), low)
        if causal:
            row, column = loop_index(full.rank - 2), loop_index(full.rank - 1)
            seen = arith.cmpi(arith.CmpIPredicate.sle, column, row)
            score = arith.select(seen, score, low)
        return score

    masked = parallel(inputs, maps, ctx.empty(full), element)
    return reshape_tensor(ctx, masked, full, type_)
