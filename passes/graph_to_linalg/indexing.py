"""Reads and writes at computed positions. Accesses stay inside of tensors: see `graph`."""

from collections.abc import Sequence

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from ..infra.query import constant_scalar
from .aliasing import copy
from .dispatch import behind_barrier, in_own_dispatch, materialized, share_memory, updated_in_place
from .gather_kernels import gather_elements_along, gather_rows, gathers_elements, gathers_rows
from .generic import loop_index, parallel, projection
from .lowering import Fusion, Lowering, Size, lowers, plain_element, scalar_constant
from .movement import extract_slice, reshape_tensor
from .row_scatter import COMBINE, RowUpdates, has_row_kernel, scatter_rows
from .scalar import apply_number_rule

_I64 = np.dtype(np.int64)
_NOWHERE = np.iinfo(np.int64).max


def require_not_empty(ctx: Lowering, extent: Size, reads: Size) -> None:
    """Require that an axis of `extent` has elements, unless there are no `reads` of it."""
    if not isinstance(extent, int):
        enough = arith.cmpi(arith.CmpIPredicate.ne, ctx.index(extent), ctx.index(0))
        none = arith.cmpi(arith.CmpIPredicate.eq, ctx.index(reads), ctx.index(0))
        ctx.require(arith.ori(enough, none), "indexes an empty axis")


class IndexedAxis:
    """An axis that is indexed at run time. Created outside of a body, used inside.

    `reads` is the number of elements read, which must be 0 for an empty axis.
    """

    def __init__(self, ctx: Lowering, extent: Size, dtype: np.dtype, reads: Size):
        require_not_empty(ctx, extent, reads)
        self._unsigned = graph.is_unsigned(dtype)
        self._extent, self._last = ctx.index(extent), ctx.index(extent - 1)
        self._zero = ctx.index(0)

    def position(self, index: ir.Value) -> ir.Value:
        """Convert `index` (an integer) to a position from the front, possibly out of range."""
        if self._unsigned:
            return arith.index_castui(ir.IndexType.get(), index)
        position = arith.index_cast(ir.IndexType.get(), index)
        negative = arith.cmpi(arith.CmpIPredicate.slt, position, self._zero)
        return arith.select(negative, arith.addi(position, self._extent), position)

    def clamped(self, position: ir.Value) -> ir.Value:
        """Clamp `position` to the axis."""
        return arith.maxsi(arith.minsi(position, self._last), self._zero)

    def holds(self, position: ir.Value) -> ir.Value:
        """True (an i1) if `position` is on the axis."""
        return arith.cmpi(arith.CmpIPredicate.ult, position, self._extent)


def _fusion_of_gather(op: graph.GatherOp) -> Fusion:
    return Fusion.NONE if gathers_rows(op) else Fusion.PRODUCER


@lowers(graph.GatherOp, fuses=_fusion_of_gather)
def gather(ctx: Lowering, op: graph.GatherOp, x: ir.Value, indices: ir.Value) -> ir.Value:
    source, indices_type = graph.type_of(op.x), graph.type_of(op.indices)
    return _take_for(ctx, op, x, source, indices, indices_type, op.attrs["axis"])


def _has_gather_kernels(ctx: Lowering) -> bool:
    return ctx.cpu.has_vectors and not (ctx.gpu or ctx.in_kernel)


def _take_for(
    ctx: Lowering,
    op: graph.GatherOp | graph.GatherNdOp,
    x: ir.Value,
    source: graph.TensorType,
    indices: ir.Value,
    indices_type: graph.TensorType,
    axis: int,
) -> ir.Value:
    """`take`, for `op`, by a kernel if that is faster."""
    extent = source.shape[axis]
    index = None if ctx.in_kernel or ctx.gpu else constant_scalar(op.indices)
    if index is not None and isinstance(op, graph.GatherOp) and isinstance(extent, Dim):
        return _take_one(ctx, op, x, extent, index)
    if not _has_gather_kernels(ctx) or not gathers_rows(op):
        return take(ctx, x, source, indices, indices_type, axis)
    reads = graph.element_count(graph.type_of(op.result).shape)
    require_not_empty(ctx, source.shape[axis], reads)
    ctx.statistics("gather-kernel").record_fired(node_name(op.operation))
    return gather_rows(ctx, x, source, indices, indices_type, axis)


