"""Calls of the fused attention kernel."""

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...mlir import ir
from ..kernels.fused_attention import AttentionEmitter, AttentionShape, MaskShape, memory_of
from .kernel_calls import define, flat
from .lowering import Lowering, lowers, plain_type
from .movement import transpose_tensor
from .scratch import floats, scratch_of, uses_scratch

Value = ir.Value


@lowers(graph.FusedAttentionOp)
def fused_attention(
    ctx: Lowering, op: graph.FusedAttentionOp, q: Value, k: Value, v: Value, mask: Value | None
) -> Value:
    shape = _shape(op)
    results = [plain_type(type_) for type_ in (graph.type_of(op.result), *scratch_of(op, ctx.cpu))]
    operands = [q, k, v]
    if mask is not None:
        operands.append(_mask(ctx, op, mask, shape))

    def kernel(workgroup_id: Value, *buffers: Value) -> None:
        memory = memory_of(mask is not None, list(buffers))
        AttentionEmitter(shape, memory).workgroup(workgroup_id)

    types = [*(operand.type for operand in operands), *results]
    name = define(ctx, "attention", shape, [flat(type_) for type_ in types], kernel, shape.flops)
    return iree.run_kernel(name, shape.workgroups, operands, results)[0]


@uses_scratch(graph.FusedAttentionOp)
def fused_attention_scratch(op: graph.FusedAttentionOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The weights of a block of queries, for all workgroups."""
    del cpu
    shape = _shape(op)
    return [floats(shape.workgroups * shape.scratch)]


def _mask(ctx: Lowering, op: graph.FusedAttentionOp, mask: Value, shape: AttentionShape) -> Value:
    """The mask, with the queries innermost if it differs between them."""
    assert op.mask is not None
    assert shape.mask is not None
    if not shape.mask.per_query:
        return mask
    type_ = graph.type_of(op.mask)
    order = [*range(type_.rank - 2), type_.rank - 1, type_.rank - 2]
    return transpose_tensor(ctx, mask, type_, order)


def _shape(op: graph.FusedAttentionOp) -> AttentionShape:
    attrs = op.attrs
    lead = attrs["lead"]
    mask = None
    if op.mask is not None:
        given = graph.type_of(op.mask).static_shape
        full = (*[1] * (len(lead) + 2 - len(given)), *given)
        mask = MaskShape(full[:-2], per_query=full[-2] != 1)
    return AttentionShape(
        lead, attrs["queries"], attrs["keys"], attrs["head_size"], attrs["width"],
        *graph.attention_views_of(op), order=attrs["order"],
        scale=attrs["scale"], causal=attrs["causal"], mask=mask,
        mr=attrs["mr"], vectors=attrs["vectors"], lanes=attrs["lanes"],
    )  # fmt: skip
