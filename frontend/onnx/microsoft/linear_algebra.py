"""Matrices as such: Inverse."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..operators.attention import positions_in
from .registry import microsoft_op


@microsoft_op("Inverse")
def inverse(x, *, node):
    """Gauss-Jordan elimination of ``[x | 1]`` that takes the largest pivot of each column.

    A matrix that has no inverse gives infinities and NaN.
    """
    type_ = graph.type_of(x)
    if type_.rank < 2 or type_.shape[-1] != type_.shape[-2]:
        raise graph.TypeRuleError(f"needs square matrices, not {type_}")
    rows = type_.shape[-1]
    wide = x if type_.dtype == np.float64 else graph.cast(x, to=np.float32)
    one, zero = graph.splat_like(1, wide), graph.splat_like(0, wide)
    diagonal = graph.equal(positions_in(rows, [rows, 1]), positions_in(rows, [1, rows]))
    identity = graph.expand(graph.where(diagonal, one, zero), shape=type_.shape)

    def eliminate(index: Dim, pair: ir.Value) -> graph.Iteration:
        return graph.Iteration(None, [_eliminated(pair, index)], [])

    pair = graph.concat([wide, identity], axis=type_.rank - 1)
    (pair,) = graph.loop([pair], eliminate, node.fresh_name, rows)
    return graph.cast(_columns(pair, rows, rows), to=type_.dtype)


def _eliminated(x: ir.Value, index: Dim) -> ir.Value:
    """`x` with column `index` like the identity's, by steps on its rows."""
    *batch, rows, width = graph.type_of(x).shape
    axis = len(batch)
    zero = graph.splat_like(0, x)
    row_number = positions_in(rows, [rows, 1])
    size = graph.abs_(_columns(x, index, 1))
    is_left = graph.greater_or_equal(row_number, graph.size_scalar(index))
    candidates = graph.where(is_left, size, graph.splat_like(-1, x))
    at = graph.arg_max(candidates, axis=axis, keepdims=True, last_index=False)
    is_pivot = graph.equal(row_number, at)
    row = graph.reduce_sum(graph.where(is_pivot, x, zero), axes=[axis], keepdims=True)
    displaced = graph.slice_(
        x, starts=[*[0] * axis, index, 0], sizes=[*batch, 1, width], steps=[1] * (axis + 2)
    )
    swapped = graph.where(is_pivot, displaced, x)
    row = graph.div(row, _columns(row, index, 1))
    is_here = graph.equal(row_number, graph.size_scalar(index))
    rest = graph.sub(swapped, graph.mul(_columns(swapped, index, 1), row))
    return graph.where(is_here, row, rest)


def _columns(x: ir.Value, first: int | Dim, count: int | Dim) -> ir.Value:
    *lead, _ = graph.type_of(x).shape
    return graph.slice_(
        x, starts=[*[0] * len(lead), first], sizes=[*lead, count], steps=[1] * (len(lead) + 1)
    )
