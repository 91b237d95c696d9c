"""Kernels of our own: each is written once for each thing that it does."""

import math
from collections.abc import Callable, Sequence

from ...dialects import iree
from ...mlir import ir
from .lowering import Lowering


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
) -> str:
    """The name of the kernel `key` of a family, which is written when first asked for."""
    if (family, key) not in ctx.kernels:
        function = ir.InsertionPoint.current.block.owner.operation
        while function.parent.name != "builtin.module":
            function = function.parent
        name = f"{family}_{len(ctx.kernels)}"
        with ir.InsertionPoint(function):
            iree.define_kernel(name, buffers, body)
        ctx.kernels[family, key] = name
    return ctx.kernels[family, key]
