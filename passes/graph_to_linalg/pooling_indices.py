"""Max pooling that also gives the position of each maximum."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .generic import generic, loop_index, projection
from .lowering import Lowering, lowers
from .operands import operand, within_reach
from .padding import padded_axes


@lowers(graph.MaxPoolWithIndicesOp)
def max_pool_with_indices(
    ctx: Lowering, op: graph.MaxPoolWithIndicesOp, x: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Loop over output positions and taps, carrying the best element and its position, or -1."""
    attrs, source = op.attrs, graph.type_of(op.x)
    result, indices = graph.type_of(op.y), graph.type_of(op.indices)
    rank, axes = source.rank, source.rank - 2
    lowest = graph.lowest(source.dtype)
    low, high = (0, 0, *attrs["low"]), (0, 0, *attrs["high"])
    image = padded_axes(operand(ctx, op.x, x), low, high, lowest)
    image = within_reach(image, attrs["kernel"], attrs["dilations"], result.shape[2:], first=2)
    d = [ir.AffineExpr.get_dim(i) for i in range(rank + axes)]
    reads = [
        d[2 + i] * attrs["strides"][i] + d[rank + i] * attrs["dilations"][i] for i in range(axes)
    ]
    kernel = tensor.empty(list(attrs["kernel"]), ir.ShapedType(x.type).element_type)
    maps = [
        ir.AffineMap.get(rank + axes, 0, [d[0], d[1], *reads]),
        projection(rank + axes, list(range(rank, rank + axes))),
    ]
    position = _position(ctx, source, attrs)

    def body(
        element: ir.Value, _: ir.Value, best: ir.Value, at: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        inside, here = position()
        none = arith.cmpi(arith.CmpIPredicate.slt, at, arith.constant(at.type, 0))
        wins = arith.andi(inside, arith.ori(none, _exceeds(element, best, source.dtype)))
        return arith.select(wins, element, best), arith.select(wins, here, at)

    outputs = [ctx.filled(result, lowest), ctx.filled(indices, -1)]
    per_result = projection(rank + axes, list(range(rank)))
    iterators = ["parallel"] * rank + ["reduction"] * axes
    y, at = generic([image.value, kernel], maps, outputs, [per_result, per_result], iterators, body)
    return y, at


def _exceeds(element: ir.Value, best: ir.Value, dtype: np.dtype) -> ir.Value:
    """True (an i1) if `element` replaces `best`; a NaN does, and is never replaced."""
    if graph.is_float(dtype):
        greater = arith.cmpf(arith.CmpFPredicate.UGT, element, best)
        return arith.andi(greater, arith.cmpf(arith.CmpFPredicate.ORD, best, best))
    unsigned = graph.is_unsigned(dtype)
    predicate = arith.CmpIPredicate.ugt if unsigned else arith.CmpIPredicate.sgt
    return arith.cmpi(predicate, element, best)


def _position(
    ctx: Lowering, source: graph.TensorType, attrs: dict[str, Any]
) -> Callable[[], tuple[ir.Value, ir.Value]]:
    """A function, for use inside the loops, that gives whether a tap reads an element, and the
    element's linear index."""
    rank, axes = source.rank, source.rank - 2
    extents = [ctx.index(size) for size in source.shape]
    steps = [
        [ctx.index(v[i]) for v in (attrs["strides"], attrs["dilations"], attrs["low"])]
        for i in range(axes)
    ]
    order = list(range(axes))[:: -1 if attrs["storage_order"] else 1]

    def position() -> tuple[ir.Value, ir.Value]:
        inside: ir.Value | None = None
        coordinates = []
        for i, (stride, dilation, low) in enumerate(steps):
            start = arith.muli(loop_index(2 + i), stride)
            offset = arith.muli(loop_index(rank + i), dilation)
            coordinate = arith.subi(arith.addi(start, offset), low)
            fits = arith.cmpi(arith.CmpIPredicate.ult, coordinate, extents[2 + i])
            inside = fits if inside is None else arith.andi(inside, fits)
            coordinates.append(coordinate)
        number = arith.addi(arith.muli(loop_index(0), extents[1]), loop_index(1))
        for axis in order:
            number = arith.addi(arith.muli(number, extents[2 + axis]), coordinates[axis])
        assert inside is not None
        return inside, arith.index_cast(ir.IntegerType.get_signless(64), number)

    return position
