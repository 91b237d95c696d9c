"""Calls of the kernel for matmuls by weights of few bits, with or without an epilogue."""

from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from .kernel_calls import compute
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering
from .packed_matmul import row_count


@lowers_with_epilogue(graph.NbitsMatmulOp, narrows=always)
def nbits_matmul(ctx: Lowering, op: graph.NbitsMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    known, sizes = row_count(op)
    attrs = graph.NbitsAttrs(**op.attrs)
    layout = graph.nbits_format(attrs)
    _, blocks, _ = graph.type_of(op.w).static_shape
    shape = NbitsMatmulShape(
        known, blocks, attrs["columns"],
        nr=layout.nr, lanes=attrs["lanes"], mr=attrs["mr"], cpu=ctx.cpu,
        layout=layout, exact=attrs["exact"],
    )  # fmt: skip
    return compute(ctx, NbitsMatmulEmitter, "nbits_matmul", shape, op, epilogue, sizes=sizes)
