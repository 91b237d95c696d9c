"""Lookup of keys in tables that are known at compile time."""

import numpy as np

from .attributes import Ints
from .base import GraphOp, Tensor, TypeRuleError, builder
from .cuckoo import MAX_SLOTS, SIDES, key_bits, key_dtype, slots_of
from .traits import MixedPrecision
from .types import TensorType


class HashLookupOp(GraphOp, name="hash_lookup"):
    """The value of the key that each element of `x` is, or `default`.

    `keys`, sides by slots, holds the bits of keys (see `cuckoo`), and `values` what they stand for.
    A key is in one slot of each side, which `multipliers` decide. The side that is searched first
    wins.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    keys: Tensor
    values: Tensor
    default: Tensor
    multipliers: Ints

    @staticmethod
    def infer(
        x: TensorType,
        keys: TensorType,
        values: TensorType,
        default: TensorType,
        *,
        multipliers: tuple[int, ...],
    ) -> TensorType:
        is_table = len(multipliers) == keys.rank == SIDES and keys.shape == values.shape
        if not is_table or keys.dtype != key_dtype(x.dtype) or keys.shape[0] != SIDES:
            raise TypeRuleError(f"{keys} and {values} are no table for {x}")
        slots = keys.shape[1]
        if not isinstance(slots, int) or not 0 < slots < MAX_SLOTS:
            raise TypeRuleError(f"a table of {slots} slots")
        if default.rank or default.dtype != values.dtype:
            raise TypeRuleError(f"a default of {default} for values of {values}")
        return x.with_dtype(values.dtype)

    @staticmethod
    def evaluate(
        x: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        default: np.ndarray,
        *,
        multipliers: tuple[int, ...],
    ) -> np.ndarray:
        bits = key_bits(x)
        at = [slots_of(bits, multiplier, keys.shape[1]) for multiplier in multipliers]
        first, second = (keys[side, slots] == bits for side, slots in enumerate(at))
        found = np.where(second, values[1, at[1]], default)
        return np.where(first, values[0, at[0]], found)


hash_lookup = builder(HashLookupOp)
