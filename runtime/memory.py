"""Memory as compiled code wants it."""

import math

import numpy as np

ALIGNMENT = 64
"""Bytes. Generated code loads whole vectors from the start of a buffer."""


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised C-contiguous array that begins at a multiple of `ALIGNMENT`."""
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
