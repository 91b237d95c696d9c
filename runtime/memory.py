"""Memory as compiled code wants it."""

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

ALIGNMENT = 64
"""Bytes. Generated code loads whole vectors from the start of a buffer."""


def aligned_empty(shape: tuple[int, ...], dtype: "DTypeLike") -> np.ndarray:
    """An uninitialised C-contiguous array that a model takes without copying it.

    It begins at a multiple of 64 bytes; numpy aligns to 16.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    offset = -address(raw) % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)


def address(array: np.ndarray) -> int:
    """The address of the first element."""
    return array.__array_interface__["data"][0]


def overlap(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two C-contiguous arrays share memory."""
    begin, other = address(first), address(second)
    return begin < other + second.nbytes and other < begin + first.nbytes
