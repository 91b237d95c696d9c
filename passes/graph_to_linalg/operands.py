"""Tensors that a rule rearranges: in numpy if the data is known, else by ops."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir
from .lowering import Lowering, Size, plain_type
from .movement import extract_slice, reshape_tensor, transpose_tensor


@dataclass(frozen=True)
class Operand:
    """A lowered tensor with its type.

    `array` is its data if that is known at compile time: it is then rearranged in numpy, and only
    the result becomes a constant of the program.
    """

    ctx: Lowering
    type: graph.TensorType
    lowered: ir.Value | None
    array: np.ndarray | None = None

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.type.shape

    @property
    def value(self) -> ir.Value:
        """The tensor."""
        if self.lowered is not None:
            return self.lowered
        assert self.array is not None
        return constant_tensor(self.array)

    def reshaped(self, shape: Sequence[Size]) -> "Operand":
        """The same elements in another shape."""
        type_ = self.type.with_shape(shape)
        if self.array is not None:
            return Operand(self.ctx, type_, None, self.array.reshape(type_.shape))  # type: ignore[arg-type]
        return Operand(self.ctx, type_, reshape_tensor(self.ctx, self.value, self.type, type_))

    def transposed(self, perm: Sequence[int]) -> "Operand":
        """Transpose: axis ``i`` of the result is axis ``perm[i]``."""
        if list(perm) == sorted(perm):
            return self
        type_ = self.type.with_shape(self.shape[axis] for axis in perm)
        if self.array is not None:
            return Operand(self.ctx, type_, None, self.array.transpose(perm))
        return Operand(self.ctx, type_, transpose_tensor(self.ctx, self.value, self.type, perm))

    def sliced(self, axis: int, start: Size, size: Size, step: int = 1) -> "Operand":
        """Slice `size` elements along `axis`, from `start` on, `step` apart."""
        axis %= self.type.rank
        if (start, size, step) == (0, self.shape[axis], 1):
            return self
        shape = (*self.shape[:axis], size, *self.shape[axis + 1 :])
        type_ = self.type.with_shape(shape)
        if self.array is not None:
            slices = (slice(None),) * axis + (slice(start, start + (size - 1) * step + 1, step),)
            return Operand(self.ctx, type_, None, self.array[slices])
        starts: list[Size] = [0] * self.type.rank
        steps = [1] * self.type.rank
        starts[axis], steps[axis] = start, step
        part = extract_slice(self.ctx, self.value, starts, shape, steps, type_)
        return Operand(self.ctx, type_, part)


def operand(ctx: Lowering, value: ir.Value, lowered: ir.Value) -> Operand:
    """The operand `value` of a graph op, with its `lowered` value."""
    op = graph.graph_op(value.owner)
    if isinstance(op, graph.ConstantOp):
        return known(ctx, op.attrs["value"])
    return Operand(ctx, graph.type_of(value), lowered)


def known(ctx: Lowering, array: np.ndarray) -> Operand:
    """An operand with known data."""
    return Operand(ctx, graph.TensorType(array.shape, array.dtype), None, array)


def within_reach(
    x: Operand,
    kernel: Sequence[int],
    dilations: Sequence[int],
    output_sizes: Sequence[Size],
    first: int = 1,
) -> Operand:
    """Slice the spatial axes of `x`, from axis `first` on, that have one window to that window.

    The backend drops loops of one step, and then mistakes the whole axis for that window.
    """
    for axis, (taps, dilation, count) in enumerate(
        zip(kernel, dilations, output_sizes, strict=True), start=first
    ):
        if count == 1:
            x = x.sliced(axis, 0, dilation * (taps - 1) + 1, 1)
    return x


def constant_tensor(array: np.ndarray) -> ir.Value:
    """Build `array` as a constant tensor of the program."""
    wanted = plain_type(graph.TensorType(array.shape, array.dtype))
    if graph.is_unsigned(array.dtype) or graph.is_bit_pattern(
        array.dtype
    ):  # the same bits, signless
        array = array.view(np.dtype(f"i{array.dtype.itemsize}"))
    return arith.constant(wanted, graph.write_elements(np.ascontiguousarray(array)))
