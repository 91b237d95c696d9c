"""Kernels of our own: each is written once for each thing that it does."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects import graph, iree
from ...mlir import ir
from .lowering import Lowering, plain_type
from .vector_emitter import Registers
from .vector_epilogue import Place, VectorEpilogue


def flat(type_: ir.Type) -> ir.MemRefType:
    """A tensor's elements in a row, in memory."""
    tensor = ir.RankedTensorType(type_)
    return ir.MemRefType.get([math.prod(tensor.shape)], tensor.element_type)


def define(
    ctx: Lowering,
    family: str,
    key: object,
    buffers: Sequence[ir.MemRefType],
    body: Callable[..., None],
    flops: int = 0,
) -> str:
    """The name of the kernel `key` of a family, which is written when first asked for.

    `flops` are the additions and multiplications of its products.
    """
    if (family, key) not in ctx.kernels:
        function = ir.InsertionPoint.current.block.owner.operation
        while function.parent.name != "builtin.module":
            function = function.parent
        name = f"{family}_{len(ctx.kernels)}"
        with ir.InsertionPoint(function):
            iree.define_kernel(name, buffers, body, flops)
        ctx.kernels[family, key] = name
    return ctx.kernels[family, key]


def compute(
    ctx: Lowering,
    emitter_class: Callable[..., Any],
    family: str,
    shape: Any,
    op: graph.GraphOp,
    epilogue: VectorEpilogue,
    scratch: Sequence[ir.RankedTensorType] = (),
) -> ir.Value:
    """The result of `op`, of its operands `x` and `w`, and of what follows it, by one kernel.

    An emitter is made of `shape`, the buffers of the operands, of the result and of `scratch`, and
    a function that finishes sums; it writes a piece of work, of which `shape` has so many.
    """
    result = plain_type(graph.type_of(op.operation.results[0]))
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx)]
    count = len(operands)

    def kernel(number: ir.Value, *buffers: ir.Value) -> None:
        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, buffers[2:count], places, sums)

        emitter = emitter_class(shape, *buffers[:2], *buffers[count:], finish)
        emitter.piece(number)

    types = [*(operand.type for operand in operands), result, *scratch]
    key = (shape, *epilogue.key)
    name = define(ctx, family, key, [flat(type_) for type_ in types], kernel, shape.flops)
    return iree.run_kernel(name, shape.pieces, operands, result, scratch)
