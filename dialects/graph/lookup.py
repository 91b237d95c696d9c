"""Lookup of keys, and of bytes, in tables that are known at compile time."""

import numpy as np

from .attributes import ElementType, Ints, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .cuckoo import MAX_SLOTS, SIDES, key_bits, key_dtype, slots_of
from .elementwise import ElementwiseOp
from .traits import ExcessPrecision, MixedPrecision
from .types import TensorType

BYTE_UNITS = ("avx2", "avx512bw")
"""Units that look up bytes in vectors, by the names of their instruction sets."""

_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


class HashLookupOp(GraphOp, name="hash_lookup"):
    """The value of the key that each element of `x` is, or `default`.

    `keys`, sides by slots, holds the bits of keys (see `cuckoo`), and `values` what they stand for.
    A key is in one slot of each side, which `multipliers` decide. The side that is searched first
    wins.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

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


class TableOp(ElementwiseOp, name="table"):
    """The element of `table` for each byte of `x` (TOSA's TABLE): `x` of u8 or i8, result of `to`,
    which is one of both.

    The table has an element for each of the 256 bit patterns, in the order of the unsigned numbers
    that they stand for. `unit` names the instruction set that looks up vectors of bytes: ``avx2``
    (VPSHUFB on 256 bits) or ``avx512bw`` (on 512 bits).
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    table: Ints
    to: ElementType
    unit: Str

    @staticmethod
    def infer(x: TensorType, *, table: tuple[int, ...], to: np.dtype, unit: str) -> TensorType:
        if x.dtype not in _BYTES or to not in _BYTES:
            raise TypeRuleError(f"maps bytes to bytes, not {x.dtype} to {to}")
        limits = np.iinfo(to)
        if len(table) != 256 or min(table) < limits.min or max(table) > limits.max:
            raise TypeRuleError(f"the table has {len(table)} elements, not 256 of {to}")
        if unit not in BYTE_UNITS:
            raise TypeRuleError(f"unit must be one of {', '.join(BYTE_UNITS)}, not '{unit}'")
        return x.with_dtype(to)

    @staticmethod
    def evaluate(x: np.ndarray, *, table: tuple[int, ...], to: np.dtype, unit: str) -> np.ndarray:
        del unit
        return np.array(table, to)[x.view(np.uint8)]


hash_lookup = builder(HashLookupOp)
table = builder(TableOp)
