"""Calls of the kernels that group rows by experts, and multiply them by the weights of these."""

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...errors import LoweringError
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.expert_matmul import (
    ExpertMatmulEmitter,
    ExpertMatmulShape,
    NbitsExpertMatmulEmitter,
    NbitsExpertMatmulShape,
)
from ..kernels.group_rows import GroupRows
from .kernel_calls import compute, define, flat_of, operands_of
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering, NotAKernel, describe, lowers, plain_type


@lowers(graph.GroupRowsOp)
def group_rows(ctx: Lowering, op: graph.GroupRowsOp, groups: ir.Value) -> tuple[ir.Value, ...]:
    """Sort by counting, in one workgroup."""
    if ctx.in_kernel:
        raise NotAKernel("it sorts rows")
    if ctx.gpu:
        raise LoweringError(f"{describe(op)}: has kernels for CPUs only")
    types = [graph.type_of(each) for each in (op.groups, *op.operation.results)]
    (rows,) = types[0].shape
    sizes = [rows] if isinstance(rows, Dim) else []
    memory = [flat_of(each, sizes) for each in types]
    kernel = GroupRows(op.count, op.repeat, rows if isinstance(rows, int) else None)
    name = define(ctx, "group_rows", (kernel, *memory), memory, kernel.write, 0, len(sizes))
    return tuple(
        iree.run_kernel(
            name, 1, [groups], list(map(plain_type, types[1:])), list(map(ctx.index, sizes)),
            [size for each in types[1:] for size in ctx.dynamic_sizes(each)],
        )
    )  # fmt: skip


def stores_once(op: graph.ExpertMatmulOp, cpu: CpuModel) -> bool:
    """Return whether the kernel has one K block, and stores no partial sums."""
    return _shape(op, cpu).k_blocks == 1


@lowers_with_epilogue(graph.ExpertMatmulOp, narrows=stores_once)
def expert_matmul(ctx: Lowering, op: graph.ExpertMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul by the weights of experts and its `epilogue`."""
    beside = operands_of(ctx, [op.starts, op.bias])
    shape = _shape(op, ctx.cpu)
    return compute(ctx, ExpertMatmulEmitter, "expert_matmul", shape, op, epilogue, beside=beside)


def stores_widened_once(op: graph.NbitsExpertMatmulOp, cpu: CpuModel) -> bool:
    """The same for weights of few bits."""
    return _nbits_shape(op, cpu).many.k_blocks == 1


@lowers_with_epilogue(graph.NbitsExpertMatmulOp, narrows=stores_widened_once)
def nbits_expert_matmul(
    ctx: Lowering, op: graph.NbitsExpertMatmulOp, epilogue: VectorEpilogue
) -> ir.Value:
    """The same for weights of few bits."""
    beside, shape = operands_of(ctx, [op.starts, op.bias]), _nbits_shape(op, ctx.cpu)
    family = "nbits_expert_matmul"
    return compute(ctx, NbitsExpertMatmulEmitter, family, shape, op, epilogue, beside=beside)


def _nbits_shape(op: graph.NbitsExpertMatmulOp, cpu: CpuModel) -> NbitsExpertMatmulShape:
    experts, columns = graph.type_of(op.bias).static_shape
    _, blocks, _ = graph.type_of(op.w).static_shape
    layout = graph.expert_format(graph.ExpertPanelAttrs(**op.attrs))
    return NbitsExpertMatmulShape.of(
        blocks, columns, layout, op.lanes, op.mr, cpu, op.exact, experts
    )


def _shape(op: graph.ExpertMatmulOp, cpu: CpuModel) -> ExpertMatmulShape:
    experts, columns = graph.type_of(op.bias).static_shape
    _, k, nr = graph.type_of(op.w).static_shape
    return ExpertMatmulShape(
        None, k, columns, nr=nr, lanes=op.lanes, mr=op.mr, cpu=cpu, experts=experts
    )
