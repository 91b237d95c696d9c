"""Constants, and values that are sizes: where shapes and data meet."""

import numpy as np

from ...errors import VerificationError
from ...mlir import ir
from ..symbolic import Dim
from .attributes import Elements, Sizes, Str, Strs
from .base import GraphOp, Tensor, TypeRuleError, builder
from .traits import MixedPrecision
from .types import Shape, TensorType, is_integer, type_of


class ConstantOp(GraphOp, name="constant"):
    """A tensor known at compile time."""

    amp = MixedPrecision.KEEP

    value: Elements

    @staticmethod
    def infer(*, value: np.ndarray) -> TensorType:
        return TensorType(value.shape, value.dtype)

    @staticmethod
    def evaluate(*, value: np.ndarray) -> np.ndarray:
        return value


class SizesOp(GraphOp, name="sizes"):
    """The given sizes, symbolic ones included, as a tensor of rank 1 (i64)."""

    amp = MixedPrecision.KEEP

    sizes: Sizes

    @staticmethod
    def infer(*, sizes: Shape) -> TensorType:
        return TensorType((len(sizes),), np.dtype(np.int64))

    @staticmethod
    def evaluate(*, sizes: Shape) -> np.ndarray:
        if any(isinstance(size, Dim) for size in sizes):
            return np.array(sizes, dtype=object)
        return np.array(sizes, dtype=np.int64)


class BindSizesOp(GraphOp, name="bind_sizes", pure=False):
    """Give names to sizes that are computed in the graph.

    `x` is an integer tensor of rank 0 or 1; after this op, ``names[i]`` may be used as a
    dimension anywhere. The values must not be negative; a negative one ends the run with an error.
    """

    amp = MixedPrecision.KEEP
    is_view = True

    x: Tensor
    names: Strs

    @staticmethod
    def infer(x: TensorType, *, names: tuple[str, ...]) -> TensorType:
        count = 1 if x.rank == 0 else x.shape[0]
        if not is_integer(x.dtype) or x.rank > 1 or count != len(names):
            raise TypeRuleError(f"cannot name {len(names)} sizes from a tensor of type {x}")
        return x

    @staticmethod
    def evaluate(x: np.ndarray, *, names: tuple[str, ...]) -> np.ndarray:
        del names
        return x


class RequireOp(GraphOp, name="require", pure=False, has_result=False):
    """End the run with an error that says `message` unless `condition` (one boolean) holds."""

    amp = MixedPrecision.KEEP

    condition: Tensor
    message: Str

    @staticmethod
    def infer(condition: TensorType, *, message: str) -> tuple[()]:
        del message
        if condition != TensorType((), np.dtype(np.bool_)):
            raise TypeRuleError(f"requires a boolean scalar, not {condition}")
        return ()

    @staticmethod
    def evaluate(condition: np.ndarray, *, message: str) -> tuple[()]:
        if not condition:
            raise VerificationError(message)
        return ()


constant = builder(ConstantOp)
sizes = builder(SizesOp)
bind_sizes = builder(BindSizesOp)
require = builder(RequireOp)


def splat_like(value: float, like: ir.Value) -> ir.Value:
    """A scalar constant of `like`'s element type."""
    return constant(value=np.array(value).astype(type_of(like).dtype))
