"""Calls of the compiler's own kernels; each distinct kernel is emitted once."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.emitter import Registers
from ..kernels.epilogue import OutputPosition, VectorEpilogue
from .lowering import Lowering, plain_element, plain_type

Operand = tuple[ir.Value, graph.TensorType]
"""A lowered value, and the type of what it was lowered from."""


def flat(type_: ir.Type) -> iree.Buffer:
    """A flat buffer of the elements of a tensor of static sizes."""
    tensor = ir.RankedTensorType(type_)
    return iree.Buffer(tensor.element_type, math.prod(tensor.shape))


def flat_of(type_: graph.TensorType, sizes: Sequence[Dim], first: int = 0) -> iree.Buffer:
    """A flat buffer of the elements of a tensor, whose dynamic sizes, or whose number of rows, are
    among `sizes`: the scalars of a kernel from the one numbered `first` on. Booleans are bytes in
    memory."""
    factors = _factors(type_, sizes)
    known = math.prod(size for size in factors if isinstance(size, int))
    counts = tuple(first + sizes.index(size) for size in factors if isinstance(size, Dim))
    stored = np.uint8 if type_.dtype == np.bool_ else type_.dtype
    return iree.Buffer(plain_element(np.dtype(stored)), known, counts)


def _factors(type_: graph.TensorType, sizes: Sequence[Dim]) -> Sequence[int | Dim]:
    """Factors of the number of elements of a tensor: itself or its rows, if `sizes` has them, or
    all axes."""
    whole, rows = graph.element_count(type_.shape), graph.element_count(type_.shape[:-1])
    if whole in sizes:
        return [whole]
    return [rows, type_.shape[-1]] if rows in sizes else type_.shape


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
    sizes: Sequence[Dim] = (),
    beside: Sequence[Operand] = (),
    weights: Operand | None = None,
) -> ir.Value:
    """Compute `op`, on its operands `x` and `w`, and its epilogue by one kernel. `weights` are
    those of `op` in another layout, if that is given.

    An emitter is created from `shape`, the buffers of the operands, the result and `scratch`, a
    function that applies the epilogue, and the buffers of operands `beside` those of `op`. It emits
    one workgroup. There are ``shape.workgroups`` workgroups, or ``shape.count_workgroups(*sizes)``
    for dynamic `sizes`, which the kernel receives as scalars.
    """
    type_ = graph.type_of(op.operation.results[0]).with_dtype(epilogue.stored_dtype)
    x, w = operands_of(ctx, [op.x, op.w])
    own = [x, weights or w, *beside]
    read = [*own, *operands_of(ctx, epilogue.memory)]

    def make_emitter(*buffers: ir.Value) -> Any:
        def apply_epilogue(
            positions: list[OutputPosition], accumulators: Registers
        ) -> Iterable[ir.Value]:
            memory = buffers[len(own) : len(read)]
            return epilogue.apply(emitter, memory, positions, accumulators)

        written, more = buffers[len(read) :], buffers[2 : len(own)]
        emitter = emitter_class(shape, *buffers[:2], *written, apply_epilogue, *more)
        return emitter

    results = [type_, *scratch]
    return run_emitter(ctx, family, shape, epilogue.key, read, results, sizes, make_emitter)


def operands_of(ctx: Lowering, values: Sequence[ir.Value]) -> list[Operand]:
    """The lowered `values`, with their types."""
    return [(ctx.values[value], graph.type_of(value)) for value in values]


def run_emitter(
    ctx: Lowering,
    family: str,
    shape: Any,
    key: Sequence[object],
    read: Sequence[Operand],
    results: Sequence[graph.TensorType],
    sizes: Sequence[Dim],
    make_emitter: Callable[..., Any],
) -> ir.Value:
    """The first of the `results` of a kernel: see `results_of_emitter`."""
    return results_of_emitter(ctx, family, shape, key, read, results, sizes, make_emitter)[0]


def results_of_emitter(
    ctx: Lowering,
    family: str,
    shape: Any,
    key: Sequence[object],
    read: Sequence[Operand],
    results: Sequence[graph.TensorType],
    sizes: Sequence[Dim],
    make_emitter: Callable[..., Any],
) -> list[ir.Value]:
    """The `results` of a kernel that reads the operands `read`.

    `make_emitter` creates the emitter from the buffers of all, which emits one workgroup; `key` and
    `shape` determine the kernel. For the workgroups and the dynamic `sizes`, see `compute`.
    """
    types = [*(type_ for _, type_ in read), *results]
    factors = dict.fromkeys(size for each in types for size in _factors(each, sizes))
    given = [*sizes, *(n for n in factors if isinstance(n, Dim) and n not in sizes)]

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        emitter = make_emitter(*arguments[len(given) :])
        emitter.workgroup(workgroup_id, *arguments[: len(sizes)])

    memory = [flat_of(each, given) for each in types]
    whole_key = (shape, len(given), *memory, *key)
    name = define(ctx, family, whole_key, memory, kernel, shape.flops, len(given))
    operands, scalars = [value for value, _ in read], [ctx.index(size) for size in given]
    workgroups = shape.count_workgroups(*scalars[: len(sizes)]) if sizes else shape.workgroups
    dynamic = [size for each in results for size in ctx.dynamic_sizes(each)]
    plain = list(map(plain_type, results))
    return iree.run_kernel(name, workgroups, operands, plain, scalars, dynamic)
