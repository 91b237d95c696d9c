"""Columns of blocks combined to an image: a sum over the taps of a block."""

import functools
from collections.abc import Sequence

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import read_in_loops
from .generic import loop_index, parallel
from .loops import for_each
from .lowering import Lowering, lowers
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
