"""Other inputs for a model than those it comes with, and an order of calls with all of them.

A model that is called again with the same arrays gives the same again even where it has kept what
it should have computed anew: sizes, addresses, intermediate results. So models under test are
called with inputs of other values and of other sizes, and with the first ones again.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

ROUNDS = 3
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)
"""Fractions of true elements in drawn booleans: now and then none, or all."""

Dims = Sequence[int | str | None]


def order_of_calls(count: int) -> list[int]:
    """The numbers of `count` inputs in the order of calls: each twice in a row, in three rounds.

    The second of two calls may be made for the sizes of the first, and the next call follows it.
    """
    return [number for _ in range(ROUNDS) for number in range(count) for _ in range(2)]


def other_values(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """An array of the same shape, of elements that `array` has.

    A single number becomes one near it, on the same side of zero: a count, a size, a place.
    """
    return with_shape(array, array.shape, random)


def with_shape(array: np.ndarray, shape: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """An array of `shape`, of elements that `array` has; a single number: see `other_values`."""
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
    """`feeds` with other sizes where `dims`, of inputs by name, has names for them.

    Names of one size get one size, so that what was equal stays so. Now and then only one size
    changes: the others may have to be what they are. None where there are no names.
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
    """The shape of `array` where those of its sizes that have names are what `sizes` says."""
    return [
        sizes[size] if isinstance(dim, str) and size in sizes else size
        for dim, size in zip(dims, array.shape, strict=True)
    ]


def _named(dims: Dims, array: np.ndarray) -> list[int]:
    """The sizes of `array` that have names."""
    pairs = zip(dims, array.shape, strict=True)
    return [size for dim, size in pairs if isinstance(dim, str)]


def _other_size(size: int, random: np.random.Generator, larger: bool) -> int:
    return size + int(random.integers(1, 10)) if larger else int(random.integers(1, size))
