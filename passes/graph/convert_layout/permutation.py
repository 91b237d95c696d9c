"""Layouts as permutations of axes, and transposes that move no data."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...analysis.permutations import Perm, is_identity, moves_only_units
from ...infra.query import constant_array


def to_channels_last(rank: int) -> Perm:
    """``[N, C, spatial...]`` to ``[N, spatial..., C]``."""
    return (0, *range(2, rank), 1)


def to_channels_first(rank: int) -> Perm:
    """``[N, spatial..., C]`` to ``[N, C, spatial...]``."""
    return (0, rank - 1, *range(1, rank - 1))


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
