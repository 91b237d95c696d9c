"""Calls of the kernels for reductions and cumulative ops, on CPUs that kernels are written for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..kernels.reduction import (
    ELEMENTS,
    LEAST_COLUMNS,
    MOST_COLUMNS,
    WORKGROUPS_PER_THREAD,
    Columns,
    Combine,
    ReductionEmitter,
    ReductionShape,
)
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_type

_DTYPES = tuple(map(np.dtype, (np.float32, np.float64, np.int32, np.int64)))
_LEAST_ELEMENTS = 1 << 14
"""Elements from which the kernel of a static tensor is worth a dispatch of its own."""
_LEAST_ROW = 16
"""Elements of a static row, reduced to one, that fill a vector. The backend takes twice as long for
the largest elements of rows of 16 to 63, and as long for sums."""


@dataclass(frozen=True)
class AxisReduction:
    """The combination of `x`, of `type_`, along adjacent `axes` by `combine`.

    `initial` is neutral. `key` tells the kernel from those that combine in other ways.
    """

    x: ir.Value
    type_: graph.TensorType
    axes: Sequence[int]
    combine: Combine
    initial: float
    key: str


def has_reduction_kernel(ctx: Lowering, op: graph.GraphOp, axes: Sequence[int]) -> bool:
    """Return whether the kernel applies to `op` on its first operand along `axes`; the report says
    why not."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return False
    reason = _reason_against(ctx, op, axes)
    statistics, node = ctx.statistics("reduction-kernel"), node_name(op.operation)
    if reason is not None:
        statistics.record_declined(node, reason)
        return False
    statistics.record_fired(node)
    return True


def _reason_against(ctx: Lowering, op: graph.GraphOp, axes: Sequence[int]) -> str | None:
    operand, *_ = op.operation.operands
    type_ = graph.type_of(operand)
    if type_.dtype not in _DTYPES:
        return "it has no kernel for the element type"
    if not _are_adjacent(axes) or 0 in type_.shape:
        return "its axes are not adjacent, or an axis is empty"
    if not _is_alone(op):
        return "the backend fuses it with an elementwise op beside it"
    outer, extent, inner = _merged(type_, axes)
    if isinstance(inner, int) and inner < ctx.cpu.lanes and inner != 1:
        return "what lies behind its axes does not fill a vector"
    if inner == 1 and isinstance(extent, int) and extent < _LEAST_ROW:
        return "its rows do not fill vectors"
    total = outer * extent * inner
    is_small = isinstance(total, int) and total < _LEAST_ELEMENTS
    return "it has few elements" if is_small else None


def last_adjacent(axes: Sequence[int]) -> Sequence[int]:
    """The last of the sorted `axes`, as far as they are adjacent: the kernel reduces these first,
    and what is left is small."""
    first = len(axes) - 1
    while first > 0 and axes[first - 1] == axes[first] - 1:
        first -= 1
    return axes[max(first, 0) :]


def _are_adjacent(axes: Sequence[int]) -> bool:
    return bool(axes) and list(axes) == list(range(axes[0], axes[0] + len(axes)))


def _is_alone(op: graph.GraphOp) -> bool:
    fused = graph.ElementwiseOp | graph.GroupOp
    (operand, *_), (result,) = op.operation.operands, op.operation.results
    if isinstance(graph.graph_op(operand.owner), fused):
        return False
    return not any(isinstance(graph.graph_op(use.owner), fused) for use in result.uses)


def _merged(type_: graph.TensorType, axes: Sequence[int]) -> tuple[Size, Size, Size]:
    """The elements before, along and after `axes`."""
    first, last = axes[0], axes[-1] + 1
    parts = type_.shape[:first], type_.shape[first:last], type_.shape[last:]
    outer, extent, inner = map(graph.element_count, parts)
    return outer, extent, inner


