"""Aligned host memory, as compiled code requires it."""

import ctypes
import functools
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

ALIGNMENT = 64
"""Alignment in bytes of what is allocated here, so that vectors lie within cache lines. Code of
GPUs, and of modules that say nothing else, relies on it."""

ARRAY_ALIGNMENT = 16
"""Alignment in bytes of arrays that numpy allocates, all that generated code for CPUs relies on."""


def aligned_empty(shape: tuple[int, ...], dtype: "DTypeLike") -> np.ndarray:
    """An uninitialised C-contiguous array that a model takes without copying it.

    Its address is a multiple of 64 bytes; numpy aligns to 16, which suffices except for modules
    compiled by earlier versions, but vectors of 64 bytes then cross cache lines.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    offset = -address(raw) % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)


def address(array: np.ndarray) -> int:
    """The address of the first element."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, array)))  # 4 times as fast
    except (TypeError, ValueError, BufferError):  # read-only, strided, empty, of another library
        return array.__array_interface__["data"][0]


def span(array: np.ndarray) -> tuple[int, int]:
    """The begin and end addresses of a C-contiguous array."""
    begin = address(array)
    return begin, begin + array.nbytes


@functools.lru_cache(maxsize=256)
def bytes_type(size: int) -> type[Any]:
    """The type of `size` bytes of memory. It takes longer to make than a small model to run."""
    return ctypes.c_char * size


def memory_at(begin: int, size: int) -> Any:
    """The `size` bytes at the address `begin`, for a new array; they must outlive it. Attributes
    that are set on the result live as long as the array and its views."""
    return bytes_type(size).from_address(begin)
