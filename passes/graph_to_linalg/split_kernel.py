"""Calls of the kernel that takes short rows apart, on CPUs that kernels are written for
(`kernels.row_split`).

All slices of a tensor along an axis are results of one call, which reads each row once: the columns
of a table of 100,000 rows of 4 took twice as long in a dispatch for each.
"""

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..kernels.row_split import (
    BYTES,
    LONGEST_ROW,
    WORKGROUPS_PER_THREAD,
    RowSplitEmitter,
    RowSplitShape,
)
from .concat_kernel import is_sliced_by_kernel, sliced_axis
from .kernel_calls import define, flat_of
from .lowering import Lowering, plain_type
from .transpose_kernel import shuffled_lanes

_MAX_PARTS = 16


class _RowPart(NamedTuple):
    """A part of each row: what a slice along an axis takes."""

    axis: int
    stride: int
    """Elements of a row: those of the axis and of the axes behind it."""
    offset: int
    length: int


def split_by_kernel(ctx: Lowering, op: graph.SliceOp) -> ir.Value | None:
    """Slice the operand of `op`, and all that is sliced likewise, whose values `ctx` gets, too;
    None if the kernel does not."""
    if op.result in ctx.values:
        return ctx.values[op.result]
    part = _part(op)
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors or part is None:
        return None
    slices = _slices_likewise(ctx, op, part)
    for each in slices:
        ctx.statistics("split-kernel").record_fired(node_name(each.operation))
    for each, value in zip(slices, _run(ctx, slices), strict=True):
        ctx.values[each.result] = value
    return ctx.values[op.result]


def _part(op: graph.SliceOp) -> _RowPart | None:
    """The part that the slice takes; None if the kernel does not take it."""
    axis = sliced_axis(op)
    if axis is None or not is_sliced_by_kernel(op):
        return None
    source, result = graph.type_of(op.x).shape, graph.type_of(op.result).shape
    sizes = [graph.element_count(shape) for shape in (source[axis:], source[axis + 1 :])]
    sizes += [graph.element_count(result[axis:]), op.attrs["starts"][axis]]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < len(sizes) or known[0] > LONGEST_ROW:
        return None
    stride, inner, length, start = known
    return _RowPart(axis, stride, start * inner, length)


def _slices_likewise(
    ctx: Lowering, op: graph.SliceOp, own: _RowPart
) -> dict[graph.SliceOp, _RowPart]:
    """`op`, and the slices of its operand along the same axis that follow it in its block, with
    their parts."""
    found = {op: own}
    for use in op.x.uses:
        user, each = use.owner.operation, graph.graph_op(use.owner)
        if isinstance(each, graph.SliceOp) and user.block == op.operation.block:
            part = _part(each)
            is_new = each.result != op.result and each.result not in ctx.values
            if part is not None and part.axis == own.axis and is_new:
                found[each] = part
    return dict(islice(found.items(), _MAX_PARTS))


def _run(ctx: Lowering, slices: Mapping[graph.SliceOp, _RowPart]) -> list[ir.Value]:
    op, (axis, stride, *_) = next(iter(slices.items()))
    source = graph.type_of(op.x)
    results = [graph.type_of(each.result) for each in slices]
    lanes = shuffled_lanes(ctx.cpu, source.dtype)
    parts = tuple((part.offset, part.length) for part in slices.values())
    shape = RowSplitShape(stride, parts, lanes)
    names = [Dim.symbol(name) for name in ("workgroups", "rows")]
    lengths = [stride, *(length for _, length in shape.parts)]
    memory = [flat_of(source.with_shape([names[1], length]), names) for length in lengths]

    def kernel(workgroup_id: ir.Value, count: ir.Value, rows: ir.Value, *buffers: ir.Value) -> None:
        RowSplitEmitter(shape, buffers[0], buffers[1:]).workgroup(workgroup_id, count, rows)

    rows = ctx.index(graph.element_count(source.shape[:axis]))
    moved = arith.muli(rows, ctx.index(stride * source.dtype.itemsize))
    wanted = arith.maxui(arith.divui(moved, ctx.index(BYTES)), ctx.index(1))
    count = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [count, rows]
    key = (shape, str(source.dtype), *memory)
    name = define(ctx, "row_split", key, memory, kernel, 0, len(scalars))
    sizes = [size for each in results for size in ctx.dynamic_sizes(each)]
    operands, plain = [ctx.values[op.x]], [plain_type(each) for each in results]
    return iree.run_kernel(name, count, operands, plain, scalars, sizes)
