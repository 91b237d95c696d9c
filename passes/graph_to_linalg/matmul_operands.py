"""Operands of matmuls with their types."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph
from ...mlir import ir
from .lowering import Lowering, Size
from .movement import reshape_tensor


@dataclass(frozen=True)
class TypedTensor:
    """A lowered tensor and its type before the lowering, with signs and named sizes."""

    value: ir.Value
    type: graph.TensorType

    def reshaped(self, ctx: Lowering, shape: Sequence[Size]) -> "TypedTensor":
        """The same elements in another shape."""
        type_ = self.type.with_shape(shape)
        return TypedTensor(reshape_tensor(ctx, self.value, self.type, type_), type_)


@dataclass(frozen=True)
class Matmul:
    """``[M, K] x [K, N]``, or batches of these, to be built as a tensor of type `result`."""

    left: TypedTensor
    right: TypedTensor
    result: graph.TensorType
