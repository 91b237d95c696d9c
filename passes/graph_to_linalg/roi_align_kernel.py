"""Calls of the kernel for regions of interest, on CPUs that kernels are written for
(`kernels.roi_align`).

The loop nest of IREE computes the points of a bin anew for each channel: 100 regions of 64 channels
took 5.7 times as long as by ONNX Runtime.
"""

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from ..kernels.roi_align import Points, RoiAlignEmitter, RoiAlignShape
from .image_extents import known_extents
from .kernel_calls import run_emitter
from .lowering import Lowering
from .numbers import Number
from .roi_points import points_of

_F32 = np.dtype(np.float32)


def align_by_kernel(
    ctx: Lowering, op: graph.RoiAlignOp, x: ir.Value, rois: ir.Value, batch: ir.Value
) -> ir.Value | None:
    """Build aligned regions; None if the kernel does not compute them. The report says why."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    statistics, node = ctx.statistics("roi-align-kernel"), node_name(op.operation)
    reason = _reason_against_kernel(op)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    return _run(ctx, op, x, rois, batch)


def _reason_against_kernel(op: graph.RoiAlignOp) -> str | None:
    type_, numbers = graph.type_of(op.x), graph.type_of(op.batch).dtype
    if op.attrs["layout"] != "channels_last":
        return "its image is not channels-last"
    if type_.dtype != _F32:
        return "only f32 is aligned by it"
    if not isinstance(type_.shape[-1], int):
        return "the number of channels is not known"
    if 0 in (*type_.shape, *graph.type_of(op.rois).shape):
        return "there is nothing to align"
    return None if numbers.kind == "i" else "its batch indices are unsigned"


def _run(
    ctx: Lowering, op: graph.RoiAlignOp, x: ir.Value, rois: ir.Value, batch: ir.Value
) -> ir.Value:
    attrs, image, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    regions = result.shape[0]
    shape = RoiAlignShape(
        known_extents(image.shape), regions if isinstance(regions, int) else None,
        (attrs["height"], attrs["width"]), ctx.cpu.lanes, attrs["mode"] == "max",
    )  # fmt: skip
    sizes = [size for size in (*image.shape[:3], regions) if isinstance(size, Dim)]

    def make_emitter(*buffers: ir.Value) -> RoiAlignEmitter:
        pixels, table, numbers, target = buffers

        def sample(
            region: ir.Value, row: ir.Value, column: ir.Value
        ) -> tuple[ir.Value, Points, Points]:
            emitter_sizes = [emitter.index(size) for size in (emitter.height, emitter.width)]
            first = emitter.times(region, 4)
            corners = [
                Number(memref.load(table, [emitter.add(first, each)]), _F32) for each in range(4)
            ]
            found = arith.index_cast(ir.IndexType.get(), memref.load(numbers, [region]))
            last = emitter.add(emitter.index(emitter.images), -1)
            found = arith.maxsi(arith.minsi(found, last), emitter.index(0))
            return found, *points_of(attrs, corners, [row, column], emitter_sizes)

        emitter = RoiAlignEmitter(shape, sample, pixels, target)
        return emitter

    read = [
        (value, graph.type_of(operand))
        for value, operand in ((x, op.x), (rois, op.rois), (batch, op.batch))
    ]
    key = (attrs["ratio"], attrs["scale"], attrs["half_pixel"])
    return run_emitter(ctx, "roi_align", shape, key, read, [result], sizes, make_emitter)
