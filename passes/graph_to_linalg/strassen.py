"""Calls of the Strassen-like matmul kernels, with or without an epilogue."""

import math

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.strassen import StrassenEmitter, StrassenShape, TermsShape
from .kernel_calls import compute, define, flat
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering, lowers, plain_type
from .scratch import floats, scratch_of, uses_scratch


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
