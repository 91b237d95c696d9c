"""Strided views: tensors that alias the buffer of another one."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ..symbolic import Dim, floordiv
from .base import GraphOp
from .movement import ReshapeOp, SliceOp, TransposeOp, element_count
from .types import Shape, static_size


@dataclass(frozen=True)
class View:
    """A tensor of `shape` within another one: element ``i`` is element ``start + i . strides`` of
    that one, in row-major order. Sizes, start and strides may be symbolic."""

    shape: Shape
    start: int | Dim
    strides: Shape

    @classmethod
    def whole(cls, shape: Iterable[int | Dim]) -> "View":
        """The view of a whole tensor of `shape`."""
        sizes = tuple(shape)
        return cls._of(sizes, 0, _row_major(sizes, 1))

    @classmethod
    def through(cls, shape: Iterable[int | Dim], ops: Iterable[GraphOp]) -> "View | None":
        """The view that a chain of `ops` makes of a tensor of `shape`; None if they copy or compute
        anything, or if sizes that are not known would tell."""
        view: View | None = cls.whole(shape)
        for op in ops:
            view = None if view is None else view._moved(op)
        return view

    @classmethod
    def _of(cls, shape: Shape, start: int | Dim, strides: Iterable[int | Dim]) -> "View":
        kept = (0 if size == 1 else n for size, n in zip(shape, strides, strict=True))
        return cls(shape, start, tuple(kept))

    @property
    def attribute(self) -> Shape:
        """The start and the strides."""
        return (self.start, *self.strides)

    @property
    def is_whole(self) -> bool:
        """True if the elements are contiguous, in row-major order, from element 0 on."""
        return self == View.whole(self.shape)

    def fits(self, shape: Shape) -> bool:
        """Return whether all elements of the view are within a tensor of `shape`, or may be, if
        sizes are not known."""
        if any(isinstance(n, Dim) for n in (*self.shape, *self.attribute, *shape)):
            return True
        start, sizes, strides = self._numbers()
        steps = [(size - 1) * n for size, n in zip(sizes, strides, strict=True)]
        first = start + sum(min(step, 0) for step in steps)
        last = start + sum(max(step, 0) for step in steps)
        return first >= 0 and last < math.prod(map(static_size, shape))

    def of(self, x: np.ndarray) -> np.ndarray:
        """These elements of `x`; all sizes must be known."""
        flat = np.ascontiguousarray(x).reshape(-1)
        start, sizes, strides = self._numbers()
        return np.lib.stride_tricks.as_strided(
            flat[start:], sizes, [n * flat.itemsize for n in strides], writeable=False
        )

    def _numbers(self) -> tuple[int, list[int], list[int]]:
        """The start, the shape and the strides, which must be known."""
        return (
            static_size(self.start),
            [static_size(size) for size in self.shape],
            [static_size(stride) for stride in self.strides],
        )

    def _moved(self, op: GraphOp) -> "View | None":
        """The view of the result of `op` on this view."""
        attrs = op.attrs
        if isinstance(op, TransposeOp):
            order: tuple[int, ...] = attrs["perm"]
            shape = tuple(self.shape[axis] for axis in order)
            return View(shape, self.start, tuple(self.strides[axis] for axis in order))
        if isinstance(op, SliceOp):
            start, firsts, steps = self.start, op.starts, op.steps
            for first, stride in zip(firsts, self.strides, strict=True):
                start = start + first * stride
            strides = (step * n for step, n in zip(steps, self.strides, strict=True))
            return View._of(tuple(op.sizes), start, strides)
        assert isinstance(op, ReshapeOp)
        return self.reshaped(tuple(op.shape))

    def reshaped(self, shape: Shape) -> "View | None":
        """The view in another `shape`; None if axes that merge are not contiguous, or if sizes that
        are not known would tell."""
        if shape == self.shape:
            return self
        groups = None if 0 in self.shape else matching_axes(self.shape, shape)
        if groups is None:
            return None
        strides: list[int | Dim] = [0] * len(shape)
        for merged, split in groups:
            inner = self.strides[merged[-1]]
            expected = _row_major([self.shape[i] for i in merged], inner)
            if any(self.strides[i] != n for i, n in zip(merged, expected, strict=True)):
                return None
            for i, n in zip(split, _row_major([shape[i] for i in split], inner), strict=True):
                strides[i] = n
        return View._of(shape, self.start, strides)


def matching_axes(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]] | None:
    """The axes of `old` and `new`, between which a reshape goes, in the smallest groups of equally
    many elements; None if sizes that are not known would tell. Axes of size 1 are in no group."""
    left = [i for i, size in enumerate(old) if size != 1]
    right = [i for i, size in enumerate(new) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    while left and right:
        found = _group([old[i] for i in left], [new[i] for i in right])
        if found is None:
            return None
        groups.append((left[: found[0]], right[: found[1]]))
        left, right = left[found[0] :], right[found[1] :]
    return None if left or right else groups


def _row_major(shape: Sequence[int | Dim], inner: int | Dim) -> list[int | Dim]:
    """The strides of contiguous axes, of which the last has the stride `inner`."""
    strides: list[int | Dim] = []
    for size in reversed(shape):
        strides.insert(0, inner)
        inner = inner * size
    return strides


def _group(old: Shape | list[int | Dim], new: Shape | list[int | Dim]) -> tuple[int, int] | None:
    """The numbers of the first axes of `old` and `new` that hold equally many elements; None if
    that cannot be told."""
    merged = split = 1
    while (have := element_count(old[:merged])) != (want := element_count(new[:split])):
        if split < len(new) and _is_less(want, have):
            split += 1
        elif merged < len(old) and _is_less(have, want):
            merged += 1
        else:
            return None
    return merged, split


def _is_less(a: int | Dim, b: int | Dim) -> bool:
    """Return whether `a` is less than `b`, or if they are not numbers, whether it divides `b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return floordiv(b, a) * a == b


def is_movement(op: object) -> TypeGuard[ReshapeOp | TransposeOp | SliceOp]:
    """Return whether `op` only moves elements, so that its result may be a view."""
    return isinstance(op, ReshapeOp | TransposeOp | SliceOp)
