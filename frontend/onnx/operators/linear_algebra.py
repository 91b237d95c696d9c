"""Matrices as such: Det."""

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .shapes import positions

_MOST_ROWS = 16
"""Elimination is written out, row by row."""


@onnx_op("Det", since=11)
def det(x):
    """The product of the pivots of an elimination that takes the largest of each column."""
    type_ = graph.type_of(x)
    if type_.rank < 2:
        raise graph.TypeRuleError(f"needs square matrices, not {type_}")
    rows, columns = type_.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise UnsupportedError(f"matrices of {rows} rows and {columns} columns")
    if rows != columns:
        raise graph.TypeRuleError(f"needs square matrices, not {type_}")
    if rows > _MOST_ROWS:
        raise UnsupportedError(f"matrices of {rows} rows (more than {_MOST_ROWS})")
    batch = type_.shape[:-2]
    total = graph.expand(graph.splat_like(1, x), shape=batch)
    for left in range(rows, 0, -1):
        pivot, x = _eliminated(x, left)
        total = graph.mul(total, graph.reshape(pivot, shape=batch))
    return total


def _eliminated(x: ir.Value, rows: int) -> tuple[ir.Value, ir.Value]:
    """The pivot of the first column, [..., 1, 1], signed by its swap, and what is left of `x`."""
    batch = graph.type_of(x).shape[:-2]
    column = _part(x, 0, rows, 0, 1)
    rank = len(batch) + 2
    at = graph.arg_max(graph.abs_(column), axis=rank - 2, keepdims=True, last_index=False)
    row_number = graph.reshape(positions(rows), shape=[rows, 1])
    is_pivot = graph.equal(row_number, at)
    zero = graph.splat_like(0, x)
    row = graph.reduce_sum(graph.where(is_pivot, x, zero), axes=[rank - 2], keepdims=True)
    pivot = _part(row, 0, 1, 0, 1)
    is_first = graph.equal(at, graph.size_scalar(0))
    signed = graph.where(is_first, pivot, graph.neg(pivot))
    if rows == 1:
        return signed, x
    swapped = graph.where(is_pivot, _part(x, 0, 1, 0, rows), x)
    singular = graph.equal(pivot, zero)
    divisor = graph.where(singular, graph.splat_like(1, x), pivot)
    factors = graph.div(_part(swapped, 1, rows - 1, 0, 1), divisor)
    inner = _part(swapped, 1, rows - 1, 1, rows - 1)
    return signed, graph.sub(inner, graph.mul(factors, _part(row, 0, 1, 1, rows - 1)))


def _part(x: ir.Value, row: int, rows: int, column: int, columns: int) -> ir.Value:
    """A block of each matrix of `x`."""
    batch = graph.type_of(x).shape[:-2]
    rank = len(batch) + 2
    return graph.slice_(
        x,
        starts=[*[0] * len(batch), row, column],
        sizes=[*batch, rows, columns],
        steps=[1] * rank,
    )
