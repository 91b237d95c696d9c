"""Calls of the kernel that quantizes activations by blocks, on CPUs."""

from ...dialects import graph
from ...errors import LoweringError
from ...mlir import ir
from ..kernels.quantize_blocks import QuantizeBlocksEmitter, QuantizeBlocksShape
from .kernel_calls import operands_of, run_emitter
from .lowering import Lowering, NotAKernel, describe, lowers


@lowers(graph.QuantizeBlocksOp)
def quantize_blocks(ctx: Lowering, op: graph.QuantizeBlocksOp, x: ir.Value) -> ir.Value:
    """Quantize blocks, the rows shared among workgroups."""
    del x
    if ctx.in_kernel:
        raise NotAKernel("it quantizes over the range of a block")
    if ctx.gpu:
        raise LoweringError(f"{describe(op)}: has kernels for CPUs only")
    type_ = graph.type_of(op.x)
    layout = graph.QuantizedBlock(op.attrs["block"])
    rows = graph.element_count(type_.shape[:-1])
    row_blocks = graph.static_size(type_.shape[-1]) // layout.size
    is_known = isinstance(rows, int)
    shape = QuantizeBlocksShape(rows if is_known else None, row_blocks, layout, ctx.cpu.lanes or 4)
    results, sizes = [graph.type_of(op.result)], [] if is_known else [rows]
    read = operands_of(ctx, [op.x])

    def make_emitter(source: ir.Value, target: ir.Value) -> QuantizeBlocksEmitter:
        return QuantizeBlocksEmitter(shape, source, target)

    return run_emitter(ctx, "quantize_blocks", shape, (), read, results, sizes, make_emitter)
