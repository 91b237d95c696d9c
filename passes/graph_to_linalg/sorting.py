"""Top-k and sorting: by a kernel on CPUs that kernels are written for, else by a heap. Rows of
several elements are sorted by a heap."""

import functools
from collections.abc import Sequence

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...dialects.symbolic import minimum
from ...mlir import arith, ir, tensor, vector
from ..kernels.selected_row import DIGITS, capacity_of
from ..kernels.sorting import RowSelection
from .dispatch import behind_barrier, in_own_dispatch
from .generic import loop_index, parallel, projection
from .indexing import take_elements
from .kernel_calls import define
from .loops import for_each, for_range, if_, while_
from .lowering import Lowering, Size, lowers, plain_element, plain_type, scalar_constant
from .movement import reshape_tensor, transpose_tensor
from .rank_sorting import order_rows_by_rank, select_by_rank
from .scalar import convert_scalar
from .scratch import uses_scratch

_I32 = np.dtype(np.int32)
_I64 = np.dtype(np.int64)


@lowers(graph.TopKOp)
def top_k(ctx: Lowering, op: graph.TopKOp, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    source, (values, indices) = graph.type_of(op.x), map(graph.type_of, op.operation.results)
    if 0 in values.shape:
        return ctx.empty(values), ctx.empty(indices)
    axis = op.attrs["axis"]
    _require_as_many(ctx, indices.shape[axis], source.shape[axis])
    if ctx.cpu.has_vectors:
        order = _select_by_kernel(ctx, x, source, op.attrs["largest"], indices, axis)
    else:
        keys, key_type = _keys(ctx, x, source, op.attrs["largest"])
        select = select_by_rank if ctx.gpu else _select_by_heap
        order = select(ctx, keys, key_type, indices, axis)
    return take_elements(ctx, x, source, order, indices, axis), order


def _require_as_many(ctx: Lowering, k: Size, extent: Size) -> None:
    fits = arith.cmpi(arith.CmpIPredicate.ule, ctx.index(k), ctx.index(extent))
    ctx.require(fits, f"takes {k} elements of an axis of {extent}")


@lowers(graph.ArgsortRowsOp)
def argsort_rows(ctx: Lowering, op: graph.ArgsortRowsOp, x: ir.Value) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    ctx.require_at_least(source.shape[1], 1, "sorts rows of no elements")
    if source.shape[1] == 1 and ctx.cpu.has_vectors:
        column = source.with_shape(source.shape[:1])
        x = reshape_tensor(ctx, x, source, column)
        return _select_by_kernel(ctx, x, column, False, result, 0)
    keys, key_type = _keys(ctx, x, source, largest=False)
    if ctx.gpu:
        return order_rows_by_rank(ctx, keys, key_type, result)
    return _Selection(ctx, keys, key_type, result, 0, _RowOfMatrix).build()


@lowers(graph.OrderCandidatesOp)
def order_candidates(
    ctx: Lowering,
    op: graph.OrderCandidatesOp,
    x: ir.Value,
    counts: ir.Value,
    threshold: ir.Value | None,
) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    axis = source.rank - 1
    if ctx.cpu.has_vectors:
        return _select_by_kernel(ctx, x, source, True, result, axis, counts, threshold)
    keys, key_type = _keys(ctx, x, source, largest=True)
    order = (select_by_rank if ctx.gpu else _select_by_heap)(ctx, keys, key_type, result, axis)

    def limited(position: ir.Value, count: ir.Value) -> ir.Value:
        number = arith.index_cast(plain_element(_I64), loop_index(axis))
        is_wanted = arith.cmpi(arith.CmpIPredicate.slt, number, count)
        return arith.select(is_wanted, position, scalar_constant(-1, _I64))

    maps = [ir.AffineMap.get_identity(source.rank), projection(source.rank, [*range(axis)])]
    return parallel([order, counts], maps, ctx.empty(result), limited)


_WORKGROUPS = 8
"""At most, each of which has scratch memory for a row."""


def _scratch(
    source: graph.TensorType, rows: Size, count: Size, wanted: Size
) -> list[graph.TensorType]:
    """Scratch memory of the kernel: keys, positions and counters, see `RowSelection`."""
    workgroups = minimum(rows, _WORKGROUPS)
    candidates = workgroups * capacity_of(count, wanted) * 2
    dtypes = _unsigned_key_dtype(source.dtype), _I32, _I32
    sizes = candidates, candidates, workgroups * DIGITS
    return [graph.TensorType((n,), dtype) for n, dtype in zip(sizes, dtypes, strict=True)]


@uses_scratch(graph.TopKOp)
def top_k_scratch(op: graph.TopKOp, cpu: CpuModel) -> list[graph.TensorType]:
    source = graph.type_of(op.x)
    if not cpu.has_vectors:
        return []
    return _scratch(source, _rows(source, op.axis), source.shape[op.axis], op.k)


@uses_scratch(graph.OrderCandidatesOp)
def order_scratch(op: graph.OrderCandidatesOp, cpu: CpuModel) -> list[graph.TensorType]:
    source = graph.type_of(op.x)
    *rows, count = source.shape
    return _scratch(source, graph.element_count(rows), count, count) if cpu.has_vectors else []


@uses_scratch(graph.ArgsortRowsOp)
def argsort_scratch(op: graph.ArgsortRowsOp, cpu: CpuModel) -> list[graph.TensorType]:
    source = graph.type_of(op.x)
    rows, columns = source.shape
    return _scratch(source, 1, rows, rows) if columns == 1 and cpu.has_vectors else []


def _rows(type_: graph.TensorType, axis: int) -> Size:
    return graph.element_count([size for i, size in enumerate(type_.shape) if i != axis])


def _select_by_kernel(
    ctx: Lowering,
    x: ir.Value,
    source: graph.TensorType,
    largest: bool,
    result: graph.TensorType,
    axis: int,
    limits: ir.Value | None = None,
    threshold: ir.Value | None = None,
) -> ir.Value:
    """The positions of the first elements along `axis`, of type `result`; no more than `limits` of
    each row, and none that is not before the `threshold`, if these are given."""
    bounds = [each for each in (limits, threshold) if each is not None]
    perm = [*(i for i in range(source.rank) if i != axis), axis]
    rows, count, wanted = _rows(source, axis), source.shape[axis], result.shape[axis]
    scratch = _scratch(source, rows, count, wanted)
    flat = result.with_shape((graph.element_count(result.shape),))
    types = [flat, *scratch]
    sizes = [minimum(rows, _WORKGROUPS), rows, count, wanted, capacity_of(count, wanted)]
    scalars = [ctx.index(size) for size in sizes]
    order, *_ = iree.run_kernel(
        _selection(ctx, source.dtype, largest, limits is not None, threshold is not None),
        scalars[0],
        [transpose_tensor(ctx, x, source, perm), *bounds],
        list(map(plain_type, types)),
        scalars,
        [size for each in types for size in ctx.dynamic_sizes(each)],
    )
    turned = result.with_shape(result.shape[i] for i in perm)
    order = reshape_tensor(ctx, order, flat, turned)
    return transpose_tensor(ctx, order, turned, [perm.index(i) for i in range(source.rank)])


def _selection(
    ctx: Lowering, dtype: np.dtype, largest: bool, is_limited: bool, is_bounded: bool
) -> str:
    """The name of the kernel for elements of `dtype`."""
    key_dtype = _unsigned_key_dtype(dtype)
    has_vectors = dtype.itemsize == key_dtype.itemsize  # nothing is converted
    kernel = RowSelection(
        key_dtype.itemsize * 8,
        lambda x: _unsigned_key(x, dtype, largest),
        4 * ctx.cpu.lanes // key_dtype.itemsize if has_vectors else 1,
        is_limited,
        is_bounded,
    )
    elements, keys = plain_element(dtype), plain_element(key_dtype)
    i32, i64 = plain_element(_I32), plain_element(_I64)
    workgroups, rows, count, wanted, capacity = range(5)
    memory = [
        iree.Buffer(elements, 1, (rows, count)),
        *([iree.Buffer(i64, 1, (rows,))] if is_limited else []),
        *([iree.Buffer(elements, 1)] if is_bounded else []),
        iree.Buffer(i64, 1, (rows, wanted)),
        iree.Buffer(keys, 2, (workgroups, capacity)),
        iree.Buffer(i32, 2, (workgroups, capacity)),
        iree.Buffer(i32, DIGITS, (workgroups,)),
    ]
    key = (dtype, largest, is_limited, is_bounded)
    return define(ctx, "select_rows", key, memory, kernel.write, 0, 5)


def _unsigned_key_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"i{max(dtype.itemsize, 4)}")