def reduce_by_kernel(
    ctx: Lowering, given: AxisReduction, finish: Callable[[ir.Value, ir.Value], ir.Value] | None
) -> ir.Value:
    """The reduced tensor, without the axes. `finish` is applied to its elements, or vectors of
    them, and the number of elements that each was made of (an index)."""
    kept = [size for axis, size in enumerate(given.type_.shape) if axis not in given.axes]
    result = given.type_.with_shape(tuple(kept))

    def workgroup(
        emitter: ReductionEmitter, workgroup_id: ir.Value, columns: Columns, is_rows: bool
    ) -> None:
        def finished(total: ir.Value) -> ir.Value:
            return total if finish is None else finish(total, emitter.extent)

        reduce = emitter.reduce_rows if is_rows else emitter.reduce_columns
        reduce(workgroup_id, columns, finished)

    return _run(ctx, "reduce", given, result, workgroup)


def scan_by_kernel(
    ctx: Lowering, given: AxisReduction, is_exclusive: bool, is_reversed: bool
) -> ir.Value:
    """Running totals along the axis, which is not the last one."""

    def workgroup(
        emitter: ReductionEmitter, workgroup_id: ir.Value, columns: Columns, is_rows: bool
    ) -> None:
        del is_rows
        emitter.scan_columns(workgroup_id, columns, is_exclusive, is_reversed)

    family = f"scan{'_exclusive' * is_exclusive}{'_reversed' * is_reversed}"
    return _run(ctx, family, given, given.type_, workgroup)


def _run(
    ctx: Lowering,
    family: str,
    given: AxisReduction,
    result: graph.TensorType,
    workgroup: Callable[[ReductionEmitter, ir.Value, Columns, bool], None],
) -> ir.Value:
    itemsize = given.type_.dtype.itemsize
    outer, extent, inner = sizes = _merged(given.type_, given.axes)
    is_rows = inner == 1
    lanes = ctx.cpu.lanes * 4 // itemsize * (2 if is_rows else 1)
    shape = ReductionShape(outer, extent, inner, max(lanes, 2))
    names = list(dict.fromkeys(size for size in sizes if isinstance(size, Dim)))
    merged = given.type_.with_shape(sizes)
    reduced = (outer, inner) if result.rank < given.type_.rank else sizes
    memory = [flat_of(each, names, first=3) for each in (merged, merged.with_shape(reduced))]
    workgroups, columns = _columns(ctx, shape)

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        own, buffers = arguments[: 3 + len(names)], arguments[3 + len(names) :]
        known = dict(zip(names, own[3:], strict=True))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _index(size)

        emitter = ReductionEmitter(shape, value, given.combine, given.initial, *buffers)
        workgroup(emitter, workgroup_id, Columns(*own[:3]), is_rows)

    anonymous = [names.index(s) - len(names) if isinstance(s, Dim) else s for s in sizes]
    key = (given.key, given.type_.dtype, shape.lanes, *anonymous, *memory)
    scalars = [columns.width, columns.parts, columns.chunk, *map(ctx.index, names)]
    name = define(ctx, family, key, memory, kernel, shape.flops, len(scalars))
    return iree.run_kernel(
        name, workgroups, [given.x], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _columns(ctx: Lowering, shape: ReductionShape) -> tuple[ir.Value, Columns]:
    """The number of workgroups, and the columns of each."""
    outer, extent, inner = (ctx.index(n) for n in (shape.outer, shape.extent, shape.inner))
    one, lanes = _index(1), _index(shape.lanes)
    wanted = arith.ceildivui(_index(ctx.threads * WORKGROUPS_PER_THREAD), arith.maxui(outer, one))
    most = arith.maxui(arith.divui(inner, _index(LEAST_COLUMNS)), one)
    least = arith.maxui(arith.ceildivui(inner, _index(MOST_COLUMNS)), one)
    parts = arith.maxui(arith.minui(wanted, most), least)
    width = arith.muli(arith.ceildivui(arith.ceildivui(inner, parts), lanes), lanes)
    elements = arith.maxui(arith.muli(extent, arith.minui(width, inner)), one)
    chunk = arith.maxui(arith.divui(_index(ELEMENTS), elements), one)
    workgroups = arith.ceildivui(arith.muli(outer, parts), chunk)
    return arith.maxui(workgroups, one), Columns(width, parts, chunk)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
