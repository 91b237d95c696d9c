"""Calls of the kernel that gathers whole rows, on CPUs that kernels are written for
(`kernels.row_gather`).

IREE fuses a gather with what reads it, and computes what remains of whole vectors of a row element
by element. The kernel gathers for those who read memory.
"""

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim, at_least
from ...mlir import arith, ir
from ..kernels.row_gather import (
    BYTES,
    WORKGROUPS_PER_THREAD,
    RowGatherEmitter,
    RowGatherSizes,
)
from .kernel_calls import define, flat_of
from .lowering import Lowering, plain_type
from .readers import is_read_by_kernels

_LEAST_BYTES = 64
"""Bytes of a row for which the kernel is faster than a loop of the backend."""


def gathers_rows(op: graph.GatherOp | graph.GatherNdOp) -> bool:
    """Return whether the kernel computes `op`: long rows, for kernels that read the result, or for
    the caller."""
    source = graph.type_of(op.x)
    if isinstance(op, graph.GatherOp):
        behind = op.attrs["axis"] + 1
    else:
        behind = op.attrs["batch_dims"] + graph.static_size(graph.type_of(op.indices).shape[-1])
    run = graph.element_count(source.shape[behind:])
    return (
        source.dtype.itemsize in (1, 2, 4, 8)
        and graph.bit_width(source.dtype) >= 8
        and 0 not in graph.type_of(op.result).shape
        and at_least(run, _LEAST_BYTES // source.dtype.itemsize)
        and is_read_by_kernels(op.result)
    )


def gather_rows(
    ctx: Lowering,
    x: ir.Value,
    source: graph.TensorType,
    indices: ir.Value,
    indices_type: graph.TensorType,
    axis: int,
) -> ir.Value:
    """The slices of `x`, of type `source`, at `indices`, of type `indices_type`, along `axis`: it
    is not empty, or there is no index."""
    shape = (*source.shape[:axis], *indices_type.shape, *source.shape[axis + 1 :])
    result = source.with_shape(shape)
    moved = np.dtype(f"i{source.dtype.itemsize}")
    sizes = (
        graph.element_count(source.shape[:axis]), source.shape[axis],
        graph.element_count(indices_type.shape), graph.element_count(source.shape[axis + 1 :]),
    )  # fmt: skip
    names = list(dict.fromkeys(size for size in sizes if isinstance(size, Dim)))
    outer, extent, count, length = sizes
    memory = [
        flat_of(graph.TensorType(shape, dtype), names)
        for shape, dtype in (
            ((outer, extent, length), moved),
            ((count,), indices_type.dtype),
            ((outer, count, length), moved),
        )
    ]

    def kernel(workgroup_id: ir.Value, workgroups: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))

        def value(size: int | Dim) -> ir.Value:
            is_known = isinstance(size, int)
            return arith.constant(ir.IndexType.get(), size) if is_known else known[size]

        is_unsigned = graph.is_unsigned(indices_type.dtype)
        emitter = RowGatherEmitter(
            ctx.cpu.vector_bits, RowGatherSizes(*map(value, sizes)), is_unsigned,
            *arguments[len(names) :],
        )  # fmt: skip
        emitter.workgroup(workgroup_id, workgroups)

    bytes_ = arith.muli(ctx.index(graph.element_count(shape)), ctx.index(moved.itemsize))
    wanted = arith.maxui(arith.divui(bytes_, ctx.index(BYTES)), ctx.index(1))
    workgroups = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [workgroups, *map(ctx.index, names)]
    anonymous = [names.index(size) if isinstance(size, Dim) else ("size", size) for size in sizes]
    key = (*anonymous, str(indices_type.dtype), *memory)
    name = define(ctx, "row_gather", key, memory, kernel, 0, len(scalars))
    return iree.run_kernel(
        name, workgroups, [x, indices], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]