def _unsigned_key(x: ir.Value, dtype: np.dtype, largest: bool) -> ir.Value:
    """A key that as an unsigned integer is smaller the earlier `x` comes; a vector of them for
    vectors of types that have keys of their own size."""
    key_dtype = _unsigned_key_dtype(dtype)
    key = convert_scalar(_key(x, dtype, largest), _key_dtype(dtype), key_dtype)
    return arith.xori(key, _constant(x, np.iinfo(key_dtype).max, key_dtype))


def _constant(x: ir.Value, value: int, dtype: np.dtype) -> ir.Value:
    """The number `value`, or a vector of it if `x` is a vector."""
    number = scalar_constant(value, dtype)
    if not isinstance(x.type, ir.VectorType):
        return number
    return vector.broadcast(ir.VectorType.get(ir.VectorType(x.type).shape, number.type), number)


def _keys(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, largest: bool
) -> tuple[ir.Value, graph.TensorType]:
    """The sort keys of the elements of `x`, materialized, and their type."""
    type_ = source.with_dtype(_key_dtype(source.dtype))
    identity = ir.AffineMap.get_identity(source.rank)

    def build() -> ir.Value:
        empty = ctx.empty(type_)
        return parallel([x], [identity], empty, lambda e: _key(e, source.dtype, largest))

    if ctx.gpu:  # for which the backend fails at a dispatch that copies, as that of integers does
        return behind_barrier(ctx, build(), type_), type_
    return in_own_dispatch(ctx, type_, build), type_


