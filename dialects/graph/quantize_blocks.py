"""Activations as integers of 8 bits, quantized by blocks of K while a program runs."""

from dataclasses import dataclass

import numpy as np

from .attributes import Int
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .traits import MixedPrecision
from .types import TensorType

_GROUP = 4
"""Integers of a word."""
_LARGEST = np.float32(127)


@dataclass(frozen=True)
class QuantizedBlock:
    """`size` numbers of a row as words: their integers, four in a word, then the scale, then the
    sum of the integers, both as the bits of an f32. A sum is exact in f32."""

    size: int

    @property
    def is_valid(self) -> bool:
        """True if the integers are whole words."""
        return self.size > 0 and not self.size % _GROUP

    @property
    def groups(self) -> int:
        """Words of integers, behind which the scale is."""
        return self.size // _GROUP

    @property
    def words(self) -> int:
        """Words of a block."""
        return self.groups + 2

    def pack(self, x: np.ndarray) -> np.ndarray:
        """Numbers [..., K] as words [..., K / size * words]."""
        blocks = x.reshape(*x.shape[:-1], -1, self.size)
        scale = abs(blocks).max(-1, keepdims=True) / _LARGEST
        inverse = np.where(scale > 0, np.float32(1) / scale, np.float32(0))
        q = np.nan_to_num(np.rint(blocks * inverse), nan=0, posinf=0, neginf=0).astype(np.int8)
        total = q.sum(-1, keepdims=True, dtype=np.int32).astype(np.float32)
        words = [np.ascontiguousarray(part).view(np.uint32) for part in (q, scale, total)]
        return np.concatenate(words, -1).reshape(*x.shape[:-1], -1)

    def parts(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The integers [rows, blocks, size], and the scales and sums [rows, blocks]."""
        blocks = np.ascontiguousarray(words).reshape(-1, words.shape[-1] // self.words, self.words)
        q = np.ascontiguousarray(blocks[..., : self.groups]).view(np.int8)
        scale, total = (
            np.ascontiguousarray(blocks[..., self.groups + n]).view(np.float32) for n in range(2)
        )
        return q, scale, total


class QuantizeBlocksOp(GraphOp, name="quantize_blocks"):
    """`x`, f32 [..., K], as integers of 8 bits with a scale for each `block` along K.

    A scale is the largest magnitude of a block divided by 127, and integers are ``x / scale``,
    rounded to even: -127 to 127. The result [..., K / block * words] has the layout of
    `QuantizedBlock`. Numbers that are not finite give a scale that is not.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    block: Int

    @staticmethod
    def infer(x: TensorType, *, block: int) -> TensorType:
        layout = QuantizedBlock(block)
        if x.dtype != np.float32 or x.rank < 1:
            raise TypeRuleError(f"quantizes rows of f32, not {x}")
        if not layout.is_valid or not isinstance(x.shape[-1], int) or x.shape[-1] % block:
            raise TypeRuleError(f"cannot cut rows of {x} into blocks of {block}")
        words = x.shape[-1] // block * layout.words
        return TensorType((*x.shape[:-1], words), np.dtype(np.uint32))

    @staticmethod
    def evaluate(x: np.ndarray, *, block: int) -> np.ndarray:
        return QuantizedBlock(block).pack(x)


def quantized_size(x: TensorType, block: int) -> int:
    """The K of rows `x` that are quantized by blocks. TypeRuleError for other rows."""
    layout = QuantizedBlock(block)
    if x.dtype != np.uint32 or x.rank < 1 or not layout.is_valid:
        raise TypeRuleError(f"{x} has no rows of blocks of {block}")
    words = x.shape[-1]
    assert isinstance(words, int)
    blocks, rest = divmod(words, layout.words)
    require_equal_sizes(rest, 0, "words beyond the last block, and none,")
    return blocks * block


quantize_blocks = builder(QuantizeBlocksOp)
