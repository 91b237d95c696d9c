"""Values seen through reshapes and transposes."""

from dataclasses import dataclass

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ...infra.query import producer

Size = int | Dim


@dataclass(frozen=True)
class Reshaped:
    """A value with another shape, that no op has made yet."""

    x: ir.Value
    shape: graph.Shape

    @property
    def type(self) -> graph.TensorType:
        """Its type with that shape."""
        return graph.type_of(self.x).with_shape(self.shape)

    def build(self) -> ir.Value:
        """The value in that shape."""
        return reshaped(self.x, self.shape)

    def swapped(self) -> ir.Value:
        """The value in that shape, with its last two axes exchanged."""
        return reshaped(swapped(self.x), (*self.shape[:-2], *self.shape[:-3:-1]))


@dataclass(frozen=True)
class SplitHeads:
    """``[B * H, ...]`` beside ``[B, H, ...]``: the other value, and the `sizes` B and H."""

    x: ir.Value
    sizes: tuple[Size, Size]


def as_it_is(x: ir.Value) -> Reshaped:
    """`x` in its own shape."""
    return Reshaped(x, graph.type_of(x).shape)


def with_heads(x: Reshaped, sizes: tuple[Size, Size]) -> Reshaped:
    """`x` with two axes for the first one of three; one that broadcasts becomes two such."""
    if len(x.shape) != 3:
        return x
    outer = (1, 1) if x.shape[0] == 1 else sizes
    return Reshaped(x.x, (*outer, *x.shape[1:]))


def merged_heads(x: ir.Value) -> SplitHeads | None:
    """The value ``[B * H, S, T]`` that `x`, ``[B, H, S, T]``, is a reshape of, or None."""
    reshape = producer(x, graph.ReshapeOp)
    if reshape is None:
        return None
    return _heads(reshape.x, graph.type_of(reshape.x).shape, graph.type_of(x).shape)


def split_heads(x: ir.Value) -> SplitHeads | None:
    """The value ``[B, H, S, T]`` that `x`, ``[B * H, S, T]``, is a reshape of, or None."""
    reshape = producer(x, graph.ReshapeOp)
    if reshape is None:
        return None
    return _heads(reshape.x, graph.type_of(x).shape, graph.type_of(reshape.x).shape)


def _heads(other: ir.Value, merged: graph.Shape, split: graph.Shape) -> SplitHeads | None:
    if len(split) != 4 or len(merged) != 3 or merged[1:] != split[2:]:
        return None
    batch, heads = split[:2]
    return SplitHeads(other, (batch, heads)) if batch * heads == merged[0] else None


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
            return reshaped(swapped(regrouped.x), tuple(after[axis] for axis in swap))
    return graph.transpose(value, perm=swap)


def reshaped(value: ir.Value, shape: graph.Shape) -> ir.Value:
    """`value` in `shape`: itself, or the operand of its reshape, if that has `shape`."""
    if graph.type_of(value).shape == shape:
        return value
    inner = producer(value, graph.ReshapeOp)
    source = value if inner is None else inner.x
    return source if graph.type_of(source).shape == shape else graph.reshape(source, shape=shape)
