"""Keys and values kept between calls, as ``[B, H, T, D]``."""

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..operators.attention import positions_in
from ..operators.shapes import size_scalar

Size = int | Dim


def inserted(
    past: ir.Value, new: ir.Value, begin: ir.Value, length: Size, *, keep: bool
) -> ir.Value:
    """The rows of `past`, the rows of `new` from row `begin` on, in a cache of `length` rows.

    `begin`, ``[B or 1, 1]`` and not negative, may differ in the batch. Behind the new rows stand
    zeros, or what `past` has there if `keep`.
    """
    batch, _, count, _ = graph.type_of(new).shape
    room = graph.type_of(past).shape[2]
    row = positions_in(length, [1, length])
    inside = graph.sub(row, begin)
    zero = graph.splat_like(0, row)
    is_old = graph.less(inside, zero)
    is_new = graph.less(inside, size_scalar(count))
    fresh = graph.add(inside, size_scalar(room))
    sources = graph.where(is_old, row, fresh)
    if keep:
        sources = graph.where(graph.or_(is_old, graph.not_(is_new)), row, fresh)
    last = graph.add(size_scalar(room), size_scalar(count - 1))
    sources = graph.max_(graph.min_(sources, last), zero)
    every = graph.transpose(graph.concat([past, new], axis=2), perm=[0, 2, 1, 3])
    sources = graph.expand(sources, shape=[batch, length])
    rows = graph.gather_nd(every, graph.reshape(sources, shape=[batch, length, 1]), batch_dims=1)
    y = graph.transpose(rows, perm=[0, 2, 1, 3])
    if keep:
        return y
    owner = graph.type_of(is_new).shape[0]
    used = graph.reshape(is_new, shape=[owner, 1, length, 1])
    return graph.where(used, y, graph.splat_like(0, y))
