"""The keys and values of a batch, handed from step to step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..runtime import DeviceTensor, aligned_empty
from .config import GenerationConfig
from .step_model import cache_names

FIRST_CAPACITY = 256
"""Rows of a new cache; more come by doubling."""


class KeyValueCache:
    """Keys and values of `batch` sequences, ``[batch, heads, capacity, head size]`` per layer.

    A step takes over the memory of the tensors and returns it, updated in place: nothing is copied
    between steps. Growing copies one tensor after the other, to where `place` takes it: the device.
    """

    def __init__(
        self,
        config: GenerationConfig,
        batch: int,
        dtype: np.dtype,
        place: Callable[[np.ndarray], Any],
    ):
        self._names = cache_names(config)
        self._limit = config.context_length
        self._tensors: list[Any] = []
        self._shape = (batch, config.kv_heads, 0, config.head_size)
        self._dtype = dtype
        self._place = place

    @property
    def rows(self) -> int:
        """Sequences that there is room for."""
        return self._shape[0]

    @property
    def capacity(self) -> int:
        """Positions that there is room for."""
        return self._shape[2]

    def reserve(self, length: int) -> None:
        """Make room for `length` positions; the contents stay, also where memory is short."""
        if length <= self.capacity:
            return
        old = self._shape
        self._shape = (*old[:2], capacity_for(length, self._limit), old[3])
        tensors = self._tensors or [np.zeros(old, self._dtype)] * len(self._names)
        grown: list[Any] = []
        try:
            while len(grown) < len(self._names):
                grown.append(self._grown(tensors[0]))
                del tensors[0]
        except BaseException:
            self._shape = old
            shrunk = [np.ascontiguousarray(as_array(each)[:, :, : old[2]]) for each in grown]
            self._tensors = [*shrunk, *tensors] if old[2] else []
            raise
        self._tensors = grown

    def _grown(self, tensor: Any) -> Any:
        """A tensor with more positions."""
        array = aligned_empty(self._shape, self._dtype)
        array[:, :, : tensor.shape[2]] = as_array(tensor)
        array[:, :, tensor.shape[2] :] = 0
        return self._place(array)

    def feeds(self) -> dict[str, Any]:
        """The inputs of a step."""
        return {past: each for (past, _), each in zip(self._names, self._tensors, strict=True)}

    def update(self, outputs: Mapping[str, Any]) -> None:
        """Take over the tensors that a step returned."""
        self._tensors = [outputs[present] for _, present in self._names]

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of row `source` to row `target`."""
        for number in range(len(self._tensors)):
            array = self._writable(number)
            array[target, :, :length] = array[source, :, :length]

    def _writable(self, number: int) -> np.ndarray:
        """The elements of a tensor on the host, where what is written to them is the tensor's."""
        tensor = self._tensors[number]
        if isinstance(tensor, DeviceTensor) and not tensor.is_local:
            tensor = self._tensors[number] = tensor.numpy().copy()
        return tensor if isinstance(tensor, np.ndarray) else tensor.writable()

    @property
    def is_lost(self) -> bool:
        """True if a step that failed had taken over the memory."""
        given = (each for each in self._tensors if isinstance(each, DeviceTensor))
        return not all(each.has_memory for each in given)

    @property
    def output_names(self) -> Sequence[str]:
        """The outputs of a step that are the cache."""
        return [present for _, present in self._names]


def capacity_for(length: int, limit: int) -> int:
    """The positions of a cache that `length` tokens have made grow, to `limit` at most."""
    doubled = FIRST_CAPACITY
    while doubled < length:
        doubled *= 2
    return max(length, min(doubled, limit))


def as_array(value: Any) -> np.ndarray:
    """The elements of an output that may have stayed on the device."""
    return value if isinstance(value, np.ndarray) else value.numpy()