def _key_dtype(dtype: np.dtype) -> np.dtype:
    """The signed integer type that holds sort keys of elements of `dtype`."""
    return np.dtype(f"i{max(dtype.itemsize, 4 if graph.is_float(dtype) else 1)}")


def _key(x: ir.Value, dtype: np.dtype, largest: bool) -> ir.Value:
    """An integer, inside a body, that is larger the earlier `x` comes in the order."""
    key_dtype = _key_dtype(dtype)
    info = np.iinfo(key_dtype)
    if graph.is_float(dtype):
        key = _float_key(x, dtype, key_dtype)
    elif graph.is_unsigned(dtype):
        key = arith.xori(x, _constant(x, info.min, key_dtype))
    else:
        key = x
    return key if largest else arith.xori(key, _constant(x, -1, key_dtype))


def _float_key(x: ir.Value, dtype: np.dtype, key_dtype: np.dtype) -> ir.Value:
    """The bits of `x`, mapped to compare as integers; NaN is the largest, and -0 equals 0."""
    info = np.iinfo(key_dtype)
    wide = np.dtype(f"f{key_dtype.itemsize}")
    x = convert_scalar(x, dtype, wide)
    nan = arith.cmpf(arith.CmpFPredicate.UNO, x, x)
    most = _constant(x, info.max, key_dtype)
    bits = arith.bitcast(most.type, arith.addf(x, _constant(x, 0, wide)))
    sign = arith.shrsi(bits, _constant(x, info.bits - 1, key_dtype))
    ordered = arith.xori(bits, arith.andi(sign, most))
    return arith.select(nan, most, ordered)


def _select_by_heap(
    ctx: Lowering,
    keys: ir.Value,
    key_type: graph.TensorType,
    result: graph.TensorType,
    axis: int,
) -> ir.Value:
    return _Selection(ctx, keys, key_type, result, axis).build()


