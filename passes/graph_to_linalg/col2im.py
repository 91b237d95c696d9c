"""Columns of blocks put together to an image: a sum over the taps of a block."""

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .contraction import converted
from .generic import generic, loop_index, projection
from .lowering import Lowering, lowers
from .movement import reshape_tensor
from .numbers import both
from .reduction import accumulator
from .scalar import apply_number_rule, convert_scalar


@lowers(graph.Col2ImOp)
def col2im(ctx: Lowering, op: graph.GraphOp, x: ir.Value) -> ir.Value:
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    block, rank = attrs["block"], result.rank
    axes, wide = rank - 2, accumulator(result.dtype)
    places = graph.block_places(**attrs)
    parts = source.with_shape((*result.shape[:2], *block, *places))
    have, want = graph.element_count(source.shape), graph.element_count(parts.shape)
    ctx.require_equal(have, want, f"has {have} elements for blocks of {want}")
    x = reshape_tensor(ctx, x, source, parts)
    steps = [
        [ctx.index(attrs[name][i]) for name in ("strides", "dilations", "low")] for i in range(axes)
    ]
    extents, zero = [ctx.index(size) for size in places], ctx.index(0)
    last = [ctx.index(size - 1) for size in places]

    def body(_: ir.Value, total: ir.Value) -> ir.Value:
        taps = [loop_index(rank + i) for i in range(axes)]
        conditions, found = [], []
        for i, (stride, dilation, low) in enumerate(steps):
            offset = arith.muli(taps[i], dilation)
            way = arith.subi(arith.addi(loop_index(2 + i), low), offset)
            reached = arith.maxsi(way, zero)
            place = arith.divui(reached, stride)
            conditions += [
                arith.cmpi(arith.CmpIPredicate.eq, arith.muli(place, stride), way),
                arith.cmpi(arith.CmpIPredicate.ult, place, extents[i]),
            ]
            found.append(arith.maxsi(arith.minsi(place, last[i]), zero))
        element = tensor.extract(x, [loop_index(0), loop_index(1), *taps, *found])
        element = convert_scalar(element, source.dtype, wide)
        nothing = ctx.scalar(0, wide)
        share = arith.select(both(*conditions), element, nothing)
        return apply_number_rule(graph.AddOp, wide, total, share)

    taps = tensor.empty(ctx.mixed(block), ir.IntegerType.get_signless(8))
    type_ = result.with_dtype(wide)
    (summed,) = generic(
        [taps], [projection(rank + axes, range(rank, rank + axes))],
        [ctx.filled(type_, 0)], [projection(rank + axes, range(rank))],
        ["parallel"] * rank + ["reduction"] * axes, body,
    )  # fmt: skip
    return converted(ctx, summed, type_, result)
