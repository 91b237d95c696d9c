"""Linear attention by one kernel (`kernels.linear_attention`)."""

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.linear_attention import (
    LinearAttentionEmitter,
    LinearAttentionMemory,
    LinearAttentionShape,
)
from .kernel_calls import operands_of, results_of_emitter
from .lowering import Lowering, lowers

_NARROWEST = 4
"""Elements of the vectors for a CPU that names none."""


@lowers(graph.LinearAttentionOp)
def linear_attention(
    ctx: Lowering, op: graph.LinearAttentionOp, *operands: ir.Value | None
) -> list[ir.Value]:
    del operands
    results = [graph.type_of(value) for value in (op.outputs, op.last)]
    given = [x for x in (op.decay, op.beta) if x is not None]
    read = operands_of(ctx, [op.query, op.key, op.value, op.state, *given])
    shape = _shape(op, ctx.cpu)

    def make_emitter(*buffers: ir.Value) -> LinearAttentionEmitter:
        own, more, written = buffers[:4], iter(buffers[4 : len(read)]), buffers[len(read) :]
        optional = (None if x is None else next(more) for x in (op.decay, op.beta))
        return LinearAttentionEmitter(shape, LinearAttentionMemory(*own, *optional, *written))

    return results_of_emitter(
        ctx, "linear_attention", shape, (), read, results, shape.sizes, make_emitter
    )


def _shape(op: graph.LinearAttentionOp, cpu: CpuModel) -> LinearAttentionShape:
    batch, length, _ = graph.type_of(op.query).shape
    depth, width = map(graph.static_size, graph.type_of(op.state).shape[2:])
    decays, rates = (
        0 if x is None else graph.static_size(graph.type_of(x).shape[2])
        for x in (op.decay, op.beta)
    )
    lanes = cpu.lanes if cpu.has_vectors else _NARROWEST
    group = op.readers // op.heads
    return LinearAttentionShape(
        batch, length, op.heads, group, depth, width, decays, rates, op.scale, lanes
    )
