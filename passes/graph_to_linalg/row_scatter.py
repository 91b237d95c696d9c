"""Calls of the kernel that scatters whole rows, on CPUs that kernels are written for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..infra.query import producer, splat_of
from ..kernels.row_scatter import (
    LEAST_BYTES,
    LEAST_ROW,
    WORKGROUPS_PER_THREAD,
    Combine,
    RowScatterEmitter,
    RowScatterShape,
)
from .dispatch import SAME_MEMORY, origin, share_memory
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_type, vector_constant
from .scalar import apply_number_rule

COMBINE: dict[str, type[graph.GraphOp]] = {
    "add": graph.AddOp,
    "mul": graph.MulOp,
    "max": graph.MaxOp,
    "min": graph.MinOp,
}
"""The op by which each reduction but ``none`` combines an element with an update."""


@dataclass(frozen=True)
class RowUpdates:
    """`count` updates of the rows of `x`, which lie along axes of `extents`.

    `indices` has a row of positions, one for each of these axes, for each update.
    """

    x: ir.Value
    extents: Sequence[Size]
    indices: ir.Value
    updates: ir.Value
    count: Size
    reduction: str

    @property
    def row(self) -> Sequence[Size]:
        """The sizes of a row."""
        return graph.type_of(self.x).shape[len(self.extents) :]


def has_row_kernel(ctx: Lowering, dtype: np.dtype, reduction: str) -> bool:
    """Return whether there is a kernel for `reduction` of elements of `dtype`."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors or graph.bit_width(dtype) % 8:
        return False
    is_narrow = graph.is_float(dtype) and dtype.itemsize < 4
    return reduction == "none" or not (is_narrow or dtype == np.bool_)


def scatter_rows(ctx: Lowering, given: RowUpdates) -> ir.Value:
    """`x` with all updates, by the kernel."""
    x_type, indices_type = graph.type_of(given.x), graph.type_of(given.indices)
    splat = _splat_of(given.x)
    shape = _shape(ctx, given, is_filled=splat is not None)
    read = [given.indices, given.updates, *([given.x] if splat is None else [])]
    types = [
        indices_type.with_shape((shape.count, len(shape.extents))),
        _moved_as(x_type, given.reduction).with_shape((shape.count, shape.length)),
        _moved_as(x_type, given.reduction).with_shape((*shape.extents, shape.length)),
    ]
    sizes = (*shape.extents, shape.length, shape.count, shape.elements)
    names = list(dict.fromkeys(size for size in sizes if isinstance(size, Dim)))
    memory = [flat_of(type_, names, first=1) for type_ in types]
    if splat is None and not shape.in_place:
        memory.append(memory[-1])
    combine = _combine(x_type.dtype, given.reduction)
    moved = None if splat is None else np.asarray(splat, x_type.dtype).view(types[-1].dtype)[()]

    def kernel(workgroup_id: ir.Value, part: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _constant(size)

        def fill(lanes: int) -> ir.Value:
            return vector_constant(moved, types[-1].dtype, lanes)

        buffers = arguments[len(names) :]
        data = fill if splat is not None else buffers[2]
        indices, updates, *_, result = buffers
        emitter = RowScatterEmitter(shape, value, combine, indices, updates, data, result)
        emitter.workgroup(workgroup_id, part)

    workgroups, part = _parts(ctx, shape)
    key = (
        _anonymous(shape, names),
        given.reduction,
        combine and x_type.dtype,
        repr(splat),
        *memory,
    )
    scalars = [part, *map(ctx.index, names)]
    name = define(ctx, "row_scatter", key, memory, kernel, shape.flops, len(scalars))
    return iree.run_kernel(
        name, workgroups, [ctx.values[v] for v in read], [plain_type(x_type)], scalars,
        ctx.dynamic_sizes(x_type), in_place=2 if shape.in_place else None,
    )[0]  # fmt: skip


def _splat_of(x: ir.Value) -> np.generic | None:
    """The one value of all elements of `x`, if it is known."""
    while (op := producer(x, graph.ExpandOp)) is not None:
        x = op.x
    return splat_of(x)


def _shape(ctx: Lowering, given: RowUpdates, *, is_filled: bool) -> RowScatterShape:
    dtype = graph.type_of(given.x).dtype
    return RowScatterShape(
        tuple(given.extents), graph.element_count(given.row), given.count, dtype.itemsize,
        graph.is_unsigned(graph.type_of(given.indices).dtype),
        not (is_filled or _is_kept(ctx, given)),
        max(1, ctx.cpu.lanes * 4 // dtype.itemsize), ctx.threads,
    )  # fmt: skip


def _anonymous(shape: RowScatterShape, names: Sequence[Dim]) -> tuple[object, ...]:
    """The fields of `shape`, with the number of a dynamic size for its name: kernels for sizes with
    other names are the same."""

    def number(size: Size) -> object:
        return ("size", names.index(size)) if isinstance(size, Dim) else size

    return (
        *map(number, shape.extents), number(shape.length), number(shape.count),
        shape.itemsize, shape.is_unsigned, shape.in_place, shape.lanes,
    )  # fmt: skip


def _is_kept(ctx: Lowering, given: RowUpdates) -> bool:
    """Return whether the memory of the data must stay as it is: then the kernel itself copies it,
    in parts; otherwise the backend would, before it."""
    x, updates = (ctx.values[value] for value in (given.x, given.updates))
    first = origin(x, SAME_MEMORY)
    if share_memory(x, updates) or sum(1 for _ in given.x.uses) > 1:
        return True
    if isinstance(first.owner, ir.Block):
        is_argument = first.owner.owner.operation.name == "func.func"
        return is_argument and not graph.is_donated(first)
    return first.owner.operation.name == "arith.constant" and splat_of(given.x) is None


def _moved_as(type_: graph.TensorType, reduction: str) -> graph.TensorType:
    """The type as which elements are moved: without a reduction, integers of the same width."""
    if reduction != "none":
        return type_
    return type_.with_dtype(np.dtype(f"i{type_.dtype.itemsize}"))


def _combine(dtype: np.dtype, reduction: str) -> Combine | None:
    if reduction == "none":
        return None
    return lambda old, new: apply_number_rule(COMBINE[reduction], dtype, old, new)


def _constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _parts(ctx: Lowering, shape: RowScatterShape) -> tuple[int | ir.Value, ir.Value]:
    """The number of workgroups, and the elements of the data that each computes."""
    most = shape.threads * WORKGROUPS_PER_THREAD
    by_row, by_work = shape.length, shape.moved
    if isinstance(by_row, int) and isinstance(by_work, int) and isinstance(shape.elements, int):
        limits = (by_row // LEAST_ROW, by_work * shape.itemsize // LEAST_BYTES, most)
        workgroups = max(min(limits), 1)
        return workgroups, _constant(_rounded_up(-(-shape.elements // workgroups), shape.lanes))
    least = arith.divui(ctx.index(by_row), _constant(LEAST_ROW))
    work = arith.divui(ctx.index(by_work), _constant(max(LEAST_BYTES // shape.itemsize, 1)))
    workgroups = arith.minui(arith.minui(least, work), _constant(most))
    workgroups = arith.maxui(workgroups, _constant(1))
    part = arith.ceildivui(ctx.index(shape.elements), workgroups)
    lanes = _constant(shape.lanes)
    return workgroups, arith.muli(arith.ceildivui(part, lanes), lanes)


def _rounded_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
