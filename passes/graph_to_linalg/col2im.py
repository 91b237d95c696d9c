"""Columns of blocks combined to an image: a sum over the taps of a block."""

import functools
from collections.abc import Sequence

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from ..kernels.col2im import Col2ImEmitter, Col2ImShape
from .dispatch import read_in_loops
from .generic import loop_index, parallel
from .kernel_calls import define, flat_of
from .loops import for_each
from .lowering import Lowering, Size, lowers, plain_type
from .movement import reshape_tensor
from .numbers import both
from .reduction import accumulator
from .scalar import apply_number_rule, convert_scalar


@lowers(graph.Col2ImOp)
def col2im(ctx: Lowering, op: graph.Col2ImOp, x: ir.Value) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    block, rank = attrs["block"], result.rank
    axes, wide = rank - 2, accumulator(result.dtype)
    positions = graph.block_positions(**attrs)
    parts = source.with_shape((*result.shape[:2], *block, *positions))
    have, want = graph.element_count(source.shape), graph.element_count(parts.shape)
    ctx.require_equal(have, want, f"has {have} elements for blocks of {want}")
    if _has_kernel(ctx, op, wide):
        return _by_kernel(ctx, op, x, positions)
    x = reshape_tensor(ctx, read_in_loops(ctx, x, source), source, parts)
    steps = [
        [ctx.index(attrs[name][i]) for name in ("strides", "dilations", "low")] for i in range(axes)
    ]
    extents, zero = [ctx.index(size) for size in positions], ctx.index(0)
    last = [ctx.index(size - 1) for size in positions]
    taps = [ctx.index(size) for size in block]
    nothing = ctx.scalar(0, wide)

    def share(here: Sequence[ir.Value], tap: Sequence[ir.Value], total: ir.Value) -> ir.Value:
        conditions, found = [], []
        for i, (stride, dilation, low) in enumerate(steps):
            offset = arith.muli(tap[i], dilation)
            way = arith.subi(arith.addi(here[2 + i], low), offset)
            reached = arith.maxsi(way, zero)
            position = arith.divui(reached, stride)
            conditions += [
                arith.cmpi(arith.CmpIPredicate.eq, arith.muli(position, stride), way),
                arith.cmpi(arith.CmpIPredicate.ult, position, extents[i]),
            ]
            found.append(arith.maxsi(arith.minsi(position, last[i]), zero))
        element = tensor.extract(x, [*here[:2], *tap, *found])
        element = convert_scalar(element, source.dtype, wide)
        selected = arith.select(both(*conditions), element, nothing)
        return apply_number_rule(graph.AddOp, wide, total, selected)

    def element() -> ir.Value:
        """Loop over the taps: in a reduction, vectors would be gathered element by element."""
        here = [loop_index(i) for i in range(rank)]
        total = for_each(taps, nothing, functools.partial(share, here))
        return convert_scalar(total, wide, result.dtype)

    return parallel([], [], ctx.empty(result), element)


_BYTES = 1 << 14
"""Bytes of planes that a workgroup computes, at least: waking a thread costs as much."""
_WORKGROUPS_PER_THREAD = 2


def _has_kernel(ctx: Lowering, op: graph.Col2ImOp, wide: np.dtype) -> bool:
    """Return whether the kernel sums the blocks, in the type `wide` of accumulators; the report
    says why not."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return False
    statistics, node = ctx.statistics("col2im-kernel"), node_name(op.operation)
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in (*source.shape, *result.shape, *op.attrs["block"]):
        statistics.record_declined(node, "there is nothing to add")
    elif wide != source.dtype or graph.bit_width(wide) % 8:
        statistics.record_declined(node, f"sums of {source.dtype} are not accumulated in it")
    else:
        statistics.record_fired(node)
        return True
    return False


def _by_kernel(
    ctx: Lowering, op: graph.Col2ImOp, x: ir.Value, positions: Sequence[Size]
) -> ir.Value:
    """IREE's code looks for each element whether and where each tap gives to it, which takes 15
    times as long for 64 images of 56x56."""
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    planes = graph.element_count(result.shape[:2])
    lanes = 4 * ctx.cpu.lanes // source.dtype.itemsize
    shape = Col2ImShape(
        planes, tuple(result.shape[2:]), tuple(attrs["block"]), tuple(positions),
        tuple(attrs["strides"]), tuple(attrs["dilations"]), tuple(attrs["low"]), lanes,
    )  # fmt: skip
    every = (*shape.sizes, *source.shape, *result.shape)
    names = list(dict.fromkeys(size for size in every if isinstance(size, Dim)))
    memory = [flat_of(type_, names, first=1) for type_ in (source, result)]

    def kernel(workgroup_id: ir.Value, count: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _index(size)

        columns, image = arguments[len(names) :]
        Col2ImEmitter(shape, value, columns, image).workgroup(workgroup_id, count)

    sizes = [("size", names.index(n)) if isinstance(n, Dim) else n for n in shape.sizes]
    key = (*sizes, shape.strides, shape.dilations, shape.low, str(source.dtype), *memory)
    elements = ctx.index(graph.element_count(result.shape))
    wanted = arith.divui(arith.muli(elements, ctx.index(source.dtype.itemsize)), ctx.index(_BYTES))
    most = arith.minui(ctx.index(planes), ctx.index(_WORKGROUPS_PER_THREAD * ctx.threads))
    count = arith.minui(arith.maxui(wanted, ctx.index(1)), most)
    scalars = [count, *map(ctx.index, names)]
    name = define(ctx, "col2im", key, memory, kernel, shape.flops, len(scalars))
    return iree.run_kernel(
        name, count, [x], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
