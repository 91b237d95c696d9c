"""Integer tensors whose elements are affine in their position, as exporters use for indices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....dialects import graph
from ....dialects.graph.types import Shape
from ....dialects.symbolic import Dim
from ....mlir import ir
from ...infra.query import constant_array, producer

Size = int | Dim


@dataclass(frozen=True)
class Affine:
    """``x[i, j, ...] = offset + strides[0] * i + strides[1] * j + ...``, of shape `shape`.

    Axes of size 1 have stride 0.
    """

    shape: Shape
    strides: tuple[Size, ...]
    offset: Size

    @property
    def is_uniform(self) -> bool:
        """True if all elements are equal."""
        return all(stride == 0 for stride in self.strides)

    @property
    def minimum(self) -> int | None:
        """A lower bound of all elements, or None if the form gives none."""
        lowest = [_minimum(stride) for stride in self.strides]
        rises = all(bound is not None and bound >= 0 for bound in lowest)
        return _minimum(self.offset) if rises else None

    def numbers(self, shape: Sequence[Size]) -> bool:
        """Return whether the elements are 0, 1, 2, ... in row-major order, as many as `shape`
        has."""
        expected: Size = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size == 1:
                continue
            if stride != expected:
                return False
            expected = expected * size
        return self.offset == 0 and expected == graph.element_count(list(shape))


def affine(value: ir.Value) -> Affine | None:
    """The affine form of a tensor of i64, or None if none is known."""
    type_ = graph.type_of(value)
    if type_.dtype != np.int64:
        return None
    array = constant_array(value)
    if array is not None:
        return _of_array(array)
    for op_class, rule in _RULES.items():
        op = producer(value, op_class)
        if op is not None:
            return rule(op, type_.shape)
    return None


def difference(a: ir.Value, b: ir.Value) -> Affine | None:
    """The affine form of ``a - b``, broadcast; None if none is known."""
    left, right = affine(a), affine(b)
    return None if left is None or right is None else _added(left, _scaled(right, -1))


def _of_array(array: np.ndarray) -> Affine | None:
    if array.size == 0:
        return None
    first = array.reshape(-1)[0]
    strides = []
    for axis, size in enumerate(array.shape):
        second = tuple(int(i == axis) for i in range(array.ndim))
        strides.append(int(array[second] - first) if size > 1 else 0)
    grid = np.indices(array.shape, sparse=True)
    expected = first + sum((s * i for s, i in zip(strides, grid, strict=True)), np.int64(0))
    if not np.array_equal(np.broadcast_to(expected, array.shape), array):
        return None
    return Affine(array.shape, tuple(strides), int(first))


def _of_range(op: graph.RangeOp, shape: Shape) -> Affine | None:
    start, delta = affine(op.start), affine(op.delta)
    if start is None or delta is None:
        return None
    return Affine(shape, (0 if shape == (1,) else delta.offset,), start.offset)


def _of_sizes(op: graph.SizesOp, shape: Shape) -> Affine | None:
    sizes = op.attrs["sizes"]
    return Affine(shape, (0,), sizes[0]) if len(sizes) == 1 else None


def _of_reshape(op: graph.ReshapeOp, shape: Shape) -> Affine | None:
    """The affine form of a reshape, which must keep the axes longer than 1."""
    inner = affine(op.x)
    if inner is None:
        return None
    strides = iter([s for n, s in zip(inner.shape, inner.strides, strict=True) if n != 1])
    if [size for size in shape if size != 1] != [size for size in inner.shape if size != 1]:
        return None
    return Affine(shape, tuple(0 if size == 1 else next(strides) for size in shape), inner.offset)


def _of_expand(op: graph.ExpandOp, shape: Shape) -> Affine | None:
    inner = affine(op.x)
    return None if inner is None else _added(inner, Affine(shape, (0,) * len(shape), 0))


def _of_sum(op: graph.BinaryOp, shape: Shape) -> Affine | None:
    del shape
    left, right = affine(op.a), affine(op.b)
    return None if left is None or right is None else _added(left, right)


def _of_difference(op: graph.BinaryOp, shape: Shape) -> Affine | None:
    del shape
    return difference(op.a, op.b)


def _of_product(op: graph.BinaryOp, shape: Shape) -> Affine | None:
    left, right = affine(op.a), affine(op.b)
    if left is None or right is None:
        return None
    if not right.is_uniform:
        left, right = right, left
    if not right.is_uniform:
        return None
    zeros = Affine(shape, (0,) * len(shape), 0)
    return _added(_scaled(left, right.offset), zeros)


def _added(a: Affine, b: Affine) -> Affine:
    rank = max(len(a.shape), len(b.shape))
    a, b = (_of_rank(x, rank) for x in (a, b))
    shape = graph.broadcast_shapes(a.shape, b.shape)
    strides = tuple(x + y for x, y in zip(a.strides, b.strides, strict=True))
    return Affine(shape, strides, a.offset + b.offset)


def _of_rank(x: Affine, rank: int) -> Affine:
    missing = rank - len(x.shape)
    return Affine((1,) * missing + x.shape, (0,) * missing + x.strides, x.offset)


def _scaled(x: Affine, factor: Size) -> Affine:
    return Affine(x.shape, tuple(factor * stride for stride in x.strides), factor * x.offset)


def _minimum(size: Size) -> int | None:
    return size if isinstance(size, int) else size.minimum


_RULES = {
    graph.RangeOp: _of_range,
    graph.SizesOp: _of_sizes,
    graph.ReshapeOp: _of_reshape,
    graph.ExpandOp: _of_expand,
    graph.AddOp: _of_sum,
    graph.SubOp: _of_difference,
    graph.MulOp: _of_product,
}