class _Selection:
    """Builds one dispatch that finds the positions of the first elements along an axis.

    For each row, the positions found so far form a heap in the result itself, whose root is the one
    that comes last in the order; a better element replaces the root. In the end the heap is sorted
    in place.
    """

    def __init__(
        self,
        ctx: Lowering,
        keys: ir.Value,
        keys_type: graph.TensorType,
        result: graph.TensorType,
        axis: int,
        row: "type[_Row] | None" = None,
    ):
        self.row = row or _Row
        self.columns = ctx.index(keys_type.shape[-1])
        extent, k = keys_type.shape[axis], result.shape[axis]
        self.ctx, self.keys, self.result, self.axis = ctx, keys, result, axis
        self.extent, self.k = ctx.index(extent), ctx.index(k)
        # The backend collapses unit axes of what loops update, outside of the loops. So the result
        # is flat, and has more than one element.
        count = graph.element_count(result.shape)
        self.flat = result.with_shape((2 if count == 1 else count,))
        self.sizes = ctx.mixed(self.flat.shape)
        self.strides = [
            ctx.index(graph.element_count(result.shape[i + 1 :])) for i in range(result.rank)
        ]
        self.outer = [ctx.index(size) for i, size in enumerate(result.shape) if i != axis]
        self.zero, self.one, self.two = (ctx.index(i) for i in range(3))
        none = arith.cmpi(arith.CmpIPredicate.eq, self.k, self.zero)
        self.candidates = arith.select(none, self.zero, self.extent)

    def build(self) -> ir.Value:
        dynamic = [size for size in self.sizes if isinstance(size, ir.Value)]
        flat = iree.dispatch_region(plain_type(self.flat), dynamic, self._all_rows)
        if graph.element_count(self.result.shape) == 1:
            # Read at an opaque position: the backend fails at reshapes of one-element slices.
            first, empty = iree.optimization_barrier(self.zero), self.ctx.empty(self.result)
            return parallel([], [], empty, lambda: tensor.extract(flat, [first]))
        return reshape_tensor(self.ctx, flat, self.flat, self.result)

    def _all_rows(self) -> ir.Value:
        empty = tensor.empty(self.sizes, plain_element(_I64))
        return for_each(self.outer, empty, self._row)

    def _row(self, outer: list[ir.Value], heap: ir.Value) -> ir.Value:
        row = self.row(self, outer)
        heap = for_range(self.k, heap, lambda i, heap: row.put(heap, i, row.as_element(i)))
        half = arith.divui(self.k, self.two)
        heap = for_range(half, heap, lambda i, heap: row.sift(heap, _minus(half, i), self.k))
        heap = for_range(self.candidates, heap, row.offer, start=self.k)
        return for_range(self.k, heap, lambda i, heap: row.retire(heap, _minus(self.k, i)))


def _minus(count: ir.Value, i: ir.Value) -> ir.Value:
    """``count - 1 - i``."""
    one = arith.constant(ir.IndexType.get(), 1)
    return arith.subi(arith.subi(count, one), i)


