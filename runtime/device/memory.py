"""Aligned host memory, as compiled code requires it."""

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

ALIGNMENT = 64
"""Alignment in bytes. Generated code loads whole vectors from the start of a buffer."""


def aligned_empty(shape: tuple[int, ...], dtype: "DTypeLike") -> np.ndarray:
    """An uninitialised C-contiguous array that a model takes without copying it.

    Its address is a multiple of 64 bytes; numpy aligns to 16.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    offset = -address(raw) % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)


def address(array: np.ndarray) -> int:
    """The address of the first element."""
    return array.__array_interface__["data"][0]


def span(array: np.ndarray) -> tuple[int, int]:
    """The begin and end addresses of a C-contiguous array."""
    begin = address(array)
    return begin, begin + array.nbytes