def _take_one(
    ctx: Lowering, op: graph.GatherOp, x: ir.Value, extent: Dim, index: np.integer
) -> ir.Value:
    """The slice of `x` at `index`, a constant; zeros if `x` has none there.

    The backend would compute loops that read elements of whole tensors and no operands of their own
    wherever their results are read: each step of an unrolled recurrence with all before it.
    """
    source, result, axis = graph.type_of(op.x), graph.type_of(op.result), op.axis
    along = IndexedAxis(ctx, extent, index.dtype, graph.element_count(result.shape))
    position = along.position(scalar_constant(index, index.dtype))
    exists, zero = along.holds(position), scalar_constant(0, source.dtype)
    starts = [along.clamped(position) if i == axis else 0 for i in range(source.rank)]
    part = source.with_shape((*source.shape[:axis], 1, *source.shape[axis + 1 :]))
    taken = extract_slice(ctx, x, starts, part.shape, [1] * source.rank, part)
    taken = reshape_tensor(ctx, taken, part, result)
    identity = ir.AffineMap.get_identity(result.rank)

    def element(found: ir.Value) -> ir.Value:
        return arith.select(exists, found, zero)

    return parallel([taken], [identity], ctx.empty(result), element)


def take(
    ctx: Lowering,
    x: ir.Value,
    source: graph.TensorType,
    indices: ir.Value,
    indices_type: graph.TensorType,
    axis: int,
) -> ir.Value:
    """The slices of `x`, of type `source`, at `indices`, of type `indices_type`, along `axis`.

    Axes behind `axis` are one loop: the backend merges such loops, and computes positions along
    each of them by division, element by element.
    """
    shape = (*source.shape[:axis], *indices_type.shape, *source.shape[axis + 1 :])
    result = source.with_shape(shape)
    if not ctx.in_kernel and source.rank > axis + 2:
        behind = graph.element_count(source.shape[axis + 1 :])
        flat = source.with_shape((*source.shape[: axis + 1], behind))
        rows = reshape_tensor(ctx, x, source, flat)
        taken = take(ctx, rows, flat, indices, indices_type, axis)
        kept = result.shape[: axis + indices_type.rank]
        return reshape_tensor(ctx, taken, source.with_shape((*kept, behind)), result)
    along = IndexedAxis(
        ctx, source.shape[axis], indices_type.dtype, graph.element_count(result.shape)
    )
    index_loops = list(range(axis, axis + indices_type.rank))
    slice_loops = [i for i in range(result.rank) if i not in index_loops]
    zero = scalar_constant(0, source.dtype)

    def element(index: ir.Value) -> ir.Value:
        # An index that is read in the body is known not to vary along a slice, so that slices are
        # read with vector loads; the index that comes as an operand keeps the loops apart.
        again = tensor.extract(indices, [loop_index(loop) for loop in index_loops])
        coordinates = [loop_index(loop) for loop in slice_loops]
        coordinates.insert(axis, along.clamped(along.position(again)))
        found = tensor.extract(x, coordinates)
        return arith.select(along.holds(along.position(index)), found, zero)

    map_ = projection(result.rank, index_loops)
    return _gathered(ctx, parallel([indices], [map_], ctx.empty(result), element), result)


@lowers(graph.GatherElementsOp)
def gather_elements(
    ctx: Lowering, op: graph.GatherElementsOp, x: ir.Value, indices: ir.Value
) -> ir.Value:
    source, indices_type = graph.type_of(op.x), graph.type_of(op.indices)
    if _has_gather_kernels(ctx) and gathers_elements(op):
        reads = graph.element_count(indices_type.shape)
        require_not_empty(ctx, source.shape[op.attrs["axis"]], reads)
        ctx.statistics("gather-kernel").record_fired(node_name(op.operation))
        return gather_elements_along(ctx, op, x, indices)
    return take_elements(ctx, x, source, indices, indices_type, op.attrs["axis"])


def take_elements(
    ctx: Lowering,
    x: ir.Value,
    source: graph.TensorType,
    indices: ir.Value,
    indices_type: graph.TensorType,
    axis: int,
) -> ir.Value:
    """The elements of `x` at `indices` along `axis`, in place along the other axes."""
    _require_within(ctx, source, indices_type, axis)
    zero = scalar_constant(0, source.dtype)
    along = IndexedAxis(
        ctx, source.shape[axis], indices_type.dtype, graph.element_count(indices_type.shape)
    )

    def element(index: ir.Value) -> ir.Value:
        position = along.position(index)
        coordinates = [loop_index(loop) for loop in range(indices_type.rank)]
        coordinates[axis] = along.clamped(position)
        return arith.select(along.holds(position), tensor.extract(x, coordinates), zero)

    identity, result = (
        ir.AffineMap.get_identity(indices_type.rank),
        indices_type.with_dtype(source.dtype),
    )
    return _gathered(ctx, parallel([indices], [identity], ctx.empty(result), element), result)


def _gathered(ctx: Lowering, y: ir.Value, type_: graph.TensorType) -> ir.Value:
    """`y`, of `type_`, materialized on GPUs: otherwise the threads of a reduction that fuses it
    would exchange positions, for which SPIR-V has no memory."""
    return behind_barrier(ctx, y, type_) if ctx.gpu else y


