"""Keys and values of models whose steps return a longer cache than they get."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .config import GenerationConfig
from .key_value_cache import as_array
from .step_model import cache_names


class GrowingCache:
    """Keys and values of `rows` sequences, ``[1, heads, length, head size]`` per layer and row.

    A step reads those of one sequence, and returns them with the new ones behind: it copies them.
    """

    is_lost = False
    """Nothing is given away."""

    def __init__(self, config: GenerationConfig, rows: int, dtype: np.dtype):
        self.rows = rows
        self._names = cache_names(config)
        empty = np.zeros((1, config.kv_heads, 0, config.head_size), dtype)
        self._tensors: list[list[Any]] = [[empty] * len(self._names) for _ in range(rows)]

    def reserve(self, length: int) -> None:
        """Nothing: steps allocate what they return."""

    def feeds(self, row: int, length: int) -> dict[str, Any]:
        """The inputs of a step for a row, whose first `length` positions count."""
        self._tensors[row] = [_first(each, length) for each in self._tensors[row]]
        pairs = zip(self._names, self._tensors[row], strict=True)
        return {past: each for (past, _), each in pairs}

    def update(self, row: int, outputs: Mapping[str, Any]) -> None:
        """Keep what a step for a row returned."""
        self._tensors[row] = [outputs[present] for _, present in self._names]

    def copy(self, source: int, target: int, length: int) -> None:
        """Let row `target` begin with the first `length` positions of row `source`."""
        self._tensors[target] = [_first(each, length) for each in self._tensors[source]]

    @property
    def output_names(self) -> Sequence[str]:
        """The outputs of a step that are the cache."""
        return [present for _, present in self._names]


def _first(tensor: Any, length: int) -> Any:
    """The first `length` positions of a tensor, which has as many at least."""
    if tensor.shape[2] == length:
        return tensor
    return np.ascontiguousarray(as_array(tensor)[:, :, :length])
