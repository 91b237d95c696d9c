"""Calls of the fused attention kernel."""

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.attention_shape import AttentionShape, MaskShape
from ..kernels.fused_attention import AttentionEmitter, memory_of
from .kernel_calls import run_emitter
from .lowering import Lowering, lowers
from .movement import reshape_tensor, transpose_tensor
from .scratch import floats, scratch_of, uses_scratch

Value = ir.Value


@lowers(graph.FusedAttentionOp)
def fused_attention(
    ctx: Lowering, op: graph.FusedAttentionOp, q: Value, k: Value, v: Value, mask: Value | None
) -> Value:
    shape = _shape(op)
    read = [(x, graph.type_of(value)) for x, value in ((q, op.q), (k, op.k), (v, op.v))]
    if op.mask is not None:
        assert mask is not None
        read.append(_mask(ctx, op.mask, mask, shape))
    results = [graph.type_of(op.result), *scratch_of(op, ctx.cpu)]

    def make_emitter(*buffers: Value) -> AttentionEmitter:
        return AttentionEmitter(shape, memory_of(mask is not None, list(buffers)))

    return run_emitter(ctx, "attention", shape, (), read, results, shape.sizes, make_emitter)


@uses_scratch(graph.FusedAttentionOp)
def fused_attention_scratch(op: graph.FusedAttentionOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The weights of a block of queries, for all workgroups."""
    del cpu
    shape = _shape(op)
    return [floats(shape.heads * shape.parts, shape.scratch)]


def _mask(
    ctx: Lowering, operand: Value, mask: Value, shape: AttentionShape
) -> tuple[Value, graph.TensorType]:
    """The mask, with the queries innermost if it differs between them.

    Its leading axes are one: with two of unknown sizes the backend takes 4 ms to transpose
    1x12x128x128, and with one 0.2 ms.
    """
    type_ = graph.type_of(operand)
    assert shape.mask is not None
    if not shape.mask.per_query:
        return mask, type_
    *lead, queries, keys = type_.shape
    flat = type_.with_shape((graph.element_count(lead), queries, keys))
    mask = reshape_tensor(ctx, mask, type_, flat)
    moved = type_.with_shape((flat.shape[0], keys, queries))
    return transpose_tensor(ctx, mask, flat, [0, 2, 1]), moved


def _shape(op: graph.FusedAttentionOp) -> AttentionShape:
    attrs = op.attrs
    lead = attrs["lead"]
    mask = None
    if op.mask is not None:
        given = graph.type_of(op.mask).shape
        full = (*[1] * (len(lead) + 2 - len(given)), *given)
        mask = MaskShape(full[:-2], per_query=full[-2] != 1)
    return AttentionShape(
        lead, attrs["queries"], attrs["keys"], attrs["head_size"], attrs["width"],
        *graph.attention_views_of(op), order=attrs["order"],
        scale=attrs["scale"], causal=attrs["causal"], mask=mask,
        mr=attrs["mr"], vectors=attrs["vectors"], lanes=attrs["lanes"],
    )  # fmt: skip