def _require_within(
    ctx: Lowering, source: graph.TensorType, indices_type: graph.TensorType, axis: int
) -> None:
    """Require that `indices_type` is no larger than `source` except along `axis`."""
    for i, (have, wanted) in enumerate(zip(source.shape, indices_type.shape, strict=True)):
        if i != axis:
            ctx.require_at_least(have, wanted, f"has {wanted} indices along axis {i} of {have}")


@lowers(graph.GatherNdOp)
def gather_nd(ctx: Lowering, op: graph.GatherNdOp, x: ir.Value, indices: ir.Value) -> ir.Value:
    """Collapse the indexed axes to one, and gather along it by linear indices."""
    source, indices_type = graph.type_of(op.x), graph.type_of(op.indices)
    batch, depth = op.attrs["batch_dims"], indices_type.shape[-1]
    for have, wanted in zip(source.shape[:batch], indices_type.shape[:batch], strict=True):
        ctx.require_equal(have, wanted, f"has batches of {have} and {wanted}")
    rows, rows_type = _as_rows(ctx, x, source, batch + depth)
    numbers = _row_numbers(
        ctx, indices, indices_type, source.shape[: batch + depth], batch, outside=_NOWHERE
    )
    numbers_type = graph.TensorType(indices_type.shape[:-1], _I64)
    return _take_for(ctx, op, rows, rows_type, numbers, numbers_type, 0)


def _as_rows(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, axes: int
) -> tuple[ir.Value, graph.TensorType]:
    """`x` with its first `axes` axes collapsed to one."""
    count = graph.element_count(type_.shape[:axes])
    rows = type_.with_shape((count, *type_.shape[axes:]))
    return reshape_tensor(ctx, x, type_, rows), rows


def _row_numbers(
    ctx: Lowering,
    indices: ir.Value,
    indices_type: graph.TensorType,
    extents: Sequence[Size],
    batch: int,
    outside: int | None,
) -> ir.Value:
    """The linear index, over axes of `extents`, of each entry of `indices` (i64).

    The loops index the first `batch` extents, the last axis of `indices` the others. An entry out
    of range gives `outside`, or is clamped if that is None.
    """
    shape = indices_type.shape[:-1]
    result = graph.TensorType(shape, _I64)
    reads = graph.element_count(shape)
    axes = [IndexedAxis(ctx, extent, indices_type.dtype, reads) for extent in extents]
    sizes = [ctx.index(extent) for extent in extents]
    columns = [ctx.index(i) for i in range(len(extents) - batch)]
    element = plain_element(_I64)

    def number() -> ir.Value:
        loops = [loop_index(i) for i in range(len(shape))]
        total, inside = zero, true
        for i, axis in enumerate(axes):
            if i < batch:
                position = loops[i]
            else:
                found = tensor.extract(indices, [*loops, columns[i - batch]])
                position = axis.position(found)
                inside = arith.andi(inside, axis.holds(position))
                position = axis.clamped(position)
            total = arith.addi(arith.muli(total, sizes[i]), position)
        total = arith.index_cast(element, total)
        return total if missing is None else arith.select(inside, total, missing)

    zero, true = ctx.index(0), scalar_constant(True, np.dtype(np.bool_))
    missing = None if outside is None else scalar_constant(outside, _I64)
    return parallel([], [], ctx.empty(result), number)


