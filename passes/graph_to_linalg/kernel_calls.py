"""Kernels of our own: each is written once for each thing that it does."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...dialects import graph, iree
from ...mlir import ir
from ..kernels.emitter import Registers
from ..kernels.epilogue import Place, VectorEpilogue
from .lowering import Lowering, plain_type


class WeightedOp(Protocol):
    """An op on operands `x` and `w`."""

    x: graph.Tensor
    w: graph.Tensor

    @property
    def operation(self) -> ir.Operation: ...


def flat(type_: ir.Type) -> iree.Buffer:
    """A tensor's elements in a row, in memory; where run time counts its rows, so many for each."""
    tensor = ir.RankedTensorType(type_)
    if tensor.has_static_shape:
        return iree.Buffer(tensor.element_type, math.prod(tensor.shape))
    return iree.Buffer(tensor.element_type, tensor.shape[-1], counts=(0,))


def define(
    ctx: Lowering,
    family: str,
    key: object,
    buffers: Sequence[iree.Buffer],
    body: Callable[..., None],
    flops: int | None = 0,
    scalars: int = 0,
) -> str:
    """The name of the kernel `key` of a family, which is written when first asked for.

    `flops` are the additions and multiplications of its products, `scalars` the numbers that it is
    given beside its buffers.
    """
    if (family, key) not in ctx.kernels:
        name = f"{family}_{len(ctx.kernels)}"
        with ir.InsertionPoint(_function()):
            iree.define_kernel(name, buffers, body, flops, scalars)
        ctx.kernels[family, key] = name
    return ctx.kernels[family, key]


def _function() -> ir.Operation:
    """The function that ops are inserted in."""
    op = ir.InsertionPoint.current.block.owner.operation
    while (outer := op.parent) is not None and outer.name != "builtin.module":
        op = outer
    return op


def compute(
    ctx: Lowering,
    emitter_class: Callable[..., Any],
    family: str,
    shape: Any,
    op: WeightedOp,
    epilogue: VectorEpilogue,
    scratch: Sequence[graph.TensorType] = (),
    rows: Sequence[ir.Value] = (),
) -> ir.Value:
    """The result of `op`, of its operands `x` and `w`, and of what follows it, by one kernel.

    An emitter is made of `shape`, the buffers of the operands, of the result and of `scratch`, and
    a function that finishes sums; it writes a piece of work, of which `shape` has so many. Where
    `rows` is a number that run time counts, it has so many as ``shape.count_pieces(*rows)`` says.
    """
    type_ = graph.type_of(op.operation.results[0]).with_dtype(epilogue.stored)
    result = plain_type(type_)
    sizes = ctx.dynamic_sizes(type_)
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx.values)]
    count = len(operands)

    def kernel(number: ir.Value, *given: ir.Value) -> None:
        counted, buffers = given[: len(rows)], given[len(rows) :]

        def finish(places: list[Place], sums: Registers) -> Registers:
            return epilogue.apply(emitter, buffers[2:count], places, sums)

        emitter = emitter_class(shape, *buffers[:2], *buffers[count:], finish)
        emitter.piece(number, *counted)

    results = [result, *map(plain_type, scratch)]
    types = [*(operand.type for operand in operands), *results]
    key = (shape, *epilogue.key)
    memory = [flat(type_) for type_ in types]
    name = define(ctx, family, key, memory, kernel, shape.flops, len(rows))
    pieces = shape.count_pieces(*rows) if rows else shape.pieces
    return iree.run_kernel(name, pieces, operands, results, rows, sizes)[0]
