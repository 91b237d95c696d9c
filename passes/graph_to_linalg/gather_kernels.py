"""Calls of the kernels that gather whole rows, or elements along an axis, on CPUs that kernels are
written for (`kernels.row_gather`, `kernels.element_gather`).

IREE fuses a gather with what reads it, and computes what remains of whole vectors of a row element
by element. For single elements, it computes positions in vectors, and takes those apart. The
kernels gather for those who read memory.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim, at_least
from ...mlir import arith, ir
from ..kernels.element_gather import ElementGatherEmitter, ElementGatherSizes
from ..kernels.row_gather import (
    BYTES,
    WORKGROUPS_PER_THREAD,
    RowGatherEmitter,
    RowGatherSizes,
)
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_type
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
    sizes = (
        graph.element_count(source.shape[:axis]), source.shape[axis],
        graph.element_count(indices_type.shape), graph.element_count(source.shape[axis + 1 :]),
    )  # fmt: skip
    outer, extent, count, length = sizes
    shapes = (outer, extent, length), (count,), (outer, count, length)
    is_unsigned = graph.is_unsigned(indices_type.dtype)

    def emitter(given: Sequence[ir.Value], *memory: ir.Value) -> RowGatherEmitter:
        return RowGatherEmitter(ctx.cpu.vector_bits, RowGatherSizes(*given), is_unsigned, *memory)

    result = source.with_shape(shape)
    return _run(ctx, "row_gather", x, indices, indices_type, result, sizes, shapes, emitter)


def gathers_elements(op: graph.GatherElementsOp) -> bool:
    """Return whether the kernel computes `op`, if there is an index for each element along the
    other axes: where the result has named sizes, or kernels or the caller read it.

    Where all sizes are known, what the backend fuses takes 0.6 to 1 of the kernel's time and a
    dispatch less; with named sizes it takes up to twice as much.
    """
    source, indices = graph.type_of(op.x), graph.type_of(op.indices).shape
    axis = op.attrs["axis"]
    same = [n for n in range(source.rank) if n != axis and source.shape[n] == indices[n]]
    return (
        source.dtype.itemsize in (1, 2, 4, 8)
        and graph.bit_width(source.dtype) >= 8
        and 0 not in (*source.shape, *indices)
        and len(same) == source.rank - 1
        and (not graph.type_of(op.result).is_static or is_read_by_kernels(op.result))
    )


def gather_elements_along(
    ctx: Lowering, op: graph.GatherElementsOp, x: ir.Value, indices: ir.Value
) -> ir.Value:
    """The elements of `x` at `indices` along the axis of `op`, which has elements, or there is no
    index."""
    source, indices_type, axis = graph.type_of(op.x), graph.type_of(op.indices), op.attrs["axis"]
    outer, inner = (
        graph.element_count(shape) for shape in (source.shape[:axis], source.shape[axis + 1 :])
    )
    sizes = (outer, source.shape[axis], indices_type.shape[axis], inner)
    shapes = (outer, sizes[1], inner), (outer, sizes[2], inner), (outer, sizes[2], inner)
    is_unsigned = graph.is_unsigned(indices_type.dtype)

    def emitter(given: Sequence[ir.Value], *memory: ir.Value) -> ElementGatherEmitter:
        before, extent, count, behind = given
        known = ElementGatherSizes(before, extent, count, None if inner == 1 else behind)
        return ElementGatherEmitter(known, is_unsigned, *memory)

    result = indices_type.with_dtype(source.dtype)
    return _run(ctx, "element_gather", x, indices, indices_type, result, sizes, shapes, emitter)


def _run(
    ctx: Lowering,
    family: str,
    x: ir.Value,
    indices: ir.Value,
    indices_type: graph.TensorType,
    result: graph.TensorType,
    sizes: Sequence[Size],
    shapes: Sequence[Sequence[Size]],
    make_emitter: Callable[..., RowGatherEmitter | ElementGatherEmitter],
) -> ir.Value:
    """Run the kernel of a `family`, whose emitter is made from values of `sizes` and the buffers
    of `x`, `indices` and the `result`, which have `shapes`. Elements move as integers."""
    moved = np.dtype(f"i{result.dtype.itemsize}")
    names = list(dict.fromkeys(size for size in sizes if isinstance(size, Dim)))
    dtypes = moved, indices_type.dtype, moved
    memory = [
        flat_of(graph.TensorType(tuple(shape), dtype), names, first=1)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]

    def kernel(workgroup_id: ir.Value, workgroups: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))
        given = [known[size] if isinstance(size, Dim) else _constant(size) for size in sizes]
        make_emitter(given, *arguments[len(names) :]).workgroup(workgroup_id, workgroups)

    bytes_ = arith.muli(ctx.index(graph.element_count(result.shape)), ctx.index(moved.itemsize))
    wanted = arith.maxui(arith.divui(bytes_, ctx.index(BYTES)), ctx.index(1))
    workgroups = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [workgroups, *map(ctx.index, names)]
    anonymous = [names.index(size) if isinstance(size, Dim) else ("size", size) for size in sizes]
    key = (*anonymous, str(indices_type.dtype), *memory)
    name = define(ctx, family, key, memory, kernel, 0, len(scalars))
    return iree.run_kernel(
        name, workgroups, [x, indices], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _constant(size: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), size)
