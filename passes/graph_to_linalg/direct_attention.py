"""Attention by a kernel of our own."""

import math

from ...dialects import graph, iree
from ...mlir import ir
from .attention import transposed_and_scaled
from .attention_kernel import AttentionEmitter, AttentionShape, MaskShape, memory_of
from .kernels import define, flat
from .lowering import Lowering, lowers, plain_type
from .movement import reshape_tensor, transpose_tensor
from .scratch import floats, scratch_of, uses_scratch

Value = ir.Value


@lowers(graph.DirectAttentionOp)
def direct_attention(
    ctx: Lowering, op: graph.GraphOp, q: Value, k: Value, v: Value, mask: Value | None
) -> Value:
    shape = _shape(op)
    results = [plain_type(type_) for type_ in (graph.type_of(op.result), *scratch_of(op))]
    operands = [_queries(ctx, op, q), k, v]
    if mask is not None:
        operands.append(_mask(ctx, op, mask, shape))

    def kernel(number: Value, *buffers: Value) -> None:
        memory = memory_of(mask is not None, list(buffers))
        AttentionEmitter(shape, memory).piece(number)

    types = [*(operand.type for operand in operands), *results]
    name = define(ctx, "attention", shape, [flat(type_) for type_ in types], kernel, shape.flops)
    return iree.run_kernel(name, shape.pieces, operands, results)[0]


@uses_scratch(graph.DirectAttentionOp)
def direct_attention_scratch(op: graph.GraphOp) -> list[graph.TensorType]:
    """The weights of a block of queries, for all pieces of work."""
    shape = _shape(op)
    return [floats(shape.pieces * shape.scratch)]


def _queries(ctx: Lowering, op: graph.GraphOp, q: Value) -> Value:
    """The queries as [heads, depth, queries], scaled."""
    type_ = graph.type_of(op.q)
    heads = type_.with_shape((math.prod(type_.static_shape[:-2]), *type_.shape[-2:]))
    q = reshape_tensor(ctx, q, type_, heads)
    return transposed_and_scaled(ctx, q, heads, op.attrs["scale"])[0]


def _mask(ctx: Lowering, op: graph.GraphOp, mask: Value, shape: AttentionShape) -> Value:
    """The mask with the queries innermost, where it differs from one to the next."""
    assert shape.mask is not None
    if not shape.mask.per_query:
        return mask
    type_ = graph.type_of(op.mask)
    order = [*range(type_.rank - 2), type_.rank - 1, type_.rank - 2]
    return transpose_tensor(ctx, mask, type_, order)


def _shape(op: graph.GraphOp) -> AttentionShape:
    attrs = op.attrs
    *lead, queries, depth = graph.type_of(op.q).static_shape
    keys, width = graph.type_of(op.v).static_shape[-2:]
    mask = None
    if op.mask is not None:
        given = graph.type_of(op.mask).static_shape
        full = (*[1] * (len(lead) + 2 - len(given)), *given)
        mask = MaskShape(full[:-2], per_query=full[-2] != 1)
    return AttentionShape(
        tuple(lead), queries, keys, depth, width, attrs["causal"], mask,
        rows=attrs["rows"], vectors=attrs["vectors"], lanes=attrs["lanes"],
    )  # fmt: skip
