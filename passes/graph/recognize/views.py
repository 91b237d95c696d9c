"""Values seen through reshapes and transposes."""

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer


def swapped(value: ir.Value) -> ir.Value:
    """`value` with its last two axes exchanged, undoing its own transpose if possible.

    Exporters write the transpose of a [B, H, S, D] tensor in [B * H, S, D], between reshapes.
    """
    rank = graph.type_of(value).rank
    swap = [*range(rank - 2), rank - 1, rank - 2]
    transpose = producer(value, graph.TransposeOp)
    if transpose is not None:
        perm = [transpose.attrs["perm"][axis] for axis in swap]
        return transpose.x if perm == sorted(perm) else graph.transpose(transpose.x, perm=perm)
    regrouped = producer(value, graph.ReshapeOp)
    if regrouped is not None and producer(regrouped.x, graph.TransposeOp) is not None:
        before, after = graph.type_of(regrouped.x).shape, graph.type_of(value).shape
        if before[-2:] == after[-2:]:
            return _reshaped(swapped(regrouped.x), tuple(after[axis] for axis in swap))
    return graph.transpose(value, perm=swap)


def _reshaped(value: ir.Value, shape: graph.Shape) -> ir.Value:
    """Reshape `value` to `shape`, or return the operand of its reshape if that has `shape`."""
    inner = producer(value, graph.ReshapeOp)
    source = value if inner is None else inner.x
    return source if graph.type_of(source).shape == shape else graph.reshape(source, shape=shape)
