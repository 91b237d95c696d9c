"""MurmurHash3 of strings and numbers, the 32-bit variant for x86."""

from collections.abc import Callable

import numpy as np

from .registry import host_op

_MASK = 0xFFFFFFFF


@host_op("MurmurHash3", domain="com.microsoft")
def murmur_hash_3(*, positive: int = 1, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """Hash the bytes of each element, UTF-8 for strings; the result is unsigned if `positive`."""
    dtype = np.dtype(np.uint32 if positive else np.int32)

    def compute(x: np.ndarray) -> np.ndarray:
        if x.dtype.hasobject:
            items = [text.encode() for text in x.ravel()]
        else:
            data, size = np.ascontiguousarray(x).tobytes(), x.dtype.itemsize
            items = [data[at : at + size] for at in range(0, len(data), size)]
        hashes = np.array([_murmur(item, seed & _MASK) for item in items], np.uint32)
        return hashes.view(dtype).reshape(x.shape)

    return compute


def _murmur(data: bytes, state: int) -> int:
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        state ^= _scrambled(int.from_bytes(data[at : at + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _MASK
    state ^= _scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    return state ^ state >> 16


def _scrambled(block: int) -> int:
    return (_rotated(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _MASK
