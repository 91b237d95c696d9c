"""Contractions: sums of products over shared axes."""

from collections.abc import Sequence

import numpy as np

from ..symbolic import Dim, UndecidableError, decide_equal
from .attributes import Str
from .base import GraphOp, Tensor, Tensors, TypeRuleError, builder
from .elementwise import broadcast_shapes, require_number
from .types import TensorType, is_float


def _accumulate(function, *operands: np.ndarray) -> np.ndarray:
    """Run `function` with small floats widened, so that sums are not rounded at every step."""
    dtype = operands[0].dtype
    if is_float(dtype) and dtype.itemsize < 4:
        return function(*(x.astype(np.float32) for x in operands)).astype(dtype)
    return function(*operands)


def require_equal_sizes(a: int | Dim, b: int | Dim, what: str) -> None:
    """TypeRuleError when two sizes differ for every value of the named sizes."""
    try:
        same = decide_equal(a, b)
    except UndecidableError:
        return
    if not same:
        raise TypeRuleError(f"{what} are {a} and {b}")


class MatmulOp(GraphOp, name="matmul"):
    """Matrix product over the last two axes; the axes before broadcast (ONNX MatMul 13).

    `a` [..., M, K], `b` [..., K, N]; result [..., M, N]. Operands of rank 1 are the frontend's.
    """

    a: Tensor
    b: Tensor

    @staticmethod
    def infer(a: TensorType, b: TensorType) -> TensorType:
        require_number(a)
        if a.dtype != b.dtype:
            raise TypeRuleError(f"operands have element types {a.dtype} and {b.dtype}")
        if a.rank < 2 or b.rank < 2:
            raise TypeRuleError(f"needs operands of rank 2 or more, not {a} and {b}")
        require_equal_sizes(a.shape[-1], b.shape[-2], "the contracted sizes")
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return a.with_shape((*batch, a.shape[-2], b.shape[-1]))

    @staticmethod
    def evaluate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return _accumulate(np.matmul, a, b)


class EinsumOp(GraphOp, name="einsum"):
    """Einstein summation (ONNX Einsum 12).

    `equation` is explicit (``ij,jk->ik``), in lower-case letters, without ellipsis or spaces.
    """

    xs: Tensors
    equation: Str

    @staticmethod
    def infer(xs: Sequence[TensorType], *, equation: str) -> TensorType:
        terms, arrow, result = equation.partition("->")
        letters = terms.split(",")
        if not arrow or len(letters) != len(xs):
            raise TypeRuleError(f"equation '{equation}' does not fit {len(xs)} operands")
        sizes: dict[str, int | Dim] = {}
        for x, term in zip(xs, letters, strict=True):
            if len(term) != x.rank:
                raise TypeRuleError(f"'{term}' does not name the axes of {x}")
            for letter, size in zip(term, x.shape, strict=True):
                known = sizes.setdefault(letter, size)
                if known == 1:
                    sizes[letter] = size
                elif size != 1:
                    require_equal_sizes(known, size, f"the sizes of '{letter}'")
        if not set(result) <= set(sizes):
            raise TypeRuleError(f"equation '{equation}' makes up an axis")
        return xs[0].with_shape(sizes[letter] for letter in result)

    @staticmethod
    def evaluate(xs: Sequence[np.ndarray], *, equation: str) -> np.ndarray:
        return _accumulate(lambda *arrays: np.einsum(equation, *arrays, optimize=True), *xs)


matmul = builder(MatmulOp)
einsum = builder(EinsumOp)
