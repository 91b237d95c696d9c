"""Values seen through reshapes and transposes."""

from ...dialects import graph
from ...mlir import ir
from ..query import producer


def swapped(value: ir.Value) -> ir.Value:
    """`value` with its last two axes exchanged, made of what it was made of where possible."""
    rank = graph.type_of(value).rank
    swap = [*range(rank - 2), rank - 1, rank - 2]
    transpose = producer(value, graph.TransposeOp)
    if transpose is not None:
        perm = [transpose.attrs["perm"][axis] for axis in swap]
        return transpose.x if perm == sorted(perm) else graph.transpose(transpose.x, perm=perm)
    source = _swapped_in_batches(value)
    return graph.transpose(value, perm=swap) if source is None else source


def _swapped_in_batches(value: ir.Value) -> ir.Value | None:
    """``x`` where `value` is ``reshape(swap(reshape(x)))`` and the reshapes regroup leading axes.

    Exporters write the transpose of a [B, H, S, D] tensor this way, in [B * H, S, D].
    """
    outer = producer(value, graph.ReshapeOp)
    transpose = None if outer is None else producer(outer.x, graph.TransposeOp)
    inner = None if transpose is None else producer(transpose.x, graph.ReshapeOp)
    if transpose is None or inner is None:
        return None
    *leading, last, but_last = transpose.attrs["perm"]
    rank = len(leading) + 2
    if leading != list(range(rank - 2)) or (last, but_last) != (rank - 1, rank - 2):
        return None
    shapes = [graph.type_of(v).shape for v in (inner.x, inner.result, transpose.result, value)]
    source, before, after, target = shapes
    if source[-2:] != before[-2:] or after[-2:] != target[-2:] or source[:-2] != target[:-2]:
        return None
    return inner.x
