"""Strided views: tensors that alias the buffer of another one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from .base import GraphOp
from .movement import ReshapeOp, SliceOp, TransposeOp
from .types import StaticShape


@dataclass(frozen=True)
class View:
    """A tensor of `shape` within another one: element ``i`` is element ``start + i . strides`` of
    that one, in row-major order."""

    shape: StaticShape
    start: int
    strides: tuple[int, ...]

    @classmethod
    def whole(cls, shape: Iterable[int]) -> "View":
        """The view of a whole tensor of `shape`."""
        return cls._of(np.empty(tuple(shape), np.int8), 0)

    @classmethod
    def through(cls, shape: Iterable[int], ops: Iterable[GraphOp]) -> "View | None":
        """The view that a chain of `ops` makes of a tensor of `shape`; None if they copy or compute
        anything.

        The ops run on numpy views of memory that is never written, and so takes no physical pages.
        """
        seen = memory = np.empty(tuple(shape), np.int8)
        for op in ops:
            seen = _moved(seen, op)
            if not np.may_share_memory(seen, memory):
                return None
        return cls._of(seen, _address(seen) - _address(memory))

    @classmethod
    def _of(cls, seen: np.ndarray, start: int) -> "View":
        strides = [0 if size == 1 else n for size, n in zip(seen.shape, seen.strides, strict=True)]
        return cls(seen.shape, start, tuple(strides))

    @property
    def attribute(self) -> tuple[int, ...]:
        """The start and the strides."""
        return (self.start, *self.strides)

    @property
    def is_whole(self) -> bool:
        """True if the elements are contiguous, in row-major order, from element 0 on."""
        return self == View.whole(self.shape)

    def fits(self, shape: StaticShape) -> bool:
        """Return whether all elements of the view are within a tensor of `shape`."""
        steps = [(size - 1) * n for size, n in zip(self.shape, self.strides, strict=True)]
        first = self.start + sum(min(step, 0) for step in steps)
        last = self.start + sum(max(step, 0) for step in steps)
        return first >= 0 and last < math.prod(shape)

    def of(self, x: np.ndarray) -> np.ndarray:
        """These elements of `x`."""
        flat = np.ascontiguousarray(x).reshape(-1)
        strides = [n * flat.itemsize for n in self.strides]
        return np.lib.stride_tricks.as_strided(
            flat[self.start :], self.shape, strides, writeable=False
        )


def is_movement(op: object) -> TypeGuard[ReshapeOp | TransposeOp | SliceOp]:
    """Return whether `op` only moves elements, so that its result may be a view."""
    return isinstance(op, ReshapeOp | TransposeOp | SliceOp)


def _moved(x: np.ndarray, op: GraphOp) -> np.ndarray:
    attrs = op.attrs
    if not isinstance(op, SliceOp):
        return type(op).evaluate(x, **attrs)
    parts = zip(attrs["starts"], attrs["sizes"], attrs["steps"], strict=True)
    return x[tuple(_part(*each) for each in parts)]


def _part(start: int, size: int, step: int) -> slice:
    stop = start + size * step
    return slice(start, None if stop < 0 else stop, step)


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]
