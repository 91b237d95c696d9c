"""Fused groups: the contraction, if there is one, then one generic for all that follows it."""

from collections.abc import Callable

from ...dialects import graph
from ...mlir import ir
from .direct_convolution import direct_epilogue
from .elementwise import evaluate_scalars, lower_elementwise
from .lowering import Lowering, lower_op, lowers
from .packing import matmul_epilogue
from .vector_epilogue import VectorEpilogue
from .winograd import winograd_epilogue


@lowers(graph.FusedOp)
def fused(ctx: Lowering, op: graph.FusedOp) -> ir.Value:
    root, *rest = op.ops
    result = graph.type_of(op.operation.results[0])
    steps = rest if op.attrs["kind"] == "epilogue" else op.ops
    inside = {each.operation.results[0] for each in steps}
    used = dict.fromkeys(value for each in steps for value in each.operation.operands)
    outside = [value for value in used if value not in inside]

    def body(known):
        return evaluate_scalars(steps, known)[op.yielded]

    kernel = _kernel_of(root)
    if kernel is not None:
        epilogue = VectorEpilogue.of(root.operation.results[0], steps, outside, result, body)
        if epilogue is not None:
            return kernel(ctx, root, epilogue)
    if op.attrs["kind"] == "epilogue":
        with root.operation.location:
            lower_op(ctx, root)
    return lower_elementwise(ctx, result, {value: ctx.values[value] for value in outside}, body)


def _kernel_of(root: graph.GraphOp) -> Callable[..., ir.Value] | None:
    """What computes `root` with an epilogue on vectors, if a kernel of ours does."""
    match root:
        case graph.DirectConvOp():
            return direct_epilogue
        case graph.WinogradConvOp():
            return winograd_epilogue
        case graph.PackedMatmulOp():
            return matmul_epilogue
    return None
