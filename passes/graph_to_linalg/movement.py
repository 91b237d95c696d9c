"""Data movement: reshape, transpose, expand, concatenate, slice, pad."""

from collections.abc import Sequence

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim, at_least
from ...mlir import arith, ir, linalg, tensor
from .concat_kernel import (
    concat_by_kernel,
    is_joined_by_reader,
    is_sliced_by_kernel,
    slice_by_kernel,
)
from .dispatch import VIEWS, behind_barrier, follows_reduction, is_windowed
from .generic import fill, loop_index, parallel, projection
from .loops import if_
from .lowering import Fusion, Lowering, Size, lowers, plain_type
from .split_kernel import split_by_kernel
from .strided_rows import is_sliced_by_runs, slice_strided_rows
from .transpose_kernel import is_for_kernel, transpose_by_kernel
from .unit_axes import common_ones, is_stored_before, with_axes, without_axes


@lowers(graph.ReshapeOp)
def reshape(ctx: Lowering, op: graph.ReshapeOp, x: ir.Value) -> ir.Value:
    source, target = graph.type_of(op.x), graph.type_of(op.result)
    have, want = graph.element_count(source.shape), graph.element_count(target.shape)
    ctx.require_equal(have, want, f"{have} elements do not reshape to {want}")
    return reshape_tensor(ctx, x, source, target)


