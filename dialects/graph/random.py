"""Counter-based random numbers: each element is a function of its position and a seed.

So there is no state, elements can be computed in any order, and the same seed gives the same
numbers in every run. Distributions are arithmetic on the bits.
"""

from math import prod

import numpy as np

from .attributes import Int, Sizes
from .base import GraphOp, TypeRuleError, builder
from .traits import MixedPrecision
from .types import Shape, StaticShape, TensorType

PHILOX_MULTIPLIER = 0xD256D193
PHILOX_WEYL = 0x9E3779B9
PHILOX_ROUNDS = 10
MASK_32 = 0xFFFFFFFF


def philox_keys(seed: int) -> list[int]:
    """The key of each round."""
    return [(seed + i * PHILOX_WEYL) & MASK_32 for i in range(PHILOX_ROUNDS)]


class RandomBitsOp(GraphOp, name="random_bits"):
    """Uniformly distributed bits: Philox2x32-10 (Salmon et al., 2011) of each position, as ui64.

    `sizes` is the shape, `seed` (32 bits) the key. Element ``i``, in row-major order, has the
    counter ``i``; the first word of the generator is its lower half.
    """

    amp = MixedPrecision.KEEP

    sizes: Sizes
    seed: Int

    @staticmethod
    def infer(*, sizes: Shape, seed: int) -> TensorType:
        if not 0 <= seed <= MASK_32:
            raise TypeRuleError(f"seed {seed} is not a number of 32 bits")
        return TensorType(sizes, np.dtype(np.uint64))

    @staticmethod
    def evaluate(*, sizes: StaticShape, seed: int) -> np.ndarray:
        counter = np.arange(prod(sizes), dtype=np.uint64).reshape(sizes)
        return philox(counter, seed)


def philox(counter: np.ndarray, seed: int) -> np.ndarray:
    """Philox2x32-10 of each counter (ui64)."""
    half, mask = np.uint64(32), np.uint64(MASK_32)
    low, high = counter & mask, counter >> half
    for key in philox_keys(seed):
        product = low * np.uint64(PHILOX_MULTIPLIER)
        low, high = (product >> half) ^ np.uint64(key) ^ high, product & mask
    return (high << half) | low


random_bits = builder(RandomBitsOp)
