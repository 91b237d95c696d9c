"""Pictures in the forms in which models take them."""

from collections.abc import Callable, Sequence

import numpy as np

from .entry import Maker, Shape

Drawing = Callable[[int, int, np.random.Generator], np.ndarray]


def channels_first(
    draw: Drawing, *, scale: float = 1.0, mean: Sequence[float] = (0.0,), std: float = 1.0
) -> Maker:
    """Pictures as batch, channels, rows, columns; ``(scale * picture - mean) / std``.

    If the shape has one channel, it is the brightness.
    """

    def make(shape: Shape) -> np.ndarray:
        batch, channels, height, width = shape
        pictures = np.stack([draw(height, width, np.random.default_rng(i)) for i in range(batch)])
        if channels == 1:
            pictures = pictures.mean(-1, keepdims=True)
        moved = (scale * pictures - np.asarray(mean)) / std
        return np.ascontiguousarray(np.moveaxis(moved, -1, 1), np.float32)

    return make


def channels_last(draw: Drawing, *, scale: float, mean: Sequence[float]) -> Maker:
    """Pictures as batch, rows, columns, channels, blue first; ``scale * picture - mean``."""

    def make(shape: Shape) -> np.ndarray:
        batch, height, width, _ = shape
        pictures = np.stack([draw(height, width, np.random.default_rng(i)) for i in range(batch)])
        return np.ascontiguousarray(scale * pictures[..., ::-1] - np.asarray(mean), np.float32)

    return make
