"""Inputs drawn at random, for trying programs out."""

from collections.abc import Iterable, Mapping

import numpy as np

from ..symbolic import Dim
from .types import TensorType, is_float, static_size

FIRST_SIZE = 2
"""The smallest size that a name is given; the next name gets the next size."""


def random_inputs(
    types: Iterable[TensorType], seed: int = 0, sizes: Mapping[str, int] | None = None
) -> list[np.ndarray]:
    """An array for each of `types`, the same for the same `seed`.

    Floats are normally distributed; integers are 0 or 1, which index most axes; names that `sizes`
    lacks are given different small ones.
    """
    wanted = list(types)
    sizes = random_sizes(wanted) | dict(sizes or {})
    generator = np.random.default_rng(seed)
    return [_draw(type_, sizes, generator) for type_ in wanted]


def random_sizes(types: Iterable[TensorType]) -> dict[str, int]:
    """A small size for each name in `types`."""
    names: dict[str, int] = {}
    for type_ in types:
        for size in type_.shape:
            for name in sorted(size.symbols()) if isinstance(size, Dim) else ():
                names.setdefault(name, FIRST_SIZE + len(names))
    return names


def _draw(
    type_: TensorType, sizes: Mapping[str, int], generator: np.random.Generator
) -> np.ndarray:
    shape = [static_size(s.evaluate(sizes) if isinstance(s, Dim) else s) for s in type_.shape]
    if is_float(type_.dtype):
        return generator.standard_normal(shape).astype(type_.dtype)
    return generator.integers(0, 2, shape).astype(type_.dtype)
