"""Calls of the kernels that quantize over the range of a tensor, on CPUs
(`kernels.dynamic_quantization`)."""

from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...errors import LoweringError
from ...mlir import ir
from ..kernels.dynamic_quantization import (
    MOST_PARTS,
    DynamicQuantizationEmitter,
    DynamicQuantizationShape,
    RangeEmitter,
)
from .kernel_calls import operands_of, results_of_emitter, run_emitter
from .lowering import Lowering, NotAKernel, describe, lowers
from .scratch import Prepared, prepares

_RANGES = graph.TensorType((2 * MOST_PARTS,), np.dtype(np.float32))


@lowers(graph.DynamicQuantizeOp)
def dynamic_quantize(ctx: Lowering, op: graph.DynamicQuantizeOp, x: ir.Value) -> list[ir.Value]:
    """Find the ranges of parts by one kernel, and quantize by another; a small tensor has one for
    both."""
    del x
    if ctx.in_kernel:
        raise NotAKernel("it quantizes over the range of a tensor")
    if ctx.gpu:
        raise LoweringError(
            f"{describe(op)}: has kernels for CPUs only; run `graph-expand-dynamic-quantize`"
        )
    shape = _shape(op, ctx.cpu)
    read = operands_of(ctx, [op.x])
    sizes = [shape.elements] if isinstance(shape.elements, Dim) else []
    results = [graph.type_of(value) for value in op.operation.results]
    if not shape.is_whole:
        ranges = run_emitter(ctx, "range", shape, (), read, [_RANGES], sizes, _range(shape))
        read = [*read, (ranges, _RANGES)]

    def make_emitter(source: ir.Value, *buffers: ir.Value) -> DynamicQuantizationEmitter:
        ranges, *written = buffers if len(buffers) > len(results) else (None, *buffers)
        return DynamicQuantizationEmitter(shape, source, ranges, *written)

    return results_of_emitter(
        ctx, "dynamic_quantize", shape, (), read, results, sizes, make_emitter
    )


def _range(shape: DynamicQuantizationShape) -> Any:
    return lambda source, ranges: RangeEmitter(shape, source, ranges)


@prepares(graph.DynamicQuantizeOp)
def ranges_of_parts(op: graph.DynamicQuantizeOp, cpu: CpuModel) -> Prepared | None:
    """The ranges that the first of two kernels finds."""
    return None if _shape(op, cpu).is_whole else Prepared(_RANGES)


def _shape(op: graph.DynamicQuantizeOp, cpu: CpuModel) -> DynamicQuantizationShape:
    elements = graph.element_count(graph.type_of(op.x).shape)
    return DynamicQuantizationShape(elements, cpu.lanes or 4)
