"""Sorting by rank: an element's position is the number of elements that come before it.

This takes many more comparisons than a heap, but all of them are independent. It is for GPUs, for
which the backend compiles no loops that update a tensor.
"""

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import behind_barrier
from .generic import generic, loop_index, parallel, projection
from .lowering import Lowering, plain_element, scalar_constant
from .scalar import convert_scalar

_POSITION = np.dtype(np.int32)


def select_by_rank(
    ctx: Lowering, keys: ir.Value, type_: graph.TensorType, result: graph.TensorType, axis: int
) -> ir.Value:
    """The positions along `axis` of the elements with the largest `keys`, in stable order.

    `keys` are integers of `type_`; `result` has as many positions along `axis` as are selected.
    """
    rank = type_.rank
    own = projection(rank + 1, list(range(rank)))
    other = projection(rank + 1, [rank if i == axis else i for i in range(rank)])

    def count(key: ir.Value, other_key: ir.Value, total: ir.Value) -> ir.Value:
        predicate = arith.CmpIPredicate
        equal = arith.cmpi(predicate.eq, other_key, key)
        first = arith.cmpi(predicate.slt, _position(rank), _position(axis))
        greater = arith.cmpi(predicate.sgt, other_key, key)
        return _plus(total, arith.ori(greater, arith.andi(equal, first)))

    position_type = type_.with_dtype(_POSITION)
    (ranks,) = generic(
        [keys, keys], [own, other], [ctx.filled(position_type, 0)], [own], _summed(rank), count
    )
    return _positions(ctx, ranks, result, axis)


def order_rows_by_rank(
    ctx: Lowering, keys: ir.Value, type_: graph.TensorType, result: graph.TensorType
) -> ir.Value:
    """The lexicographic order of the rows of the matrix `keys`.

    Larger rows come first; the order is stable.
    """
    rows, columns = type_.shape
    pairs = graph.TensorType((rows, rows), _POSITION)
    by_row = projection(3, [0, 2]), projection(3, [1, 2])
    last = arith.index_cast(plain_element(_POSITION), ctx.index(columns - 1))

    def differ(key: ir.Value, other_key: ir.Value, column: ir.Value) -> ir.Value:
        unlike = arith.cmpi(arith.CmpIPredicate.ne, key, other_key)
        return arith.minsi(arith.select(unlike, _position(2), column), column)

    never = ctx.filled(pairs, np.iinfo(_POSITION).max)
    (columns_that_differ,) = generic(
        [keys, keys], by_row, [never], [projection(3, [0, 1])], _summed(2), differ
    )

    def before(column: ir.Value) -> ir.Value:
        """1 if the second row of a pair comes before the first, else 0."""
        predicate, index = arith.CmpIPredicate, ir.IndexType.get()
        inside = arith.index_cast(index, arith.minsi(column, last))
        key, other_key = (tensor.extract(keys, [loop_index(i), inside]) for i in (0, 1))
        equal = arith.cmpi(predicate.eq, other_key, key)
        first = arith.cmpi(predicate.slt, _position(1), _position(0))
        greater = arith.cmpi(predicate.sgt, other_key, key)
        earlier = arith.ori(greater, arith.andi(equal, first))
        return arith.extui(plain_element(_POSITION), earlier)

    identity = ir.AffineMap.get_identity(2)
    earlier = parallel([columns_that_differ], [identity], ctx.empty(pairs), before)
    (ranks,) = generic(
        [behind_barrier(ctx, earlier, pairs)],
        [identity],
        [ctx.filled(graph.TensorType((rows,), _POSITION), 0)],
        [projection(2, [0])],
        _summed(1),
        arith.addi,
    )
    return _positions(ctx, ranks, result, 0)


def _positions(ctx: Lowering, ranks: ir.Value, result: graph.TensorType, axis: int) -> ir.Value:
    """For each position along `axis` of `result`, the position at which `ranks` has that value."""
    rank = result.rank
    read = projection(rank + 1, [rank if i == axis else i for i in range(rank)])
    written = projection(rank + 1, list(range(rank)))

    def find(here: ir.Value, total: ir.Value) -> ir.Value:
        found = arith.cmpi(arith.CmpIPredicate.eq, here, _position(axis))
        position = arith.select(found, _position(rank), scalar_constant(0, _POSITION))
        return arith.addi(total, position)

    position_type = result.with_dtype(_POSITION)
    (positions,) = generic(
        [ranks], [read], [ctx.filled(position_type, 0)], [written], _summed(rank), find
    )
    identity = ir.AffineMap.get_identity(rank)
    return parallel(
        [behind_barrier(ctx, positions, position_type)],  # or lookups would be fused into its loops
        [identity],
        ctx.empty(result),
        lambda found: convert_scalar(found, _POSITION, result.dtype),
    )


def _summed(rank: int) -> list[str]:
    """The iterators of `rank` parallel loops and one reduction loop."""
    return ["parallel"] * rank + ["reduction"]


def _position(loop: int) -> ir.Value:
    """The position of `loop`, inside a body."""
    return arith.index_cast(plain_element(_POSITION), loop_index(loop))


def _plus(total: ir.Value, condition: ir.Value) -> ir.Value:
    """`total`, incremented if `condition` holds."""
    return arith.addi(total, arith.extui(plain_element(_POSITION), condition))
