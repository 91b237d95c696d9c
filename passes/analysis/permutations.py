"""Permutations of the axes of a tensor, as `graph.transpose` has them."""

from collections.abc import Sequence

import numpy as np

Perm = tuple[int, ...]


def inverse(perm: Sequence[int]) -> Perm:
    """The permutation that undoes `perm`."""
    return tuple(int(axis) for axis in np.argsort(perm))


def compose(first: Sequence[int], second: Sequence[int]) -> Perm:
    """The permutation of a transpose by `first` followed by one by `second`."""
    return tuple(first[axis] for axis in second)


def is_identity(perm: Sequence[int]) -> bool:
    return list(perm) == list(range(len(perm)))


def moves_only_units(shape: Sequence[object], perm: Sequence[int]) -> bool:
    """Return whether transposing `shape` by `perm` keeps the order of all axes longer than 1."""
    kept = [axis for axis in perm if shape[axis] != 1]
    return kept == sorted(kept)