class _Row:
    """The heap of one row; its methods return the updated tensor."""

    def __init__(self, selection: _Selection, outer: Sequence[ir.Value]):
        self.all, self.outer = selection, list(outer)
        self.first = self._offset(selection.zero)

    def _at(self, position: ir.Value) -> list[ir.Value]:
        return [*self.outer[: self.all.axis], position, *self.outer[self.all.axis :]]

    def _offset(self, slot: ir.Value) -> ir.Value:
        pairs = zip(self._at(slot), self.all.strides, strict=True)
        return functools.reduce(arith.addi, (arith.muli(at, stride) for at, stride in pairs))

    def _slot(self, slot: ir.Value) -> list[ir.Value]:
        stride = self.all.strides[self.all.axis]
        return [arith.addi(self.first, arith.muli(slot, stride))]

    def as_element(self, position: ir.Value) -> ir.Value:
        return arith.index_cast(plain_element(_I64), position)

    def get(self, heap: ir.Value, slot: ir.Value) -> ir.Value:
        return tensor.extract(heap, self._slot(slot))

    def put(self, heap: ir.Value, slot: ir.Value, element: ir.Value) -> ir.Value:
        return tensor.insert(element, heap, self._slot(slot))

    def _key(self, element: ir.Value) -> ir.Value:
        position = arith.index_cast(ir.IndexType.get(), element)
        return tensor.extract(self.all.keys, self._at(position))

    def _later(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """True (an i1) if element `a` comes after `b`: its key is less, or equal at a later
        position."""
        predicate = arith.CmpIPredicate
        key_a, key_b = self._key(a), self._key(b)
        tie = arith.andi(arith.cmpi(predicate.eq, key_a, key_b), arith.cmpi(predicate.sgt, a, b))
        return arith.ori(arith.cmpi(predicate.slt, key_a, key_b), tie)

    def offer(self, position: ir.Value, heap: ir.Value) -> ir.Value:
        """Replace the root by the element at `position` if that comes before it."""
        new, root = self.as_element(position), self.get(heap, self.all.zero)
        better = self._later(root, new)
        return if_(
            better,
            heap,
            lambda: self.sift(self.put(heap, self.all.zero, new), self.all.zero, self.all.k),
        )

    def retire(self, heap: ir.Value, last: ir.Value) -> ir.Value:
        """Move the root, the last in the order, to slot `last`; the heap then ends before it."""
        root, other = self.get(heap, self.all.zero), self.get(heap, last)
        heap = self.put(self.put(heap, self.all.zero, other), last, root)
        return self.sift(heap, self.all.zero, last)

    def sift(self, heap: ir.Value, slot: ir.Value, end: ir.Value) -> ir.Value:
        """Sift the element in `slot` down until no child, before `end`, comes later."""
        predicate = arith.CmpIPredicate

        def left(slot: ir.Value) -> ir.Value:
            return arith.addi(arith.muli(slot, self.all.two), self.all.one)

        def more(heap: ir.Value, slot: ir.Value, active: ir.Value) -> ir.Value:
            return arith.andi(active, arith.cmpi(predicate.ult, left(slot), end))

        def step(heap: ir.Value, slot: ir.Value, active: ir.Value) -> list[ir.Value]:
            first = left(slot)
            second = arith.addi(first, self.all.one)
            second = arith.select(arith.cmpi(predicate.ult, second, end), second, first)
            a, b, own = (self.get(heap, s) for s in (first, second, slot))
            take_b = self._later(b, a)
            child, below = arith.select(take_b, second, first), arith.select(take_b, b, a)
            swap = self._later(below, own)
            heap = self.put(heap, slot, arith.select(swap, below, own))
            heap = self.put(heap, child, arith.select(swap, own, below))
            return [heap, child, swap]

        active = scalar_constant(True, np.dtype(np.bool_))
        return while_([heap, slot, active], more, step)[0]


class _RowOfMatrix(_Row):
    """A heap of rows of a matrix, in lexicographic order."""

    def _later(self, a: ir.Value, b: ir.Value) -> ir.Value:
        predicate, one = arith.CmpIPredicate, self.all.one
        row_a, row_b = (arith.index_cast(ir.IndexType.get(), row) for row in (a, b))

        def keys(column: ir.Value) -> list[ir.Value]:
            return [tensor.extract(self.all.keys, [row, column]) for row in (row_a, row_b)]

        def alike(column: ir.Value, same: ir.Value) -> ir.Value:
            within = arith.cmpi(predicate.ult, column, self.all.columns)
            return arith.andi(same, within)

        def compare(column: ir.Value, same: ir.Value) -> list[ir.Value]:
            del same
            equal = arith.cmpi(predicate.eq, *keys(column))
            return [arith.select(equal, arith.addi(column, one), column), equal]

        true = scalar_constant(True, np.dtype(np.bool_))
        column, same = while_([self.all.zero, true], alike, compare)
        behind = arith.subi(self.all.columns, one)
        key_a, key_b = keys(arith.minsi(column, behind))
        tie = arith.andi(same, arith.cmpi(predicate.sgt, a, b))
        return arith.ori(arith.cmpi(predicate.slt, key_a, key_b), tie)
