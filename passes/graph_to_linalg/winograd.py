"""Convolutions by Winograd's algorithm, alone or with the elementwise ops that follow."""

from typing import cast

from ...dialects import graph, iree
from ...mlir import ir
from .kernels import define, flat
from .lowering import Lowering, lowers, plain_type
from .vector_emitter import Registers
from .vector_epilogue import Place, VectorEpilogue
from .winograd_kernel import WinogradEmitter, WinogradShape


@lowers(graph.WinogradConvOp)
def winograd_conv(ctx: Lowering, op: graph.GraphOp, x: ir.Value, w: ir.Value) -> ir.Value:
    del x, w
    return winograd_epilogue(ctx, op, VectorEpilogue.nothing(op.operation.results[0]))


def winograd_epilogue(ctx: Lowering, op: graph.GraphOp, epilogue: VectorEpilogue) -> ir.Value:
    """A convolution and its `epilogue`."""
    result = graph.type_of(op.operation.results[0])
    shape = _shape(op)
    scratch = ir.RankedTensorType.get([shape.pieces * shape.scratch], ir.F32Type.get())
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx)]
    types = [*(operand.type for operand in operands), plain_type(result), scratch]

    def kernel(number: ir.Value, image: ir.Value, weights: ir.Value, *rest: ir.Value) -> None:
        *inputs, output, memory = rest

        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, inputs, places, sums)

        emitter = WinogradEmitter(shape, image, weights, output, memory, finish)
        emitter.piece(number)

    buffers = [flat(type_) for type_ in types]
    name = define(ctx, "winograd", (shape, *epilogue.key), buffers, kernel)
    return iree.run_kernel(name, shape.pieces, operands, plain_type(result), [scratch])


def _shape(op: graph.GraphOp) -> WinogradShape:
    sizes = tuple[int, int, int, int]
    low = op.attrs["low"]
    return WinogradShape(
        cast(sizes, graph.type_of(op.x).static_shape),
        cast(sizes, graph.type_of(op.result).static_shape),
        (low[0], low[1]),
        tile=op.attrs["tile"],
        width=graph.type_of(op.w).static_shape[-1],
        lanes=op.attrs["lanes"],
        rows=op.attrs["rows"],
    )