@lowers(graph.ScatterElementsOp)
def scatter_elements(
    ctx: Lowering, op: graph.ScatterElementsOp, x: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    source, indices_type = graph.type_of(op.x), graph.type_of(op.indices)
    reduction, (count, *others) = op.attrs["reduction"], indices_type.shape
    if not others and _has_kernel(ctx, source, reduction, count):
        given = RowUpdates(op.x, source.shape, op.indices, op.updates, count, reduction)
        return _scatter_by_kernel(ctx, given)
    _require_within(ctx, source, indices_type, op.attrs["axis"])
    rows, rows_type = _as_rows(ctx, x, source, source.rank)
    numbers = _element_numbers(ctx, indices, indices_type, source.shape, op.attrs["axis"])
    numbers_type = indices_type.with_dtype(_I64)
    updates_type = graph.type_of(op.updates)
    rows = _put(
        ctx, rows, rows_type, numbers, numbers_type, updates, updates_type, op.attrs["reduction"]
    )
    return reshape_tensor(ctx, rows, rows_type, source)


def _element_numbers(
    ctx: Lowering,
    indices: ir.Value,
    indices_type: graph.TensorType,
    extents: Sequence[Size],
    axis: int,
) -> ir.Value:
    """The linear index of the element that each of `indices`, along `axis`, refers to (i64)."""
    along = IndexedAxis(
        ctx, extents[axis], indices_type.dtype, graph.element_count(indices_type.shape)
    )
    sizes = [ctx.index(extent) for extent in extents]
    zero, element = ctx.index(0), plain_element(_I64)

    def number(index: ir.Value) -> ir.Value:
        total = zero
        for i, size in enumerate(sizes):
            position = along.clamped(along.position(index)) if i == axis else loop_index(i)
            total = arith.addi(arith.muli(total, size), position)
        return arith.index_cast(element, total)

    identity, result = ir.AffineMap.get_identity(indices_type.rank), indices_type.with_dtype(_I64)
    return parallel([indices], [identity], ctx.empty(result), number)


@lowers(graph.ScatterNdOp)
def scatter_nd(
    ctx: Lowering, op: graph.ScatterNdOp, x: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    source, indices_type = graph.type_of(op.x), graph.type_of(op.indices)
    depth = graph.static_size(indices_type.shape[-1])
    count = graph.element_count(indices_type.shape[:-1])
    given = RowUpdates(
        op.x, source.shape[:depth], op.indices, op.updates, count, op.attrs["reduction"]
    )
    if _has_kernel(ctx, source, given.reduction, count):
        return _scatter_by_kernel(ctx, given)
    rows, rows_type = _as_rows(ctx, x, source, depth)
    numbers = _row_numbers(ctx, indices, indices_type, source.shape[:depth], 0, outside=None)
    numbers_type = graph.TensorType(indices_type.shape[:-1], _I64)
    updates_type = graph.type_of(op.updates)
    rows = _put(
        ctx, rows, rows_type, numbers, numbers_type, updates, updates_type, op.attrs["reduction"]
    )
    return reshape_tensor(ctx, rows, rows_type, source)


def _as_static_as(
    ctx: Lowering, numbers: ir.Value, type_: graph.TensorType, updates: graph.TensorType
) -> tuple[ir.Value, graph.TensorType]:
    """`numbers` with the static sizes of `updates`, which has the same leading axes.

    The backend requires that the operands of a scatter agree on which sizes are static.
    """
    shape = list(type_.shape)
    for axis, (size, stated) in enumerate(zip(type_.shape, updates.shape, strict=False)):
        if isinstance(stated, int) and not isinstance(size, int):
            ctx.require_equal(size, stated, f"has {stated} updates for {size} positions")
            shape[axis] = stated
    known = type_.with_shape(shape)
    return ctx.cast(numbers, known), known


def _has_kernel(ctx: Lowering, x: graph.TensorType, reduction: str, count: Size) -> bool:
    """Return whether the kernel scatters `count` rows to a tensor like `x`, none of them empty."""
    return count != 0 and 0 not in x.shape and has_row_kernel(ctx, x.dtype, reduction)


def _scatter_by_kernel(ctx: Lowering, given: RowUpdates) -> ir.Value:
    """Check the sizes of the updates, and scatter them by the kernel."""
    have = graph.element_count(graph.type_of(given.updates).shape)
    wanted = given.count * graph.element_count(given.row)
    ctx.require_equal(have, wanted, f"has {have} elements of updates for {wanted} positions")
    for extent in given.extents:
        require_not_empty(ctx, extent, given.count)
    return scatter_rows(ctx, given)


def _put(
    ctx: Lowering,
    rows: ir.Value,
    rows_type: graph.TensorType,
    numbers: ir.Value,
    numbers_type: graph.TensorType,
    updates: ir.Value,
    updates_type: graph.TensorType,
    reduction: str,
) -> ir.Value:
    """Scatter `updates` to the rows `numbers` of `rows`, in order."""
    numbers, numbers_type = _as_static_as(ctx, numbers, numbers_type, updates_type)
    count = graph.element_count(numbers_type.shape)
    if count == 0 or 0 in rows_type.shape:
        return rows
    column = numbers_type.with_shape((count, 1))
    numbers = reshape_tensor(ctx, numbers, numbers_type, column)
    flat = updates_type.with_shape((count, *rows_type.shape[1:]))
    given, wanted = (graph.element_count(type_.shape) for type_ in (updates_type, flat))
    ctx.require_equal(given, wanted, f"has {given} elements of updates for {wanted} positions")
    updates = reshape_tensor(ctx, updates, updates_type, flat)

    def combine(update: ir.Value, element: ir.Value) -> ir.Value:
        if reduction == "none":
            return update
        return apply_number_rule(COMBINE[reduction], rows_type.dtype, element, update)

    numbers = materialized(ctx, numbers, column)
    # If the rows are also the updates, the backend would copy them to its stack, or, if their
    # static sizes differ, not at all: it would then read elements that it has already written.
    updates = copy(updates) if share_memory(updates, rows) else materialized(ctx, updates, flat)
    rows = updated_in_place(ctx, rows, rows_type)
    return in_own_dispatch(
        ctx, rows_type, lambda: iree.scatter(updates, numbers, rows, [0], combine)
    )
