"""Calls of the kernel that slices along several axes, or backwards, on CPUs that kernels are
written for (`kernels.strided_rows`).

IREE copies runs of bytes element by element, and looks up each element of a slice with a negative
step: a slice of an image of bytes took 5.6 times as long, rows in reverse order 7 times, every
second element of rows of f16 4 times.
"""

import math
from dataclasses import dataclass

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim, at_least
from ...mlir import arith, ir
from ..kernels.strided_rows import (
    BYTES,
    WORKGROUPS_PER_THREAD,
    StridedAxis,
    StridedRowsEmitter,
)
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_type
from .readers import is_read_by_kernels

_LEAST_RUN = 16
"""Elements of a run for which the kernel is faster than a loop of the backend."""
_LARGEST_GAP = 4
"""Elements of memory of which one is taken from vectors that hold all of them."""


@dataclass(frozen=True)
class StridedSlice:
    """Runs of `run` elements, `gap` apart, from `start` on.

    The `axes` have a size, and the elements of memory between two positions."""

    axes: tuple[tuple[Size, Size], ...]
    start: Size
    run: Size
    gap: int = 1


def strided_slice(op: graph.SliceOp) -> StridedSlice:
    """The runs of elements that `op` reads: whole axes at the end, and one before with step 1, or
    the last axis with a small step."""
    source, attrs = graph.type_of(op.x).shape, op.attrs
    axes: list[tuple[Size, Size]] = []
    start, run, stride = 0, 1, 1
    is_run = True  # nothing but whole axes was met
    numbers = zip(source, attrs["starts"], attrs["sizes"], attrs["steps"], strict=True)
    for extent, first, size, step in reversed(list(numbers)):
        is_whole = extent == size and step == 1
        start = start + first * stride
        if is_run and step == 1:
            run = run * size
        elif size != 1:
            axes.append((size, step * stride))
        is_run = is_run and is_whole
        stride = stride * extent
    gap = 1
    if run == 1 and axes and isinstance(axes[0][1], int) and 1 < axes[0][1] <= _LARGEST_GAP:
        run, gap = axes.pop(0)
        assert isinstance(gap, int)
    return StridedSlice(tuple(reversed(axes)) or ((1, 0),), start, run, gap)


def slice_strided_rows(ctx: Lowering, op: graph.SliceOp) -> ir.Value | None:
    """Slice the operand of `op`; None if the kernel does not."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors or not _is_of_runs(op):
        return None
    statistics, node = ctx.statistics("slice-kernel"), node_name(op.operation)
    if not is_sliced_by_runs(op):
        statistics.record_declined(node, "its elements are no whole bytes, or more than 8")
        return None
    statistics.record_fired(node)
    found, (source, result) = strided_slice(op), map(graph.type_of, (op.x, op.result))
    numbers = [*(n for axis in found.axes for n in axis), found.start, found.run]
    elements = [graph.element_count(type_.shape) for type_ in (source, result)]
    names = [Dim.symbol(f"elements_{number}") for number in range(2)]
    memory = [flat_of(source.with_shape([name]), names, first=1) for name in names]

    def kernel(workgroup_id: ir.Value, workgroups: ir.Value, *arguments: ir.Value) -> None:
        *given, memory_in, memory_out = arguments[len(names) :]
        *pairs, start, run = given
        axes = [StridedAxis(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
        bits = ctx.cpu.vector_bits
        emitter = StridedRowsEmitter(bits, axes, start, run, memory_in, memory_out, found.gap)
        emitter.workgroup(workgroup_id, workgroups)

    moved = arith.muli(ctx.index(elements[1]), ctx.index(source.dtype.itemsize))
    wanted = arith.maxui(arith.divui(moved, ctx.index(BYTES)), ctx.index(1))
    workgroups = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [workgroups, *map(ctx.index, [*elements, *numbers])]
    key = (len(found.axes), found.gap, str(source.dtype), *memory)
    name = define(ctx, "strided_rows", key, memory, kernel, 0, len(scalars))
    return iree.run_kernel(
        name, workgroups, [ctx.values[op.x]], [plain_type(result)], scalars,
        ctx.dynamic_sizes(result),
    )[0]  # fmt: skip


def is_sliced_by_runs(op: graph.SliceOp) -> bool:
    """Return whether the kernel slices the operand of `op`: long runs, for kernels that read the
    result, or for the caller, that are not one."""
    dtype = graph.type_of(op.result).dtype
    return graph.bit_width(dtype) % 8 == 0 and dtype.itemsize <= 8 and _is_of_runs(op)


def _is_of_runs(op: graph.SliceOp) -> bool:
    if 0 in graph.type_of(op.result).shape:
        return False
    found = strided_slice(op)
    is_one_run = math.prod(size for size, _ in found.axes if size != 1) == 1
    is_contiguous = is_one_run and found.gap == 1
    return not is_contiguous and at_least(found.run, _LEAST_RUN) and is_read_by_kernels(op.result)
