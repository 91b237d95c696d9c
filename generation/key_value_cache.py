"""The keys and values of a batch, handed from step to step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..runtime import aligned_empty
from .config import GenerationConfig
from .step_model import cache_names

FIRST_CAPACITY = 256
"""Rows of a new cache; more come by doubling."""


class KeyValueCache:
    """Keys and values of `batch` sequences, ``[batch, heads, capacity, head size]`` per layer.

    A step takes over the memory of the tensors and returns it, updated in place: nothing is copied
    between steps. Growing copies, and so do `insert` and a step of one row of several.
    """

    def __init__(self, config: GenerationConfig, batch: int, dtype: np.dtype):
        self._names = cache_names(config)
        self._limit = config.context_length
        self._tensors: list[Any] = []
        self._shape = (batch, config.kv_heads, 0, config.head_size)
        self._dtype = dtype

    @property
    def capacity(self) -> int:
        """Positions that there is room for."""
        return self._shape[2]

    def reserve(self, length: int) -> None:
        """Make room for `length` positions; the contents stay, also where memory is short."""
        if length <= self.capacity:
            return
        batch, heads, old, size = self._shape
        doubled = FIRST_CAPACITY
        while doubled < length:
            doubled *= 2
        shape = (batch, heads, max(length, min(doubled, self._limit)), size)
        grown = [self._zeros(shape) for _ in self._names]
        for new, tensor in zip(grown, self._tensors, strict=bool(old)):
            new[:, :, :old] = as_array(tensor)
        self._tensors, self._shape = grown, shape

    def _zeros(self, shape: tuple[int, ...]) -> np.ndarray:
        array = aligned_empty(shape, self._dtype)
        array.fill(0)
        return array

    def feeds(self, row: int | None = None) -> dict[str, Any]:
        """The inputs of a step, for all rows or one."""
        tensors = self._tensors
        if row is not None and self._shape[0] > 1:
            tensors = [as_array(each)[row : row + 1] for each in tensors]
        return {past: each for (past, _), each in zip(self._names, tensors, strict=True)}

    def update(self, outputs: Mapping[str, Any], row: int | None = None) -> None:
        """Take over the tensors that a step returned for `feeds(row)`."""
        given = [outputs[present] for _, present in self._names]
        if row is None or self._shape[0] == 1:
            self._tensors = given
            return
        self._tensors = [_writable(each) for each in self._tensors]
        for tensor, new in zip(self._tensors, given, strict=True):
            tensor[row] = as_array(new)[0]

    def insert(self, row: int, source: "KeyValueCache", length: int) -> None:
        """Copy the first `length` positions of `source`, of one sequence, to `row`."""
        self.reserve(length)
        self._tensors = [_writable(each) for each in self._tensors]
        for tensor, given in zip(self._tensors, source._tensors, strict=True):
            tensor[row, :, :length] = as_array(given)[0, :, :length]

    @property
    def output_names(self) -> Sequence[str]:
        """The outputs of a step that are the cache."""
        return [present for _, present in self._names]


def as_array(value: Any) -> np.ndarray:
    """The elements of an output that may have stayed on the device."""
    return value if isinstance(value, np.ndarray) else value.numpy()


def _writable(value: Any) -> np.ndarray:
    """`value`, or a copy if it belongs to a device."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        return value
    array = as_array(value)
    copy = aligned_empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy
