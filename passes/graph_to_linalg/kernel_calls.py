"""Calls of the compiler's own kernels; each distinct kernel is emitted once."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects import graph, iree
from ...mlir import ir
from ..kernels.emitter import Registers
from ..kernels.epilogue import OutputPosition, VectorEpilogue
from .lowering import Lowering, plain_type


def flat(type_: ir.Type) -> iree.Buffer:
    """A flat buffer of a tensor's elements; if its rows are dynamic, of one row per count."""
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
    threads: int | None = None,
) -> str:
    """The name of the kernel `key` of a family, which is emitted on first use.

    `flops` are the additions and multiplications of its products, `scalars` the number of scalar
    arguments beside its buffers, `threads` those of a workgroup on GPUs.
    """
    if (family, key) not in ctx.kernels:
        name = f"{family}_{len(ctx.kernels)}"
        with ir.InsertionPoint(_function()):
            iree.define_kernel(name, buffers, body, flops, scalars, threads)
        ctx.kernels[family, key] = name
    return ctx.kernels[family, key]


def _function() -> ir.Operation:
    """The function that contains the insertion point."""
    op = ir.InsertionPoint.current.block.owner.operation
    while (outer := op.parent) is not None and outer.name != "builtin.module":
        op = outer
    return op


def compute(
    ctx: Lowering,
    emitter_class: Callable[..., Any],
    family: str,
    shape: Any,
    op: graph.KernelContraction,
    epilogue: VectorEpilogue,
    scratch: Sequence[graph.TensorType] = (),
    rows: Sequence[ir.Value] = (),
) -> ir.Value:
    """Compute `op`, on its operands `x` and `w`, and its epilogue by one kernel.

    An emitter is created from `shape`, the buffers of the operands, the result and `scratch`, and a
    function that applies the epilogue. It emits one workgroup. There are ``shape.workgroups``
    workgroups, or ``shape.count_workgroups(*rows)`` for dynamic `rows`.
    """
    type_ = graph.type_of(op.operation.results[0]).with_dtype(epilogue.stored_dtype)
    result = plain_type(type_)
    sizes = ctx.dynamic_sizes(type_)
    operands = [ctx.values[op.x], ctx.values[op.w], *epilogue.operands(ctx.values)]
    count = len(operands)

    def kernel(workgroup_id: ir.Value, *given: ir.Value) -> None:
        counted, buffers = given[: len(rows)], given[len(rows) :]

        def apply_epilogue(positions: list[OutputPosition], accumulators: Registers) -> Registers:
            return epilogue.apply(emitter, buffers[2:count], positions, accumulators)

        emitter = emitter_class(shape, *buffers[:2], *buffers[count:], apply_epilogue)
        emitter.workgroup(workgroup_id, *counted)

    results = [result, *map(plain_type, scratch)]
    types = [*(operand.type for operand in operands), *results]
    key = (shape, *epilogue.key)
    memory = [flat(type_) for type_ in types]
    name = define(ctx, family, key, memory, kernel, shape.flops, len(rows))
    workgroups = shape.count_workgroups(*rows) if rows else shape.workgroups
    return iree.run_kernel(name, workgroups, operands, results, rows, sizes)[0]
