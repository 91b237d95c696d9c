"""Matmuls on weights compressed to 24 bits, for few rows: there, memory bandwidth is the limit.

An element is the first 24 of the 32 bits of f32: sign, exponent, and 15 bits of the fraction.
"""

import numpy as np

from .attributes import Int
from .base import Tensor, TypeRuleError, builder
from .contraction import KernelContraction, MatmulOp, require_equal_sizes
from .types import TensorType

F24_WIDTH = 64
"""Columns of a panel."""
_VECTOR = 16
F24_WORDS = F24_WIDTH * 24 // 32
"""Words of a row of a panel."""


class F24MatmulOp(KernelContraction, name="f24_matmul"):
    """``x w`` of f32 by elements of 24 bits: `x` [..., K], `w` [panels, K, 48] of words, result
    [..., columns].

    A row of a panel holds 64 columns (`pack_f24`); the last panel may be padded. `mr` rows of
    `x` are multiplied at a time.
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int

    @staticmethod
    def infer(x: TensorType, w: TensorType, *, mr: int, columns: int) -> TensorType:
        if x.dtype != np.float32 or w.dtype != np.uint32:
            raise TypeRuleError(f"is for f32 by words, not for {x.dtype} by {w.dtype}")
        if w.rank != 3 or x.rank < 1 or mr < 1 or w.shape[2] != F24_WORDS:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {mr} rows at a time")
        require_equal_sizes(x.shape[-1], w.shape[1], "the contracted sizes")
        if not 0 < columns <= w.static_shape[0] * F24_WIDTH:
            raise TypeRuleError(f"panels {w} do not hold {columns} columns")
        return x.with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, *, mr: int, columns: int) -> np.ndarray:
        del mr
        matrix = unpack_f24(w)[:, :columns]
        return MatmulOp.evaluate(np.atleast_2d(x), matrix).reshape(*x.shape[:-1], columns)


def pack_f24(w: np.ndarray) -> np.ndarray:
    """[K, N] of finite f32, rounded to 24 bits, as panels [ceil(N/64), K, 48] of words.

    A row of a panel is three vectors of 16 words for four vectors of columns. Two words hold the
    first 16 bits of two columns each, the third the next 8 bits of all four. Shifts in registers
    unpack them.
    """
    k, columns = w.shape
    panels = -(-columns // F24_WIDTH)
    words = np.empty((panels, k, 3, _VECTOR), np.uint32)
    for number in range(panels):  # one by one: weights may be large
        part = w[:, number * F24_WIDTH : (number + 1) * F24_WIDTH]
        part = np.pad(part, [(0, 0), (0, F24_WIDTH - part.shape[1])])
        bits = _rounded(part).reshape(k, 4, _VECTOR).transpose(1, 0, 2)
        first, rest = bits >> 8, bits & 0xFF
        words[number, :, 0] = first[0] | first[1] << 16
        words[number, :, 1] = first[2] | first[3] << 16
        words[number, :, 2] = rest[0] | rest[1] << 8 | rest[2] << 16 | rest[3] << 24
    return words.reshape(panels, k, F24_WORDS)


def _rounded(w: np.ndarray) -> np.ndarray:
    """The first 24 bits of f32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(w).view(np.uint32)
    return (bits + (0x7F + ((bits >> 8) & 1)).astype(np.uint32)) >> 8


def unpack_f24(words: np.ndarray) -> np.ndarray:
    """Panels of words as [K, N] of f32, padding included."""
    panels, k, _ = words.shape
    low, high, rest = np.moveaxis(words.reshape(panels, k, 3, _VECTOR), 2, 0)
    first = [low & 0xFFFF, low >> 16, high & 0xFFFF, high >> 16]
    bits = [(f << 16) | ((rest >> 8 * n & 0xFF) << 8) for n, f in enumerate(first)]
    matrix = np.stack(bits, axis=2).astype(np.uint32).view(np.float32)
    return matrix.transpose(1, 0, 2, 3).reshape(k, panels * F24_WIDTH)


f24_matmul = builder(F24MatmulOp)
