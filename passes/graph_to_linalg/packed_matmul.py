"""Products by packed weights whose sizes are known: kernels of our own."""

import math

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .kernels import compute
from .lowering import Lowering
from .matmul_kernel import MatmulEmitter, Product
from .vector_epilogue import VectorEpilogue


def is_for_kernel(op: graph.GraphOp) -> bool:
    """Whether the kernel can compute a packed product."""
    types = [graph.type_of(value) for value in (op.x, op.w, op.operation.results[0])]
    return all(type_.is_static and type_.dtype == np.float32 for type_ in types)


def matmul_epilogue(ctx: Lowering, op: graph.GraphOp, epilogue: VectorEpilogue) -> ir.Value:
    """A packed product and its `epilogue`."""
    return compute(ctx, MatmulEmitter, "matmul", _product(op), op, epilogue)


def _product(op: graph.GraphOp) -> Product:
    source, weights = graph.type_of(op.x).static_shape, graph.type_of(op.w).static_shape
    _, depth, width = weights
    return Product(
        math.prod(source[:-1]), depth, op.attrs["columns"],
        width=width, lanes=op.attrs["lanes"], tile=op.attrs["rows"],
    )  # fmt: skip
