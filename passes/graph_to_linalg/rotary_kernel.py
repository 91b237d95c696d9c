"""Calls of the kernel for rotary embeddings of static sizes, on CPUs."""

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..kernels.rotary import RotaryEmitter, RotaryRows, strides_of
from .kernel_calls import operands_of, run_emitter
from .lowering import Lowering


def rotate_by_kernel(ctx: Lowering, op: graph.RotaryEmbeddingOp) -> ir.Value | None:
    """Build a rotary embedding; None if the kernel does not compute it. The report says why."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    statistics, node = ctx.statistics("rotary-kernel"), node_name(op.operation)
    reason = _reason_against(op, ctx.cpu.lanes)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    type_, angles = graph.type_of(op.x), graph.type_of(op.cos)
    *outer, width = type_.static_shape
    *held, half = angles.static_shape
    strides = strides_of(held, outer, half)
    shape = RotaryRows(tuple(outer), strides, width, half, ctx.cpu.lanes)
    read = operands_of(ctx, [op.x, op.cos, op.sin])

    def make_emitter(*buffers: ir.Value) -> RotaryEmitter:
        return RotaryEmitter(shape, *buffers)

    return run_emitter(ctx, "rotary", shape, (), read, [type_], (), make_emitter)


def _reason_against(op: graph.RotaryEmbeddingOp, lanes: int) -> str | None:
    """The reason why the kernel does not compute `op`, None if it does."""
    type_, cos, sin = (graph.type_of(x) for x in (op.x, op.cos, op.sin))
    if type_.dtype != np.float32:
        return "only f32 is turned by it"
    if not all(each.is_static for each in (type_, cos, sin)):
        return "sizes are not known at compile time"
    if op.attrs["interleaved"]:
        return "pairs are adjacent elements"
    if cos.shape != sin.shape or 0 in type_.shape:
        return "angles have two shapes, or there is nothing to turn"
    if cos.rank > type_.rank:
        return "angles have more axes than rows"
    half, width = cos.static_shape[-1], type_.static_shape[-1]
    return f"halves are no multiples of {lanes} elements" if half % lanes or width % lanes else None
