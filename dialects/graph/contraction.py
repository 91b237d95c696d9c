"""Contractions: products of tensors summed over shared axes.

Floats of 16 bits are summed in f32 and rounded once. Integers of 8 and 16 bits, of either
signedness, accumulate in i32; wider integers keep their type and wrap around.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..symbolic import Dim
from .attributes import Str
from .base import GraphOp, Tensor, Tensors, TypeRuleError, builder
from .elementwise import broadcast_shapes, require_number
from .shape_constraints import require_equal
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, TensorType, is_float, is_integer


def accumulator_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """The element type of a contraction of operands of types `a` and `b`."""
    if all(is_integer(dtype) and dtype.itemsize < 4 for dtype in (a, b)):
        return np.dtype(np.int32)
    if a != b:
        raise TypeRuleError(f"operands have element types {a} and {b}")
    return a


def require_equal_sizes(a: int | Dim, b: int | Dim, what: str) -> None:
    """TypeRuleError when two sizes are known and differ."""
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise TypeRuleError(f"{what} differ: {a} and {b}")
    require_equal(a, b)


def _summable(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` in the type that a contraction with result type `dtype` accumulates in."""
    if is_float(dtype):
        return x.astype(np.float32) if dtype.itemsize < 4 else x
    return x.astype(dtype)


class Contraction(GraphOp):
    """Base of contractions. Elementwise ops that follow one can be computed as its epilogue."""


class KernelContraction(Contraction):
    """Base of contractions of `x` by weights `w` that are laid out for a kernel of graphc's own.

    The kernel computes the epilogue, too, while the accumulators are in registers.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    if TYPE_CHECKING:
        x: Tensor
        w: Tensor


class MatmulOp(Contraction, name="matmul"):
    """Matrix product of the last two axes; the leading axes broadcast (ONNX MatMul).

    ``[..., M, K] x [..., K, N] -> [..., M, N]``, both operands of rank 2 at least.
    """

    amp = MixedPrecision.NARROW

    a: Tensor
    b: Tensor

    @staticmethod
    def infer(a: TensorType, b: TensorType) -> TensorType:
        for operand in (a, b):
            require_number(operand)
            if operand.rank < 2:
                raise TypeRuleError(f"needs matrices, not {operand}")
        require_equal_sizes(a.shape[-1], b.shape[-2], f"inner sizes of {a} and {b}")
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return TensorType((*batch, a.shape[-2], b.shape[-1]), accumulator_dtype(a.dtype, b.dtype))

    @staticmethod
    def evaluate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        dtype = accumulator_dtype(a.dtype, b.dtype)
        return np.matmul(_summable(a, dtype), _summable(b, dtype)).astype(dtype)


def parse_equation(equation: str) -> tuple[list[str], str]:
    """The letters of each operand, and of the result, of a normalised einsum equation.

    TypeRuleError unless it reads ``ab,bc->ac``: small letters only, an explicit result in which
    no letter is doubled and each occurs in an operand.
    """
    operands, arrow, result = equation.partition("->")
    letters = operands.split(",")
    plain = all(c.isascii() and c.islower() for c in "".join([*letters, result]))
    if not arrow or not plain:
        raise TypeRuleError(f"'{equation}' is not a normalised einsum equation")
    if len(set(result)) != len(result) or set(result) - set("".join(letters)):
        raise TypeRuleError(f"'{equation}': the result doubles a letter, or names a new one")
    return letters, result


def letter_sizes(operands: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int | Dim]:
    """The size that each letter of an equation stands for. A size of 1 broadcasts."""
    sizes: dict[str, int | Dim] = {}
    for letters, shape in zip(operands, shapes, strict=True):
        if len(letters) != len(shape):
            raise TypeRuleError(f"'{letters}' names {len(letters)} axes of {len(shape)}")
        for letter, size in zip(letters, shape, strict=True):
            (sizes[letter],) = broadcast_shapes((sizes.get(letter, 1),), (size,))
    return sizes


class EinsumOp(Contraction, name="einsum"):
    """Einstein summation (ONNX Einsum): products summed over letters the result leaves out.

    `equation` is explicit and without ellipsis, ``"bij,bjk->bik"``. A letter that an operand
    doubles takes its diagonal.
    """

    amp = MixedPrecision.NARROW

    xs: Tensors
    equation: Str

    @staticmethod
    def infer(xs: Sequence[TensorType], *, equation: str) -> TensorType:
        letters, result = parse_equation(equation)
        if len(letters) != len(xs):
            raise TypeRuleError(f"'{equation}' is for {len(letters)} operands, not {len(xs)}")
        for x in xs:
            require_number(x)
            if x.dtype != xs[0].dtype:
                raise TypeRuleError(f"operands have element types {xs[0].dtype} and {x.dtype}")
        sizes = letter_sizes(letters, [x.shape for x in xs])
        return xs[0].with_shape(sizes[letter] for letter in result)

    @staticmethod
    def evaluate(xs: Sequence[np.ndarray], *, equation: str) -> np.ndarray:
        dtype = xs[0].dtype
        return np.einsum(equation, *(_summable(x, dtype) for x in xs)).astype(dtype)


matmul = builder(MatmulOp)
einsum = builder(EinsumOp)
