"""Calls of the Winograd convolution kernel, with or without an epilogue."""

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import ceildiv
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.winograd import WinogradEmitter
from ..kernels.winograd_shape import WinogradShape
from .image_extents import dynamic_sizes, known_extents
from .kernel_calls import compute
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering
from .scratch import floats, scratch_of, uses_scratch


@lowers_with_epilogue(graph.WinogradConvOp, narrows=always)
def winograd_conv(ctx: Lowering, op: graph.WinogradConvOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a convolution and its `epilogue`."""
    shape, scratch = _shape(op, ctx.cpu), scratch_of(op, ctx.cpu)
    sizes = dynamic_sizes(graph.type_of(op.x).shape, graph.type_of(op.result).shape)
    return compute(ctx, WinogradEmitter, "winograd", shape, op, epilogue, scratch, sizes)


@uses_scratch(graph.WinogradConvOp)
def winograd_scratch(op: graph.WinogradConvOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The intermediates of all workgroups."""
    shape = _shape(op, cpu)
    if shape.is_static:
        return [floats(shape.workgroups * shape.scratch)]
    images, height, width, _ = graph.type_of(op.result).shape
    tiles = images * ceildiv(height, shape.tile) * ceildiv(width, shape.tile)
    return [floats(shape.most_workgroups(tiles), shape.scratch)]


def _shape(op: graph.WinogradConvOp, cpu: CpuModel) -> WinogradShape:
    low = op.attrs["low"]
    return WinogradShape(
        known_extents(graph.type_of(op.x).shape),
        known_extents(graph.type_of(op.result).shape),
        (low[0], low[1]),
        tile=op.attrs["tile"],
        k=graph.type_of(op.w).static_shape[2],
        nr=graph.type_of(op.w).static_shape[-1],
        lanes=op.attrs["lanes"],
        mr=op.attrs["mr"],
        cpu=cpu,
    )
