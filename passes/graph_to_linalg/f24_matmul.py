"""Calls of the kernel for matmuls by 24-bit weights, with or without an epilogue."""

import math

from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.f24_matmul import F24MatmulEmitter, F24MatmulShape
from .kernel_calls import compute
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering


@lowers_with_epilogue(graph.F24MatmulOp)
def f24_matmul(ctx: Lowering, op: graph.F24MatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    shape = graph.type_of(op.x).static_shape
    matmul = F24MatmulShape(
        math.prod(shape[:-1]), shape[-1], op.attrs["columns"],
        nr=graph.F24_WIDTH, lanes=graph.F24_WIDTH // 4, mr=op.attrs["mr"],
        cpu=ctx.cpu,
    )  # fmt: skip
    return compute(ctx, F24MatmulEmitter, "f24_matmul", matmul, op, epilogue)
