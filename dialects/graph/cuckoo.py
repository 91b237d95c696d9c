"""Hash tables in which a key is in one of two slots (cuckoo hashing).

R. Pagh and F. F. Rodler, "Cuckoo hashing", Journal of Algorithms 51 (2004). The hash functions
multiply and shift (M. Dietzfelbinger et al., "A reliable randomized algorithm for the
closest-pair problem", 1997).
"""

from dataclasses import dataclass

import numpy as np

from .types import is_float

SIDES = 2
"""Hash functions, each with a half of the slots."""

MIX = 0x9E3779B97F4A7C15
"""An odd multiplier (2^64 over the golden ratio) after which all bits of a key count. Without it,
floats, which differ in few and high bits, collide."""

MAX_SLOTS = 1 << 31
"""Slots of a side, of which a share is computed in 64 bits."""

_SEED = 2004
_ROUNDS, _TRIES = 200, 8
"""Rounds of evictions before other hash functions are tried; tries before there are more slots."""


@dataclass(frozen=True)
class HashTable:
    """For each slot, sides by slots, the position of its key among those given (i64).

    A slot that no key needs refers to the first key.
    """

    positions: np.ndarray
    multipliers: tuple[int, ...]


def key_dtype(dtype: np.dtype) -> np.dtype:
    """The signed integer type of the bits by which elements of `dtype` are compared."""
    return np.dtype(f"i{max(dtype.itemsize, 4 if is_float(dtype) else 1)}")


def key_bits(x: np.ndarray) -> np.ndarray:
    """Integers that are equal where elements are: NaN equals NaN, and -0 equals 0."""
    if not is_float(x.dtype):
        return x.view(key_dtype(x.dtype)) if x.dtype != np.bool_ else x.astype(np.int8)
    wide = x.astype(f"f{key_dtype(x.dtype).itemsize}")
    wide = np.where(np.isnan(wide), np.array(np.nan, wide.dtype), wide) + 0
    return wide.view(key_dtype(x.dtype))


def slots_of(bits: np.ndarray, multiplier: int, slots: int) -> np.ndarray:
    """The slot of each key on the side that `multiplier` is for, of fewer than `MAX_SLOTS`.

    The high half of a product says which share of the slots lies before (D. Lemire, "Fast random
    integer generation in an interval", 2019).
    """
    wide, half = bits.astype(np.int64).view(np.uint64), np.uint64(32)
    wide = (wide ^ wide >> half) * np.uint64(MIX)
    share = (wide ^ wide >> half) * np.uint64(multiplier) >> half
    return (share * np.uint64(slots) >> half).astype(np.int64)


def build_hash_table(bits: np.ndarray) -> HashTable:
    """A table of the keys `bits`, at least one and all different."""
    random = np.random.default_rng(_SEED)
    slots = len(bits) * 5 // 4 + 1  # four keys in ten slots; above a half, no place is left
    while True:
        for _ in range(_TRIES):
            multipliers = tuple(int(m) | 1 for m in random.integers(1 << 62, size=SIDES))
            at = np.stack([slots_of(bits, multiplier, slots) for multiplier in multipliers])
            positions = _place(at, slots)
            if positions is not None:
                return HashTable(np.maximum(positions, 0), multipliers)
        slots *= 2


def _place(at: np.ndarray, slots: int) -> np.ndarray | None:
    """The key in each slot, -1 for none, where key ``i`` may be in slot ``at[side, i]``.

    All keys without a slot enter the table together, and those that lose theirs change sides. None
    if there are still some after many rounds.
    """
    table = np.full((SIDES, slots), -1)
    side = np.zeros(at.shape[1], np.int64)
    homeless = np.arange(len(at[0]))
    for _ in range(_ROUNDS):
        homeless = _enter(table, homeless, side[homeless], at)
        if not homeless.size:
            return table
        side[homeless] ^= 1
    return None


def _enter(table: np.ndarray, keys: np.ndarray, sides: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Put `keys` into their slots on `sides`; the keys that are in none afterwards."""
    target = at[sides, keys]
    evicted = np.unique(table[sides, target])
    table[sides, target] = keys
    lost = keys[table[sides, target] != keys]
    return np.concatenate([lost, evicted[evicted >= 0]])
