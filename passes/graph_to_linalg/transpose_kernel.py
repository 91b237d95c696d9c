"""Calls of the kernel that transposes tensors, on CPUs that kernels are written for
(`kernels.transpose`).

IREE's code moves tensors of named sizes element by element. Of known sizes, it copies rows slowly,
and reads columns of many pages in an order that misses the TLB: 24x176640 takes seven times as long
as in the kernel. It is left what it computes together with other ops, and what has few columns.
"""

from collections.abc import Sequence

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..kernels.transpose import (
    BYTES,
    WORKGROUPS_PER_THREAD,
    Size,
    TransposeEmitter,
    TransposeShape,
    merged_axes,
)
from .computed_matmul import reads_transposed
from .kernel_calls import define, flat_of
from .lowering import Lowering, plain_type

_FEW_ROWS = 8
_FEW_COLUMNS = 12
_LINE_BYTES = 64
_MANY_PIXELS = 256
"""Elements of a plane from which planes are interleaved by the kernel."""
_FEW_PAIRS = 16
"""Likewise for pairs of elements, or fours, that stay together: two planes of 240 pairs take the
backend 2.8 times as long, of 32 as long."""
_INTEGER_BYTES = (2, 4, 8)
_IN_ONE_LOOP = (
    graph.ElementwiseOp, graph.Reduction, graph.MatmulOp, graph.GatherOp,
)  # fmt: skip


def transpose_by_kernel(ctx: Lowering, op: graph.TransposeOp, x: ir.Value) -> ir.Value | None:
    """Transpose the lowered operand `x` of `op`; None if the kernel does not."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors or not is_for_kernel(op):
        return None
    ctx.statistics("transpose-kernel").record_fired(node_name(op.operation))
    return permuted_by_kernel(ctx, x, graph.type_of(op.x), op.attrs["perm"])[1]


def permuted_by_kernel(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, axes: Sequence[int]
) -> tuple[graph.TensorType, ir.Value]:
    """Transpose `x`, of type `source`, whose `axes` in order are those of the result: its type and
    value."""
    result = source.with_shape([source.shape[axis] for axis in axes])
    dtype, sizes, perm = _moved(source, axes)
    shape = TransposeShape(
        tuple(sizes), tuple(perm), dtype.itemsize, shuffled_lanes(ctx.cpu, dtype)
    )
    return result, _run(ctx, shape, x, dtype, result)


def _moved(
    type_: graph.TensorType, axes: Sequence[int]
) -> tuple[np.dtype, Sequence[Size], Sequence[int]]:
    """The elements that move in a transpose of `type_` by `axes`: their type, the sizes of a tensor
    of them, and its permutation. A last axis that stays last is one element, if it has the bytes
    of one: a pair of floats."""
    sizes, perm = merged_axes(type_.shape, axes)
    dtype = type_.dtype
    if len(perm) > 2 and perm[-1] == len(perm) - 1 and isinstance(sizes[-1], int):
        itemsize = sizes[-1] * dtype.itemsize
        if itemsize in _INTEGER_BYTES:
            return np.dtype(f"i{itemsize}"), sizes[:-1], perm[:-1]
    return dtype, sizes, perm


def shuffled_lanes(cpu: CpuModel, dtype: np.dtype) -> int:
    """The elements of `dtype` in the vectors among which kernels exchange elements."""
    return min(cpu.lanes, 16) if dtype.itemsize == 4 else max(16 // dtype.itemsize, 4)


def is_for_kernel(op: graph.TransposeOp) -> bool:
    """Return whether the kernel transposes the operand of `op`: elements of whole bytes move, and
    the reader does not read the operand in place."""
    type_ = graph.type_of(op.x)
    if 0 in type_.shape or graph.bit_width(type_.dtype) % 8 or type_.dtype.itemsize > 8:
        return False
    dtype, sizes, perm = _moved(type_, op.attrs["perm"])
    if perm == sorted(perm) or _is_read_in_place(op):
        return False
    return not type_.is_static or (_is_fast(type_, dtype, perm, sizes) and not _is_fused(op))


def _is_fast(
    type_: graph.TensorType, dtype: np.dtype, perm: Sequence[int], sizes: Sequence[Size]
) -> bool:
    """Return whether the kernel that moves elements of `dtype` is faster than IREE's code, for
    known sizes."""
    if TransposeShape(tuple(sizes), tuple(perm), dtype.itemsize, 1).planes:
        few = _MANY_PIXELS if dtype == type_.dtype else _FEW_PAIRS
        return max(map(graph.static_size, sizes)) >= few
    rows = graph.static_size(sizes[-1])
    if perm[-1] == len(perm) - 1:
        return rows * dtype.itemsize >= _LINE_BYTES
    return min(rows, graph.static_size(sizes[perm[-1]])) >= _FEW_COLUMNS


def _is_fused(op: graph.TransposeOp) -> bool:
    """Return whether IREE computes the transpose in a loop with an op that makes its operand or
    reads its result. Bytes that are quantized take longer so than in two steps: 0.068 and 0.050 ms
    for 128x56x56 (Zen 4)."""
    producer, users = op.x.owner, [use.owner for use in op.result.uses]
    around = [*users, *([] if isinstance(producer, ir.Block) else [producer])]
    ops = [graph.graph_op(each) for each in around]
    if isinstance(ops[-1], graph.QuantizeOp) and graph.type_of(op.x).dtype.itemsize == 1:
        ops.pop()
    return any(isinstance(each, _IN_ONE_LOOP) for each in ops)


def _is_read_in_place(op: graph.TransposeOp) -> bool:
    """Return whether products read the operand of `op`: some by few rows, which a copy would not
    make faster, or all by a kernel that takes it as it is."""
    kernels = 0
    for use in op.result.uses:
        user = graph.graph_op(use.owner)
        if isinstance(user, graph.MatmulOp) and use.operand_number == 1:
            if reads_transposed(user):
                kernels += 1
                continue
            rows = graph.element_count(graph.type_of(user.a).shape[:-1])
            if isinstance(rows, int) and rows < _FEW_ROWS:
                return True
            if graph.type_of(user.a).shape[-2] == 1:
                return True
    return kernels > 0 and kernels == sum(1 for _ in op.result.uses)


def _run(
    ctx: Lowering,
    shape: TransposeShape,
    x: ir.Value,
    dtype: np.dtype,
    result: graph.TensorType,
) -> ir.Value:
    names = list(dict.fromkeys(size for size in shape.sizes if isinstance(size, Dim)))
    merged: Sequence[Size] = shape.sizes
    moved_to = [merged[axis] for axis in shape.perm]
    types = [graph.TensorType(tuple(sizes), dtype) for sizes in (merged, moved_to)]
    memory = [flat_of(type_, names, first=1) for type_ in types]

    def kernel(workgroup_id: ir.Value, count: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _index(size)

        buffers = arguments[len(names) :]
        TransposeEmitter(shape, value, *buffers).workgroup(workgroup_id, count)

    anonymous = [names.index(n) - len(names) if isinstance(n, Dim) else n for n in shape.sizes]
    key = (shape.perm, shape.lanes, str(dtype), *anonymous, *memory)
    moved = arith.muli(ctx.index(shape.elements), _index(shape.itemsize))
    wanted = arith.maxui(arith.divui(moved, _index(BYTES)), _index(1))
    count = arith.minui(wanted, _index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [count, *map(ctx.index, names)]
    name = define(ctx, "transpose", key, memory, kernel, shape.flops, len(scalars))
    return iree.run_kernel(
        name, count, [x], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
