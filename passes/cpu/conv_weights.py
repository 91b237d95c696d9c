"""Weights of convolutions, constant or computed by the run, in panels for vector registers."""

from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, producer


@dataclass(frozen=True)
class ConvWeights:
    """The channels-last weights `value` [kernel..., C/groups, F] of a convolution."""

    value: ir.Value
    shape: tuple[int, ...]
    dtype: np.dtype
    array: np.ndarray | None
    """The weights if they are constant."""

    @classmethod
    def of(cls, w: ir.Value) -> "ConvWeights":
        """The weights `w` of known sizes."""
        type_ = graph.type_of(w)
        return cls(w, type_.static_shape, type_.dtype, constant_array(w))

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def panels(self, width: int, groups: int = 1, joined: int = 1) -> ir.Value:
        """The weights in panels of `width` features, as `graph.pack_kernel` makes them; `joined` of
        the `groups` become one, if they are constant."""
        if self.array is None:
            return self._computed_panels(width)
        array = graph.join_groups(self.array, groups, joined) if joined > 1 else self.array
        return graph.constant(value=graph.pack_kernel(array, width))

    def _computed_panels(self, width: int) -> ir.Value:
        """Move the weights into panels, from channels-first ones at once."""
        rank, features = len(self.shape), self.shape[-1]
        w, axis = self._channels_first(), 0
        if w is None:
            w, axis = self.value, rank - 1
        shape = list(graph.type_of(w).static_shape)
        if features % width:  # the last panel ends with the features
            whole = features - features % width
            parts = [(0, whole), (features - width, width)]
            w = graph.concat([_sliced(w, axis, *part) for part in parts], axis=axis)
        shape[axis : axis + 1] = [-(-features // width), width]
        w = graph.reshape(w, shape=shape)
        if axis:
            return graph.transpose(w, perm=(axis, *range(axis), axis + 1))
        return graph.transpose(w, perm=(0, *range(3, rank + 1), 2, 1))

    def _channels_first(self) -> ir.Value | None:
        """The weights [F, C/groups, kernel...] that these are a transpose of, if there are any."""
        transposed = producer(self.value, graph.TransposeOp)
        perm = (*range(2, len(self.shape)), 1, 0)
        is_moved = transposed is not None and transposed.attrs["perm"] == perm
        return transposed.x if transposed is not None and is_moved else None


def _sliced(w: ir.Value, axis: int, start: int, size: int) -> ir.Value:
    shape = list(graph.type_of(w).static_shape)
    starts = [0] * len(shape)
    starts[axis], shape[axis] = start, size
    return graph.slice_(w, starts=starts, sizes=shape, steps=[1] * len(shape))
