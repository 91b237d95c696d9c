"""Fused groups: one kernel, or the contraction and one generic for the ops that follow it."""

from collections.abc import Mapping, Sequence

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.byte_packs import BytePacking
from ..kernels.epilogue import NOTHING_READ, Body, ReadConstants, VectorEpilogue
from .broadcast import lower_broadcast
from .elementwise import NO_TABLES, evaluate_scalars, lower_elementwise, values_from_outside
from .implicit_gemm import implicit_convolution
from .kernel_rules import kernel_of
from .lowering import Lowering, lower_op, lowers
from .mma_matmul import multiply_on_tensor_cores
from .packed_bytes import byte_packing
from .scalar_rules import vector_fact_of
from .scratch import scratch_of, uses_scratch
from .window_vectors import depthwise_by_vectors


@lowers(graph.FusedOp)
def fused(ctx: Lowering, op: graph.FusedOp) -> ir.Value:
    if op.attrs["kind"] == "epilogue":
        root, *steps = op.ops
        return lower_group(ctx, root, steps)
    if op.attrs["kind"] == "broadcast":
        return lower_broadcast(ctx, op)
    return _elementwise(ctx, op.ops)


@uses_scratch(graph.FusedOp)
def fused_scratch(op: graph.FusedOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The scratch of the contraction, and its result if its kernel does not run the epilogue."""
    root, *steps = op.ops
    scratch = scratch_of(root, cpu)
    if kernel_of(type(root)) is not None and epilogue_of(root, steps, cpu) is None:
        scratch.append(graph.type_of(root.operation.results[0]))
    return scratch


def lower_group(ctx: Lowering, root: graph.GraphOp, steps: Sequence[graph.GraphOp]) -> ir.Value:
    """Lower the contraction `root` and `steps` on its result, as one kernel if possible."""
    kernel = kernel_of(type(root))
    epilogue = None
    if kernel is not None:
        read = ctx.read.get(root.operation.results[0], NOTHING_READ)
        epilogue = epilogue_of(root, steps, ctx.cpu, byte_packing(root, steps, ctx.cpu, read), read)
    if kernel is not None and epilogue is None and _rounds(steps):
        *before, cast = steps
        ctx.values[cast.operation.operands[0]] = lower_group(ctx, root, before)
        return _elementwise(ctx, [cast])
    if kernel is not None and epilogue is not None:
        return kernel.rule(ctx, root, epilogue)
    if (y := multiply_on_tensor_cores(ctx, root, steps)) is not None:
        return y
    if isinstance(root, graph.ConvOp):
        for build in (depthwise_by_vectors, implicit_convolution):
            if (y := build(ctx, root, steps)) is not None:
                return y
    with root.operation.location:
        lower_op(ctx, root)
    return _elementwise(ctx, steps) if steps else ctx.values[root.operation.results[0]]


def _elementwise(ctx: Lowering, steps: Sequence[graph.GraphOp]) -> ir.Value:
    leaves = {value: ctx.values[value] for value in values_from_outside(steps)}
    last = steps[-1].operation.results[0]
    return lower_elementwise(ctx, graph.type_of(last), leaves, _body(steps, last))


def epilogue_of(
    root: graph.GraphOp,
    steps: Sequence[graph.GraphOp],
    cpu: CpuModel,
    packing: BytePacking | None = None,
    read: ReadConstants = NOTHING_READ,
) -> VectorEpilogue | None:
    """The epilogue of `root`; None if a step, or the broadcast of an operand, does not work on
    vectors, or if the kernel cannot store results of its type. A final cast to 16 bits is done by
    the store. `packing` computes the last step, if given, and the kernel reads the constants in
    `read` from memory."""
    total = root.operation.results[0]
    result = graph.type_of((steps[-1] if steps else root).operation.results[0])
    if result.dtype != graph.type_of(total).dtype and not _narrows(root, cpu):
        return None
    if _rounds(steps):
        *steps, _ = steps
    if any(vector_fact_of(step) is not True for step in steps):
        return None
    last = (steps[-1] if steps else root).operation.results[0]
    others = values_from_outside(steps)
    if packing is None:
        body = _body(steps, last, read.tables)
    else:
        body = _packing_body(steps, packing, read.tables)
    return VectorEpilogue.of(total, steps, others, result.shape, body, result.dtype, packing, read)


def _packing_body(
    steps: Sequence[graph.GraphOp], packing: BytePacking, tables: Mapping[ir.Value, ir.Value]
) -> Body:
    """The body of `steps`, of which `packing` computes the last one."""
    *before, last = steps
    x, _, zero = last.operation.operands
    return lambda known: packing.pack(evaluate_scalars(before, known, tables)[x], known[zero])


def _rounds(steps: Sequence[graph.GraphOp]) -> bool:
    """Return whether the last of `steps` is a cast to floats of 16 bits."""
    last = steps[-1] if steps else None
    return isinstance(last, graph.CastOp) and last.to in graph.HALVES


def _narrows(root: graph.GraphOp, cpu: CpuModel) -> bool:
    kernel = kernel_of(type(root))
    return kernel is not None and kernel.narrows(root, cpu)


def _body(
    steps: Sequence[graph.GraphOp],
    result: ir.Value,
    tables: Mapping[ir.Value, ir.Value] = NO_TABLES,
) -> Body:
    return lambda known: evaluate_scalars(steps, known, tables)[result]
