"""Prediction of the memory that a language model takes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..runtime import CompiledModel
from ..runtime.cache.settings import format_size
from .config import GenerationConfig
from .key_value_cache import capacity_for
from .step_model import CACHE_ROWS, CAPACITY, PAST, cache_names


@dataclass(frozen=True)
class MemoryPrediction:
    """The bytes that a model takes at its peak, beside the program that runs it."""

    weights: int
    """Constants of the compiled steps, which all of these share."""
    cache: int
    """Keys and values."""
    step: int
    """Intermediate results and outputs of the step that takes most."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.cache + self.step

    def __str__(self) -> str:
        weights, cache, step = map(format_size, (self.weights, self.cache, self.step))
        return f"{format_size(self.total)} (weights {weights}, cache {cache}, a step {step})"


def predict_memory(
    config: GenerationConfig,
    steps: Iterable[CompiledModel],
    dtype: np.dtype,
    length: int,
    batch: int,
) -> MemoryPrediction:
    """Predict the memory of `batch` sequences of `length` tokens, for a cache of `dtype` that
    `steps` take and return."""
    held = capacity_for(length, config.context_length)
    row = len(cache_names(config)) * config.kv_heads * held * config.head_size * dtype.itemsize
    sizes = {CAPACITY: held, CACHE_ROWS: batch, PAST: length}
    compiled = list(steps)
    live = max(each.predict_memory(sizes) for each in compiled)
    return MemoryPrediction(
        weights=max(each.constant_bytes for each in compiled),
        cache=batch * row,
        step=max(live - batch * row, 0),
    )
