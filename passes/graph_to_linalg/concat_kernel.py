"""Calls of the kernel that concatenates and slices rows, on CPUs that kernels are written for
(`kernels.row_concat`).

IREE compiles a dispatch for each operand of a concatenation, and copies row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..infra.query import producer
from ..kernels.row_concat import BYTES, WORKGROUPS_PER_THREAD, RowConcatEmitter, RowPart
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_type

MAX_PARTS = 16


@dataclass(frozen=True)
class CopiedPart:
    """`length` elements from `offset` on of each row of the lowered `value`, whose rows have
    `stride` elements."""

    value: ir.Value
    stride: Size
    offset: Size
    length: Size


def concat_by_kernel(ctx: Lowering, op: graph.ConcatOp, xs: Sequence[ir.Value]) -> ir.Value | None:
    """Concatenate the lowered operands `xs` of `op`; None if the kernel does not. What its reader
    joins is left empty."""
    type_, axis = graph.type_of(op.result), op.attrs["axis"]
    if not _has_kernels(ctx):
        return None
    statistics, node = ctx.statistics("concat-kernel"), node_name(op.operation)
    if not is_joined_by_kernel(op):
        if (reason := _reason_against(op)) is not None:
            statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    if is_joined_by_reader(op):
        return ctx.empty(type_)
    lowered = {**ctx.values, **dict(zip(op.xs, xs, strict=True))}
    parts = [_part(ctx, lowered[value], value, axis) for value in _joined(op)]
    return _run(ctx, parts, graph.element_count(type_.shape[:axis]), type_)


def is_joined_by_kernel(op: graph.ConcatOp) -> bool:
    """Return whether the kernel concatenates the operands of `op`."""
    is_of_rows = _is_of_rows(graph.type_of(op.result), op.attrs["axis"])
    return is_of_rows and _reason_against(op) is None and len(_not_empty(op)) > 1


def is_joined_by_reader(op: graph.ConcatOp) -> bool:
    """Return whether the kernel of the concatenation that reads the result of `op` reads its
    operands instead: those of many tensors are chains of ops."""
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    if len(users) != 1 or not isinstance(users[0], graph.ConcatOp):
        return False
    return is_joined_by_kernel(users[0]) and op.result not in _joined(users[0])


def _joined(op: graph.ConcatOp) -> list[ir.Value]:
    """The operands of `op` that are not empty; in place of a concatenation along the same axis that
    has no other reader those of it, as far as one kernel takes them."""
    found = _not_empty(op)
    for value in list(found):
        inner = producer(value, graph.ConcatOp)
        if inner is None or inner.attrs["axis"] != op.attrs["axis"]:
            continue
        if len(list(value.uses)) > 1 or not is_joined_by_kernel(inner):
            continue
        if len(found) - 1 + len(more := _joined(inner)) <= MAX_PARTS:
            at = found.index(value)
            found[at : at + 1] = more
    return found


def _reason_against(op: graph.ConcatOp) -> str | None:
    """The reason why rows are not concatenated by the kernel."""
    if not _is_of_bytes(graph.type_of(op.result)):
        return "its elements are no whole bytes, or more than 8"
    return "it has too many operands" if len(_not_empty(op)) > MAX_PARTS else None


def _not_empty(op: graph.ConcatOp) -> list[ir.Value]:
    return [x for x in op.xs if 0 not in graph.type_of(x).shape]


def slice_by_kernel(ctx: Lowering, op: graph.SliceOp) -> ir.Value | None:
    """Slice the operand of `op`; None if the kernel does not."""
    if not _has_kernels(ctx) or not is_sliced_by_kernel(op):
        return None
    ctx.statistics("concat-kernel").record_fired(node_name(op.operation))
    axis, type_ = sliced_axis(op), graph.type_of(op.result)
    assert axis is not None
    rows = graph.element_count(type_.shape[:axis])
    return _run(ctx, [_slice_part(ctx, op, axis)], rows, type_)


def is_sliced_by_kernel(op: graph.SliceOp) -> bool:
    """Return whether the kernel slices the operand of `op`: rows, for kernels that read the
    result, or for the caller. IREE's code reads the operand in place, as concatenations do."""
    axis = sliced_axis(op)
    if axis is None or not _is_of_rows(graph.type_of(op.result), axis):
        return False
    users = [use.owner for use in op.result.uses]
    others = [each for each in users if not isinstance(graph.graph_op(each), graph.ConcatOp)]
    return bool(others) and all(
        user.operation.name == "func.return"
        or isinstance(graph.graph_op(user), graph.KernelContraction)
        for user in others
    )


