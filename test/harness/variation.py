"""Variations of the inputs of a model, and an order of calls with all of them.

A model that is called again with the same arrays gives the same results even if it wrongly reuses
sizes, addresses or intermediate results. Models under test are therefore called with inputs of
other values and other sizes, and with the first inputs again.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

ROUNDS = 3
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)
"""Fractions of true elements in drawn booleans, including none and all."""

Dims = Sequence[int | str | None]


def order_of_calls(count: int, rounds: int = ROUNDS) -> list[int]:
    """The order of calls with `count` inputs, as their numbers: each twice in a row, in `rounds`.

    A second call may reuse the sizes of the first, and the next call follows it.
    """
    return [number for _ in range(rounds) for number in range(count) for _ in range(2)]


def other_values(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """An array of the same shape with elements drawn from `array`.

    A single number, such as a count, size or index, becomes one near it on the same side of zero.
    """
    return with_shape(array, array.shape, random)


def with_shape(array: np.ndarray, shape: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """An array of `shape` with elements drawn from `array`; for a single number, see
    `other_values`."""
    count = math.prod(shape)
    if array.dtype.kind not in "biufcV" or not array.size:
        return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    if array.dtype.kind == "b":
        return np.asarray(random.random(shape) < random.choice(SHARES))
    if array.size == count == 1:
        return _near(array, random)
    return array.reshape(-1)[random.integers(array.size, size=count)].reshape(shape)


def _near(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if array.dtype.kind not in "iu":
        return np.asarray(array * random.choice((0.5, 0.75))).astype(array.dtype)
    number = int(array.item())
    if not number:
        return array
    bounds = np.iinfo(array.dtype)
    near = [number + step for step in (-2, -1, 1, 2)]
    near = [each for each in near if each * number > 0 and bounds.min <= each <= bounds.max]
    return np.full_like(array, random.choice(near))


def other_sizes(
    dims: Mapping[str, Dims],
    feeds: Mapping[str, np.ndarray],
    random: np.random.Generator,
    larger: bool,
) -> dict[str, np.ndarray] | None:
    """`feeds` with other sizes for the named dimensions in `dims`, which maps inputs to dimensions.

    Names of equal size get one new size, so that equal sizes stay equal. Occasionally only one size
    changes, because the others may be fixed. None if there are no names.
    """
    found = {size for name, array in feeds.items() for size in _named(dims[name], array)}
    named = sorted(size for size in found if larger or size > 1)
    if not named:
        return None
    if random.random() < 0.5:
        named = [named[int(random.integers(len(named)))]]
    sizes = {size: _other_size(size, random, larger) for size in named}
    return {
        name: with_shape(array, _with_sizes(array, dims[name], sizes), random)
        for name, array in feeds.items()
    }


def _with_sizes(array: np.ndarray, dims: Dims, sizes: Mapping[int, int]) -> list[int]:
    """The shape of `array` with its named sizes replaced as in `sizes`."""
    return [
        sizes[size] if isinstance(dim, str) and size in sizes else size
        for dim, size in zip(dims, array.shape, strict=True)
    ]


def _named(dims: Dims, array: np.ndarray) -> list[int]:
    """The sizes of the named dimensions of `array`."""
    pairs = zip(dims, array.shape, strict=True)
    return [size for dim, size in pairs if isinstance(dim, str)]


def _other_size(size: int, random: np.random.Generator, larger: bool) -> int:
    return size + int(random.integers(1, 10)) if larger else int(random.integers(1, size))
