"""Kernels of our own: each is written once for each thing that it does."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects import graph, iree
from ...mlir import ir
from .lowering import Lowering, plain_type
from .vector_emitter import Registers
from .vector_epilogue import Place, VectorEpilogue


def flat(type_: ir.Type) -> iree.Buffer:
    """A tensor's elements in a row, in memory; so many per row, where run time counts the rows."""
    tensor = ir.RankedTensorType(type_)
    if tensor.has_static_shape:
        return iree.Buffer(tensor.element_type, math.prod(tensor.shape))
    return iree.Buffer(tensor.element_type, tensor.shape[-1], per_row=True)


def define(
    ctx: Lowering,
    family: str,
    key: object,
    buffers: Sequence[iree.Buffer],
    body: Callable[..., None],
    flops: int | None = 0,
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
    rows: ir.Value | None = None,
) -> ir.Value:
    """The result of `op`, of its operands `x` and `w`, and of what follows it, by one kernel.

    An emitter is made of `shape`, the buffers of the operands, of the result and of `scratch`, and
    a function that finishes sums; it writes a piece of work, of which `shape` has so many. With
    `rows`, which run time counts, it has so many as ``shape.count_pieces(rows)`` says.
    """
    type_ = graph.type_of(op.operation.results[0])
    result = plain_type(type_)
    sizes = [size for size in ctx.mixed(type_.shape) if isinstance(size, ir.Value)]
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx)]
    count = len(operands)

    def kernel(number: ir.Value, *given: ir.Value) -> None:
        counted = given[: rows is not None]
        buffers = given[len(counted) :]

        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, buffers[2:count], places, sums)

        emitter = emitter_class(shape, *buffers[:2], *buffers[count:], finish)
        emitter.piece(number, *counted)

    types = [*(operand.type for operand in operands), result, *scratch]
    key = (shape, *epilogue.key)
    name = define(ctx, family, key, [flat(type_) for type_ in types], kernel, shape.flops)
    pieces = shape.pieces if rows is None else shape.count_pieces(rows)
    return iree.run_kernel(name, pieces, operands, result, scratch, rows, sizes)