def _has_kernels(ctx: Lowering) -> bool:
    return not ctx.gpu and not ctx.in_kernel and ctx.cpu.has_vectors


def _is_of_rows(type_: graph.TensorType, axis: int) -> bool:
    """Return whether the kernel copies along `axis` of a tensor: elements of whole bytes, in
    several rows. A single one is contiguous, and IREE has it written in place."""
    rows = graph.element_count(type_.shape[:axis])
    return _is_of_bytes(type_) and rows != 1 and 0 not in type_.shape


def _is_of_bytes(type_: graph.TensorType) -> bool:
    return not graph.bit_width(type_.dtype) % 8 and type_.dtype.itemsize <= 8


def _part(ctx: Lowering, x: ir.Value, value: ir.Value, axis: int) -> CopiedPart:
    """An operand of a concatenation along `axis`, lowered to `x`. A slice along the same axis is
    read where it is."""
    part = producer(value, graph.SliceOp)
    if part is not None and sliced_axis(part) == axis:
        return _slice_part(ctx, part, axis)
    length = graph.element_count(graph.type_of(value).shape[axis:])
    return CopiedPart(x, length, 0, length)


def _slice_part(ctx: Lowering, op: graph.SliceOp, axis: int) -> CopiedPart:
    source = graph.type_of(op.x).shape
    inner = graph.element_count(source[axis + 1 :])
    length = graph.element_count(graph.type_of(op.result).shape[axis:])
    return CopiedPart(
        ctx.values[op.x],
        graph.element_count(source[axis:]),
        op.attrs["starts"][axis] * inner,
        length,
    )


def sliced_axis(op: graph.SliceOp) -> int | None:
    """The only axis along which `op` takes a part, which is contiguous; None if there is none."""
    source, result = graph.type_of(op.x).shape, graph.type_of(op.result).shape
    axes = [axis for axis in range(len(source)) if source[axis] != result[axis]]
    if len(axes) != 1 or any(step != 1 for step in op.attrs["steps"]):
        return None
    return axes[0]


def _run(
    ctx: Lowering, parts: Sequence[CopiedPart], rows: Size, type_: graph.TensorType
) -> ir.Value:
    """Run the kernel. All sizes are arguments, so that there is one for each number of parts."""
    total: Size = 0
    for part in parts:
        total = total + part.length
    sizes = [rows, total, *(part.stride for part in parts)]
    names = [Dim.symbol(f"concat_{number}") for number in range(len(sizes))]
    shapes = [[names[0], name] for name in (*names[2:], names[1])]
    memory = [flat_of(type_.with_shape(shape), names, first=1) for shape in shapes]
    count, itemsize = len(parts), type_.dtype.itemsize

    def kernel(workgroup_id: ir.Value, workgroups: ir.Value, *arguments: ir.Value) -> None:
        given, more = arguments[: len(names)], arguments[len(names) :]
        offsets, lengths, buffers = more[:count], more[count : 2 * count], more[2 * count :]
        found = [RowPart(*each) for each in zip(buffers, given[2:], offsets, lengths, strict=False)]
        emitter = RowConcatEmitter(ctx.cpu.vector_bits, found, buffers[-1])
        emitter.workgroup(workgroup_id, workgroups, given[0])

    moved = arith.muli(ctx.index(graph.element_count(type_.shape)), ctx.index(itemsize))
    wanted = arith.maxui(arith.divui(moved, ctx.index(BYTES)), ctx.index(1))
    workgroups = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    places = [part.offset for part in parts] + [part.length for part in parts]
    scalars = [workgroups, *map(ctx.index, sizes), *map(ctx.index, places)]
    name = define(
        ctx, "concat", (count, str(type_.dtype), *memory), memory, kernel, 0, len(scalars)
    )
    operands = [part.value for part in parts]
    results = [plain_type(type_)]
    return iree.run_kernel(name, workgroups, operands, results, scalars, ctx.dynamic_sizes(type_))[
        0
    ]
