"""Products by packed weights whose sizes are known: kernels of our own."""

import math

import numpy as np

from ...dialects import graph, iree
from ...mlir import ir
from .kernels import define, flat
from .lowering import Lowering, plain_type
from .matmul_kernel import MatmulEmitter, Product
from .vector_emitter import Registers
from .vector_epilogue import Place, VectorEpilogue


def is_for_kernel(op: graph.GraphOp) -> bool:
    """Whether the kernel can compute a packed product."""
    types = [graph.type_of(value) for value in (op.x, op.w, op.operation.results[0])]
    return all(type_.is_static and type_.dtype == np.float32 for type_ in types)


def matmul_epilogue(ctx: Lowering, op: graph.GraphOp, epilogue: VectorEpilogue) -> ir.Value:
    """A packed product and its `epilogue`."""
    result = graph.type_of(op.operation.results[0])
    product = _product(op)
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx)]
    buffers = [flat(type_) for type_ in (*(v.type for v in operands), plain_type(result))]

    def kernel(number: ir.Value, x: ir.Value, weights: ir.Value, *rest: ir.Value) -> None:
        *inputs, output = rest

        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, inputs, places, sums)

        emitter = MatmulEmitter(product, x, weights, output, finish)
        emitter.piece(number)

    name = define(ctx, "matmul", (product, *epilogue.key), buffers, kernel)
    return iree.run_kernel(name, product.pieces, operands, plain_type(result))


def _product(op: graph.GraphOp) -> Product:
    source, weights = graph.type_of(op.x).static_shape, graph.type_of(op.w).static_shape
    _, depth, width = weights
    return Product(
        math.prod(source[:-1]), depth, op.attrs["columns"],
        width=width, lanes=op.attrs["lanes"], tile=op.attrs["rows"],
    )  # fmt: skip
