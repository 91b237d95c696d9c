"""Calls of the Winograd convolution kernel, with or without an epilogue."""

from typing import cast

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.winograd import WinogradEmitter, WinogradShape
from .kernel_calls import compute
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering
from .scratch import floats, scratch_of, uses_scratch

_Image = tuple[int, int, int, int]


@lowers_with_epilogue(graph.WinogradConvOp)
def winograd_conv(ctx: Lowering, op: graph.WinogradConvOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a convolution and its `epilogue`."""
    shape, scratch = _shape(op, ctx.cpu), scratch_of(op, ctx.cpu)
    return compute(ctx, WinogradEmitter, "winograd", shape, op, epilogue, scratch)


@uses_scratch(graph.WinogradConvOp)
def winograd_scratch(op: graph.WinogradConvOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The intermediates of all workgroups."""
    shape = _shape(op, cpu)
    return [floats(shape.workgroups * shape.scratch)]


def _shape(op: graph.WinogradConvOp, cpu: CpuModel) -> WinogradShape:
    low = op.attrs["low"]
    return WinogradShape(
        cast(_Image, graph.type_of(op.x).static_shape),
        cast(_Image, graph.type_of(op.result).static_shape),
        (low[0], low[1]),
        tile=op.attrs["tile"],
        k=graph.type_of(op.w).static_shape[2],
        nr=graph.type_of(op.w).static_shape[-1],
        lanes=op.attrs["lanes"],
        mr=op.attrs["mr"],
        cpu=cpu,
    )
