"""Calls of the kernel that normalizes rows, on CPUs that kernels are written for
(`kernels.row_norm`).

In IREE's code, RMS normalization takes 2.5 times as long, as does that of layers whose rows end
within a vector.
"""

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..kernels.row_norm import RowNorm, RowNormEmitter
from .kernel_calls import run_emitter
from .lowering import Lowering
from .rows import row_chunks

_REGISTERS = (4, 2, 1)
"""Registers of elements that are summed side by side; 128 rows of 768 take 1.3 times as long in
one."""

Norm = graph.LayerNormOp | graph.RmsNormOp


def normalize_by_kernel(
    ctx: Lowering, op: Norm, x: ir.Value, scale: ir.Value, bias: ir.Value | None = None
) -> ir.Value | None:
    """Build a normalization; None if the kernel does not compute it. The report says why."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    statistics, node = ctx.statistics("norm-kernel"), node_name(op.operation)
    reason = reason_against_kernel(op)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    return _run(ctx, op, x, [scale] if bias is None else [scale, bias])


def reason_against_kernel(op: Norm) -> str | None:
    """The reason why the kernel does not compute `op`, None if it does."""
    type_ = graph.type_of(op.x)
    row = graph.TensorType(type_.shape[op.attrs["axis"] :], np.dtype(np.float32))
    if type_.dtype != row.dtype:
        return "only f32 is normalized by it"
    if 0 in type_.shape:
        return "there is nothing to normalize"
    parameters = [op.scale, op.bias if isinstance(op, graph.LayerNormOp) else None]
    fits = all(graph.type_of(each) == row for each in parameters if each is not None)
    return None if fits else "scale or bias are no row of f32"


def _run(ctx: Lowering, op: Norm, x: ir.Value, parameters: list[ir.Value]) -> ir.Value:
    type_ = graph.type_of(op.x)
    rows, sizes = row_chunks(type_, op.attrs["axis"])
    widths = [count * ctx.cpu.lanes for count in _REGISTERS]
    fitting = [width for width in widths if rows.length is None or width <= rows.length]
    centred = isinstance(op, graph.LayerNormOp)
    shape = RowNorm(rows, [*fitting, widths[-1]][0], op.attrs["epsilon"], centred)
    row = graph.type_of(op.scale)
    read = [(x, type_), *((parameter, row) for parameter in parameters)]

    def emitter(*buffers: ir.Value) -> RowNormEmitter:
        source, scale, *bias, target = buffers
        return RowNormEmitter(shape, source, scale, bias[0] if bias else None, target)

    return run_emitter(ctx, "row_norm", shape, (), read, [type_], sizes, emitter)
