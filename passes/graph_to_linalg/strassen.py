"""Calls of the Strassen-like matmul kernels, with or without an epilogue."""

import math

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...dialects.symbolic import ceildiv, maximum, minimum
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.plain_or_strassen import (
    PlacedMatmulShape,
    PlacedStrassenShape,
    PlainOrStrassenEmitter,
    PlainOrStrassenShape,
)
from ..kernels.strassen import StrassenEmitter
from ..kernels.strassen_shape import StrassenShape
from ..kernels.strassen_terms import TermsEmitter, TermsShape
from .kernel_calls import compute, define, flat, run_emitter
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering, lowers, plain_type
from .packed_matmul import row_count
from .scratch import Prepared, floats, prepares, scratch_of, uses_scratch


@lowers(graph.StrassenTermsOp)
def strassen_terms(ctx: Lowering, op: graph.StrassenTermsOp, x: ir.Value) -> ir.Value:
    source, result = graph.type_of(op.x).static_shape, plain_type(graph.type_of(op.result))
    shape = TermsShape(
        math.prod(source[:-1]), source[-1], op.attrs["blocks"], op.attrs["replicas"]
    )  # fmt: skip
    name = define(ctx, "strassen_terms", shape, [flat(x.type), flat(result)], shape.write)
    return iree.run_kernel(name, shape.workgroups, [x], [result])[0]


@lowers_with_epilogue(graph.StrassenMatmulOp)
def strassen_matmul(
    ctx: Lowering, op: graph.StrassenMatmulOp, epilogue: VectorEpilogue
) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    shape, scratch = _shape(op, ctx.cpu), scratch_of(op, ctx.cpu)
    return compute(ctx, StrassenEmitter, "strassen", shape, op, epilogue, scratch)


@uses_scratch(graph.StrassenMatmulOp)
def strassen_scratch(op: graph.StrassenMatmulOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The block products of all workgroups."""
    shape = _shape(op, cpu)
    return [floats(shape.workgroups * shape.scratch)]


def _shape(op: graph.StrassenMatmulOp, cpu: CpuModel) -> StrassenShape:
    attrs = op.attrs
    k, width = graph.type_of(op.w).static_shape[2:]
    return StrassenShape(
        math.prod(attrs["shape"]), k, attrs["columns"], attrs["blocks"],
        nr=width, lanes=attrs["lanes"], mr=attrs["mr"],
        wanted=attrs["workgroups"], cpu=cpu, replicas=graph.type_of(op.x).static_shape[0],
    )  # fmt: skip


@lowers_with_epilogue(graph.PlainOrStrassenMatmulOp)
def plain_or_strassen_matmul(
    ctx: Lowering, op: graph.PlainOrStrassenMatmulOp, epilogue: VectorEpilogue
) -> ir.Value:
    """Compute a matmul of dynamic rows and its `epilogue`, by two kernels: the first one has no
    workgroups if there are few rows."""
    shape, (_, sizes) = _shape_of_both(op, ctx.cpu), row_count(op)
    x, terms = (ctx.values[op.x], graph.type_of(op.x)), _terms(op, shape.strassen)
    sums = TermsShape(
        None, graph.static_size(x[1].shape[-1]),
        op.attrs["blocks"], op.attrs["replicas"], shape.strassen.mc, shape.least,
    )  # fmt: skip

    def make_emitter(*buffers: ir.Value) -> TermsEmitter:
        return TermsEmitter(sums, *buffers)

    held = run_emitter(ctx, "strassen_terms", sums, (), [x], [terms], sizes, make_emitter)
    return compute(
        ctx, PlainOrStrassenEmitter, "matmul_or_strassen", shape, op, epilogue,
        scratch_of(op, ctx.cpu), sizes, beside=[(held, terms)],
    )  # fmt: skip


@uses_scratch(graph.PlainOrStrassenMatmulOp)
def plain_or_strassen_scratch(
    op: graph.PlainOrStrassenMatmulOp, cpu: CpuModel
) -> list[graph.TensorType]:
    """The block products of all workgroups, at most."""
    shape = _shape_of_both(op, cpu).strassen
    rows = graph.element_count(graph.type_of(op.x).shape[:-1])
    return [floats(shape.most_workgroups(rows), shape.scratch)]


@prepares(graph.PlainOrStrassenMatmulOp)
def plain_or_strassen_terms(op: graph.PlainOrStrassenMatmulOp, cpu: CpuModel) -> Prepared:
    """The sums of blocks of rows."""
    return Prepared(_terms(op, _shape_of_both(op, cpu).strassen))


def _terms(op: graph.PlainOrStrassenMatmulOp, shape: StrassenShape) -> graph.TensorType:
    """The type of the sums of blocks of rows: of several copies, if there are few rows."""
    rows = graph.element_count(graph.type_of(op.x).shape[:-1])
    height, gap = ceildiv(rows, shape.algorithm.rows), graph.terms_size(0, shape.k)
    few = (minimum(height, shape.mc) * shape.k + gap) * shape.replicas
    return floats(shape.algorithm.products * maximum(height * shape.k + gap, few))


def _shape_of_both(op: graph.PlainOrStrassenMatmulOp, cpu: CpuModel) -> PlainOrStrassenShape:
    attrs = op.attrs
    _, _, k, width = graph.type_of(op.w).static_shape
    columns, blocks = attrs["columns"], attrs["blocks"]
    options = {"nr": width, "lanes": attrs["lanes"], "mr": attrs["mr"], "cpu": cpu}
    strassen = PlacedStrassenShape(
        None, k, columns, blocks,
        wanted=attrs["workgroups"], replicas=attrs["replicas"], **options,
    )  # fmt: skip
    k *= strassen.algorithm.k
    few_rows = attrs["few_rows"]
    plain = PlacedMatmulShape(
        None, k, columns, blocks=blocks, is_split=few_rows > 0, **options
    )  # fmt: skip
    return PlainOrStrassenShape(plain, strassen, attrs["least"], few_rows)