def reshape_tensor(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Reshape `x` from `source` to `target`: collapse the axes that merge, expand those that split.

    Both types have the same number of elements, which is not checked here.
    """
    if source.shape == target.shape:
        return x
    if 0 in target.shape:
        return ctx.empty(target)
    if not source.rank or not target.rank:
        return _reshape_scalar(ctx, x, source, target)
    groups = graph.reassociation(source.shape, target.shape)
    middle: list[Size] = [graph.element_count([source.shape[a] for a in old]) for old, _ in groups]
    if any(len(old) != 1 for old, _ in groups):
        collapsed = plain_type(source.with_shape(middle))
        x = tensor.collapse_shape(collapsed, x, [old for old, _ in groups])
    if all(len(new) == 1 for _, new in groups):
        return ctx.cast(x, target)
    counts = [graph.element_count([target.shape[a] for a in new]) for _, new in groups]
    x = ctx.cast(x, target.with_shape(counts))  # as static as its expansion
    return _expand(ctx, x, target, [new for _, new in groups])


def _reshape_scalar(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Reshape a tensor of one element, from or to rank 0."""
    if source.rank:
        x = ctx.cast(x, source.with_shape([1] * source.rank))
        x = tensor.collapse_shape(plain_type(source.with_shape([])), x, [])
    if target.rank:
        ones = [1] * target.rank
        x = tensor.expand_shape(plain_type(target.with_shape(ones)), x, [], [], ones)
    return ctx.cast(x, target)


def _expand(
    ctx: Lowering, x: ir.Value, target: graph.TensorType, groups: Sequence[Sequence[int]]
) -> ir.Value:
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [size if isinstance(size, int) else dynamic for size in target.shape]
    sizes = [ctx.index(size) for size in target.shape if isinstance(size, Dim)]
    return tensor.expand_shape(plain_type(target), x, groups, sizes, static)


def _fusion_of_transpose(op: graph.TransposeOp) -> Fusion:
    return Fusion.NONE if is_for_kernel(op) else Fusion.PRODUCER | Fusion.CONSUMER


@lowers(graph.TransposeOp, fuses=_fusion_of_transpose)
def transpose(ctx: Lowering, op: graph.TransposeOp, x: ir.Value) -> ir.Value:
    if (y := transpose_by_kernel(ctx, op, x)) is not None:
        return y
    return transpose_tensor(ctx, x, graph.type_of(op.x), op.attrs["perm"])


def transpose_tensor(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, perm: Sequence[int]
) -> ir.Value:
    """Transpose `x`, of `type_`: axis ``i`` of the result is its axis ``perm[i]``.

    A matmul whose columns become rows is materialized first. The backend would transpose each tile
    in registers, element by element. Measured for 256x256x256: 2 ms, and with the copy 0.7 ms; with
    dynamic sizes, 17 s to compile and 1.7 ms to run, and with the copy 2 s and 0.7 ms. On CPUs, so
    is every matmul, such as that of 12 heads whose rows then interleave: 2.1 ms for 128x128x64, and
    with the copy 0.8 ms. The result of a loop with two results, as in a softmax, is materialized
    too: the backend would transpose one of them within the loop, and fails. So is
    what follows a reduction, of unknown columns that become rows: SPIR-V has no vectors for it.
    """
    axes = list(perm)
    if axes == sorted(axes):
        return x
    swaps_columns = axes[-1] != len(axes) - 1
    unknown_columns = swaps_columns and isinstance(type_.shape[-1], Dim)
    if (
        ((swaps_columns or not ctx.gpu) and _is_product(x))
        or _is_from_two_results(x)
        or (ctx.gpu and unknown_columns and follows_reduction(x))
    ):
        x = behind_barrier(ctx, x, type_)
    output = ctx.empty(type_.with_shape(type_.shape[axis] for axis in axes))
    return linalg.transpose(x, outs=[output], permutation=axes).operation.results[0]


def _is_from_two_results(x: ir.Value) -> bool:
    """Return whether `x` is one of several results of a loop, or computed from one by generics and
    views."""
    seen, pending = set(), [x]
    while pending:
        x = pending.pop()
        if x in seen or isinstance(x.owner, ir.Block):
            continue
        seen.add(x)
        op = x.owner.operation
        if op.name in VIEWS:
            pending.append(op.operands[0])
        elif op.name == "linalg.generic":
            if len(op.results) > 1:
                return True
            pending += op.operands
    return False


def _is_product(x: ir.Value) -> bool:
    """Return whether `x` is a matmul, possibly followed by one generic."""
    epilogues = 0
    pending = [x]
    while pending:
        x = pending.pop()
        if isinstance(x.owner, ir.Block):
            continue
        op = x.owner.operation
        if op.name in ("linalg.matmul", "linalg.batch_matmul"):
            return True
        if op.name in VIEWS:
            pending.append(op.operands[0])
        elif op.name == "linalg.generic" and not epilogues:
            epilogues += 1
            pending += op.operands
    return False


@lowers(graph.RepeatOp)
def repeat(ctx: Lowering, op: graph.RepeatOp, x: ir.Value) -> ir.Value:
    """Broadcast along an axis of its own behind each repeated axis, which then merges with it."""
    source, loops, sizes = graph.type_of(op.x), list[int | None](), list[Size]()
    for size, count in zip(source.shape, op.repeats, strict=True):
        loops.append(len(sizes))
        sizes += [size] if count == 1 else [size, count]
    split = source.with_shape(sizes)
    indexing = projection(split.rank, loops)
    repeated = parallel([x], [indexing], ctx.empty(split), lambda element: element)
    return reshape_tensor(ctx, repeated, split, graph.type_of(op.result))


def _fusion_of_concat(op: graph.ConcatOp) -> Fusion:
    return Fusion.PRODUCER if is_joined_by_reader(op) else Fusion.NONE


@lowers(graph.ConcatOp, fuses=_fusion_of_concat)
def concat(ctx: Lowering, op: graph.ConcatOp, xs: Sequence[ir.Value]) -> ir.Value:
    """Insert each operand into the result, constants last: if they come first, the backend keeps a
    result that contains them, and copies all of it in each run."""
    type_, axis = graph.type_of(op.result), op.attrs["axis"]
    parts: list[tuple[bool, ir.Value, list[Size], Sequence[Size]]] = []
    start: Size = 0
    for x, value in zip(xs, op.xs, strict=True):
        shape = graph.type_of(value).shape
        for other in range(type_.rank):
            if other != axis:
                message = f"joins sizes {type_.shape[other]} and {shape[other]} of axis {other}"
                ctx.require_equal(type_.shape[other], shape[other], message)
        offsets: list[Size] = [0] * type_.rank
        offsets[axis] = start
        is_constant = isinstance(graph.graph_op(value.owner), graph.ConstantOp)
        parts.append((is_constant, x, offsets, shape))
        start = start + shape[axis]
    if (y := concat_by_kernel(ctx, op, xs)) is not None:
        return y
    result = ctx.empty(type_)
    for _, x, offsets, shape in sorted(parts, key=lambda part: part[0]):
        result = insert_slice(ctx, x, result, offsets, shape)
    return result


def _fusion_of_slice(op: graph.SliceOp) -> Fusion:
    by_kernel = is_sliced_by_kernel(op) or is_sliced_by_runs(op)
    return Fusion.NONE if by_kernel else Fusion.PRODUCER


@lowers(graph.SliceOp, fuses=_fusion_of_slice)
def slice_(ctx: Lowering, op: graph.SliceOp, x: ir.Value) -> ir.Value:
    for by_kernel in (split_by_kernel, slice_by_kernel, slice_strided_rows):
        if (y := by_kernel(ctx, op)) is not None:
            return y
    attrs = op.attrs
    starts, sizes, steps = attrs["starts"], attrs["sizes"], attrs["steps"]
    if 0 in sizes:
        return ctx.empty(graph.type_of(op.result))
    if all(step > 0 for step in steps):
        return extract_slice(ctx, x, starts, sizes, steps, graph.type_of(op.result))
    first = [ctx.index(start) for start in starts]
    strides = [ctx.index(step) for step in steps]
    return _elements_at(ctx, x, first, strides, graph.type_of(op.result))


@lowers(graph.DynamicSliceOp)
def dynamic_slice(
    ctx: Lowering, op: graph.DynamicSliceOp, x: ir.Value, starts: ir.Value, steps: ir.Value
) -> ir.Value:
    rank = graph.type_of(op.x).rank
    first, strides = _entries(ctx, starts, rank), _entries(ctx, steps, rank)
    return _elements_at(ctx, x, first, strides, graph.type_of(op.result))


def _elements_at(
    ctx: Lowering,
    x: ir.Value,
    first: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    type_: graph.TensorType,
) -> ir.Value:
    """Build a tensor of `type_` from the elements of `x` from `first` on, `strides` apart."""

    def element() -> ir.Value:
        indices = []
        for axis in range(type_.rank):
            offset = arith.muli(loop_index(axis), strides[axis])
            indices.append(arith.addi(first[axis], offset))
        return tensor.extract(x, indices)

    return parallel([], [], ctx.empty(type_), element)


@lowers(graph.DynamicPadOp)
def dynamic_pad(
    ctx: Lowering, op: graph.DynamicPadOp, x: ir.Value, value: ir.Value, low: ir.Value
) -> ir.Value:
    """Read from the clamped position, and select between the element and the padding."""
    type_, extents = graph.type_of(op.result), graph.type_of(op.x).shape
    before, sizes = _entries(ctx, low, type_.rank), [ctx.index(extent) for extent in extents]
    last = [ctx.index(extent - 1) for extent in extents]
    zero, true = ctx.index(0), ctx.scalar(True, np.dtype(np.bool_))
    output = ctx.empty(type_)

    def element(outside: ir.Value) -> ir.Value:
        coordinates, exists = [], true
        for axis in range(type_.rank):
            coordinate = arith.subi(loop_index(axis), before[axis])
            inside = arith.cmpi(arith.CmpIPredicate.ult, coordinate, sizes[axis])
            exists = arith.andi(exists, inside)
            coordinates.append(arith.maxsi(arith.minsi(coordinate, last[axis]), zero))
        return arith.select(exists, tensor.extract(x, coordinates), outside)

    def padded() -> ir.Value:
        return parallel([value], [projection(type_.rank, [])], output, element)

    if all(at_least(extent, 1) for extent in extents):
        return padded()
    count = ctx.index(graph.element_count(extents))
    some = arith.cmpi(arith.CmpIPredicate.ne, count, zero)
    return if_(some, fill(tensor.extract(value, []), output), padded)


def _entries(ctx: Lowering, x: ir.Value, count: int) -> list[ir.Value]:
    """The first elements of an integer tensor of rank 1, as index values."""
    at = [ctx.index(i) for i in range(count)]
    return [arith.index_cast(ir.IndexType.get(), tensor.extract(x, [i])) for i in at]


def _split_sizes(
    ctx: Lowering, sizes: Sequence[Size | ir.Value]
) -> tuple[list[ir.Value], list[int]]:
    """Split sizes into MLIR's dynamic operands and static attribute."""
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [size if isinstance(size, int) else dynamic for size in sizes]
    others = [size for size in sizes if not isinstance(size, int)]
    return [size if isinstance(size, ir.Value) else ctx.index(size) for size in others], static


def extract_slice(
    ctx: Lowering,
    x: ir.Value,
    offsets: Sequence[Size | ir.Value],
    sizes: Sequence[Size],
    strides: Sequence[int],
    type_: graph.TensorType,
) -> ir.Value:
    """``tensor.extract_slice`` of `x`, of type `type_`; an empty slice is an empty tensor."""
    if 0 in type_.shape:
        return ctx.empty(type_)
    offset_values, static_offsets = _split_sizes(ctx, offsets)
    size_values, static_sizes = _split_sizes(ctx, sizes)
    return tensor.extract_slice(
        plain_type(type_), x, offset_values, size_values, [],
        static_offsets, static_sizes, list(strides),
    )  # fmt: skip


def insert_slice(
    ctx: Lowering,
    x: ir.Value,
    into: ir.Value,
    offsets: Sequence[Size],
    sizes: Sequence[Size],
) -> ir.Value:
    """``tensor.insert_slice`` of `x` into `into`; with an empty tensor nothing is inserted.

    Convolutions and reductions of dynamic size are materialized first: the backend computes them in
    place, and writes out of bounds.
    """
    if 0 in sizes or 0 in ir.RankedTensorType(into.type).shape:
        return into
    if ones := common_ones(x, into):
        starts, extents = (
            [size for axis, size in enumerate(each) if axis not in ones]
            for each in (offsets, sizes)
        )
        x, into = (without_axes(each, ones) for each in (x, into))
        return with_axes(insert_slice(ctx, x, into, starts, extents), ones)
    offset_values, static_offsets = _split_sizes(ctx, offsets)
    size_values, static_sizes = _split_sizes(ctx, sizes)
    is_unknown = not ir.RankedTensorType(x.type).has_static_shape
    if (is_unknown and is_windowed(x)) or is_stored_before(x, into):
        x = iree.compute_barrier(x, iree.dynamic_sizes(x))
    return tensor.insert_slice(
        x, into, offset_values, size_values, [],
        static_offsets, static_sizes, [1] * len(sizes),
    )  # fmt: skip


def pad_tensor(
    ctx: Lowering,
    x: ir.Value,
    scalar: ir.Value,
    low: Sequence[Size],
    high: Sequence[Size],
    type_: graph.TensorType,
) -> ir.Value:
    """Pad `x` with `scalar` to type `type_`.

    This is a copy: with dynamic sizes the backend fails at a ``tensor.pad``, and with static ones
    it turns that into a copy itself.
    """
    around = fill(scalar, ctx.empty(type_))
    shape = [s - a - b for s, a, b in zip(type_.shape, low, high, strict=True)]
    return insert_slice(ctx, x, around, low, shape)
