"""Permutations of axes, and transposes that move no data."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array

Perm = tuple[int, ...]


def to_channels_last(rank: int) -> Perm:
    """``[N, C, spatial...]`` to ``[N, spatial..., C]``."""
    return (0, *range(2, rank), 1)


def to_channels_first(rank: int) -> Perm:
    """``[N, spatial..., C]`` to ``[N, C, spatial...]``."""
    return (0, rank - 1, *range(1, rank - 1))


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


def transposed(value: ir.Value, perm: Sequence[int]) -> ir.Value:
    """Transpose `value`, as a new constant, a reshape or a `graph.transpose`: the cheapest one."""
    if is_identity(perm):
        return value
    array = constant_array(value)
    if array is not None:
        return graph.constant(value=np.transpose(array, perm))
    shape = graph.type_of(value).shape
    if moves_only_units(shape, perm):
        return graph.reshape(value, shape=[shape[axis] for axis in perm])
    return graph.transpose(value, perm=perm)


def transposes_freely(value: ir.Value, perm: Sequence[int]) -> bool:
    """Return whether `transposed` moves no data at run time."""
    return constant_array(value) is not None or moves_only_units(graph.type_of(value).shape, perm)
