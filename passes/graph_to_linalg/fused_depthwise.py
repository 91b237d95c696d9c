"""Calls of the kernel that fuses a depthwise convolution with adjacent matmuls."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.direct_conv_shape import DirectConvShape
from ..kernels.emitter import Registers
from ..kernels.epilogue import Epilogue, OutputPosition, VectorEpilogue
from ..kernels.fused_depthwise import (
    BlockMatmulShape,
    FusedDepthwiseEmitter,
    FusedDepthwiseShape,
    StageOperands,
)
from ..kernels.image_extents import known_sizes
from ..kernels.sliding_depthwise import SlidingDepthwiseEmitter
from ..kernels.sliding_depthwise_shape import SHARES, SlidingDepthwiseShape
from .direct_convolution import dynamic_sizes_of, shape_of
from .fusion import epilogue_of, lower_group
from .kernel_calls import operands_of, run_emitter
from .lowering import Lowering, lowers
from .packed_matmul import matmul_shape
from .scratch import floats, scratch_of, uses_scratch


@lowers(graph.FusedDepthwiseOp)
def fused_depthwise(ctx: Lowering, op: graph.FusedDepthwiseOp) -> ir.Value:
    """Lower all stages as one kernel, or one after the other if an epilogue does not vectorise."""
    epilogues = _epilogues(op, ctx.cpu)
    if epilogues is None:
        for root, *steps in op.stages:
            ctx.values[_last(root, steps)] = lower_group(ctx, root, steps)
        return ctx.values[op.yielded]
    return _compute(ctx, op, epilogues)


@uses_scratch(graph.FusedDepthwiseOp)
def fused_depthwise_scratch(op: graph.FusedDepthwiseOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The intermediates of all row blocks in the kernel, or the tensors between separate stages."""
    if _epilogues(op, cpu) is None:
        return [graph.type_of(_last(root, steps)) for root, *steps in op.stages[:-1]]
    images, _, width, _ = graph.type_of(op.depthwise.x).shape
    if op.tiling.split == "sliding":
        positions = graph.type_of(op.depthwise.result).shape[2]
        sizes = _sliding_shape(op, cpu).scratch(width, positions)
        return [floats(SHARES * op.tiling.row_blocks, size) for size in sizes]
    shape = _shape(op, cpu)
    return [floats(images * shape.tiling.row_blocks, size) for size in shape.scratch]


def _epilogues(op: graph.FusedDepthwiseOp, cpu: CpuModel) -> list[VectorEpilogue] | None:
    """The epilogue of each step; None if the steps cannot be one kernel."""
    epilogues = [epilogue_of(root, steps, cpu) for root, *steps in op.stages]
    known = [epilogue for epilogue in epilogues if epilogue is not None]
    if len(known) < len(epilogues) or any(each.reads_rows for each in known[:-1]):
        return None
    return known


def _last(root: graph.GraphOp, steps: list[graph.GraphOp]) -> ir.Value:
    """The result of a stage."""
    return (steps or [root])[-1].operation.results[0]


def _compute(
    ctx: Lowering, op: graph.FusedDepthwiseOp, epilogues: Sequence[VectorEpilogue]
) -> ir.Value:
    shape = _sliding_shape(op, ctx.cpu) if op.tiling.split == "sliding" else _shape(op, ctx.cpu)
    roots = op.roots
    values = [roots[0].x]
    for root, epilogue in zip(roots, epilogues, strict=True):
        values += [root.w, *epilogue.memory]
    results = [graph.type_of(op.operation.results[0]), *scratch_of(op, ctx.cpu)]
    sizes = _dynamic_sizes(op)

    def make_emitter(image: ir.Value, *buffers: ir.Value) -> Any:
        given = list(buffers[: -len(results)])

        def apply_epilogue(epilogue: VectorEpilogue, leaves: list[ir.Value]) -> Epilogue:
            def apply(
                positions: list[OutputPosition], accumulators: Registers
            ) -> Iterable[ir.Value]:
                return epilogue.apply(emitter, leaves, positions, accumulators)

            return apply

        steps = []
        for epilogue in epilogues:
            weights, *leaves = given[: 1 + len(epilogue.memory)]
            del given[: 1 + len(leaves)]
            steps.append(StageOperands(weights, apply_epilogue(epilogue, leaves)))
        memory = list(buffers[-len(results) :])
        if isinstance(shape, SlidingDepthwiseShape):
            emitter = SlidingDepthwiseEmitter(shape, image, steps, memory)
        else:
            emitter = FusedDepthwiseEmitter(shape, image, steps, memory)
        return emitter

    read = operands_of(ctx, values)
    key = [epilogue.key for epilogue in epilogues]
    return run_emitter(ctx, "fused_depthwise", shape, key, read, results, sizes, make_emitter)


def _shape(op: graph.FusedDepthwiseOp, cpu: CpuModel) -> FusedDepthwiseShape:
    depthwise = shape_of(op.depthwise)
    window = graph.RowWindow.of(op.depthwise)
    read = op.tiling.read(window)
    roots = op.roots
    first = last = None
    _, width, _ = known_sizes(depthwise.image)
    _, pixels, _ = known_sizes(depthwise.result)
    if op.position > 0:
        first = _first(op, roots[0], read * width, cpu)
    if op.position < len(roots) - 1:
        matmul = roots[-1]
        assert isinstance(matmul, graph.PackedMatmulOp)
        last = _block(matmul, op.tiling.inner * pixels, cpu)
    return FusedDepthwiseShape(depthwise, first, last, op.tiling, read)


def _sliding_shape(op: graph.FusedDepthwiseOp, cpu: CpuModel) -> SlidingDepthwiseShape:
    roots = op.roots
    first = _first(op, roots[0], None, cpu) if op.position > 0 else None
    last = None
    if op.position < len(roots) - 1:
        matmul = roots[-1]
        assert isinstance(matmul, graph.PackedMatmulOp)
        last = _block(matmul, None, cpu)
    if isinstance(first, BlockMatmulShape):
        first = replace(first, nc_panels=1)
    by_panels = graph.can_split_channels(roots)
    margin = max(0, *(op.depthwise.attrs[side][-1] for side in ("low", "high")))
    return SlidingDepthwiseShape(
        shape_of(op.depthwise), first, last, op.tiling.row_blocks, margin, by_panels
    )


def _dynamic_sizes(op: graph.FusedDepthwiseOp) -> list[Dim]:
    """The sizes that the kernel receives: the number of images, or all of its convolutions."""
    if op.tiling.split != "sliding":
        images = graph.type_of(op.depthwise.x).shape[0]
        return [images] if isinstance(images, Dim) else []
    convolutions = [root for root in op.roots if isinstance(root, graph.DirectConvOp)]
    return [size for each in convolutions for size in dynamic_sizes_of(each)]


def _first(
    op: graph.FusedDepthwiseOp,
    root: graph.PackedMatmulOp | graph.DirectConvOp,
    rows: int | None,
    cpu: CpuModel,
) -> BlockMatmulShape | DirectConvShape:
    """The first step: a convolution, or a matmul of `rows` rows (None if their number depends on
    the run) by all or one of its panels."""
    if isinstance(root, graph.DirectConvOp):
        return shape_of(root)
    block = _block(root, rows, cpu)
    return replace(block, nc_panels=1) if op.tiling.split == "channels" else block


def _block(op: graph.PackedMatmulOp, rows: int | None, cpu: CpuModel) -> BlockMatmulShape:
    matmul = replace(matmul_shape(op, rows, cpu), are_pixels=rows is None)
    return BlockMatmulShape(**vars(matmul), nc_panels=matmul.panels)
