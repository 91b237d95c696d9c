"""Indexing: elements read from and written to computed positions.

An index counts from the end when it is negative. Indices outside an axis are an error in ONNX
that compiled code cannot raise; the ops here define it away and never touch memory outside a
tensor: reads give 0, writes go to the nearest element.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..symbolic import Dim
from .attributes import Bool, Int, Size, Sizes, Str
from .base import GraphOp, Result, Tensor, TypeRuleError, builder, tuple_builder
from .elementwise import require_integer, require_number
from .movement import require_axis
from .reduction import wide
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, StaticShape, TensorType, is_float

_I64 = np.dtype(np.int64)
REDUCTIONS = ("none", "add", "mul", "max", "min")
"""Reductions that combine an update with the element at its position; ``none`` replaces it."""


def _positions(indices: np.ndarray, extent: int) -> np.ndarray:
    """`indices` (or an object array of them) counted from the front; some may be outside."""
    positions = indices.astype(np.int64)
    return np.where(positions < 0, positions + extent, positions)


def _clamped(indices: np.ndarray, extent: int) -> np.ndarray:
    return np.clip(_positions(indices, extent), 0, max(extent - 1, 0))


def _outside(indices: np.ndarray, extent: int) -> np.ndarray:
    positions = _positions(indices, extent)
    return (positions < 0) | (positions >= extent)


class GatherOp(GraphOp, name="gather"):
    """Slices of `x` along `axis`, one for each index (ONNX Gather).

    The axes of `indices` stand in the place of `axis`.
    """

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW
    along_axis = "puts the axes of `indices` in the place of the axis"

    x: Tensor
    indices: Tensor
    axis: Int

    @staticmethod
    def infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
        require_integer(indices)
        require_axis(axis, x.rank)
        _require_elements(x, x.shape[axis], indices)
        return x.with_shape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))

    @staticmethod
    def evaluate(x: np.ndarray, indices: np.ndarray, *, axis: int) -> np.ndarray:
        outside = _outside(indices, x.shape[axis])
        taken = np.take(x, _clamped(indices, x.shape[axis]), axis=axis)
        after = (1,) * (x.ndim - axis - 1)
        return _zero_where(np.reshape(outside, (*outside.shape, *after)), taken)


def _zero_where(condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(condition, np.zeros((), x.dtype), x) if condition.any() else x


def _require_elements(x: TensorType, extent: int | Dim, indices: TensorType) -> None:
    if extent == 0 and 0 not in indices.shape and indices.is_static:
        raise TypeRuleError(f"cannot take elements from an empty axis of {x}")


class GatherElementsOp(GraphOp, name="gather_elements"):
    """``result[i, j] = x[indices[i, j], j]`` for `axis` 0, likewise for others (GatherElements)."""

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has indices for all axes, which would have to be transposed"

    x: Tensor
    indices: Tensor
    axis: Int

    @staticmethod
    def infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
        require_integer(indices)
        require_axis(axis, x.rank)
        _require_within(x, indices, axis)
        _require_elements(x, x.shape[axis], indices)
        return x.with_shape(indices.shape)

    @staticmethod
    def evaluate(x: np.ndarray, indices: np.ndarray, *, axis: int) -> np.ndarray:
        box = tuple(slice(size) for size in indices.shape)
        within = x[tuple(slice(None) if i == axis else part for i, part in enumerate(box))]
        taken = np.take_along_axis(within, _clamped(indices, x.shape[axis]), axis=axis)
        return _zero_where(_outside(indices, x.shape[axis]), taken)


def _require_within(x: TensorType, indices: TensorType, axis: int) -> None:
    """`indices` has the rank of `x` and is no larger except along `axis`."""
    if x.rank != indices.rank:
        raise TypeRuleError(f"indices of rank {indices.rank} for a tensor of rank {x.rank}")
    for i, (have, wanted) in enumerate(zip(x.shape, indices.shape, strict=True)):
        if isinstance(have, Dim) or isinstance(wanted, Dim):
            continue
        if i != axis and wanted > have:
            raise TypeRuleError(f"indices {indices} are larger than {x} along axis {i}")


class GatherNdOp(GraphOp, name="gather_nd"):
    """Slices of `x` at the positions that the last axis of `indices` lists (ONNX GatherND).

    The first `batch_dims` axes of both are the same and are kept.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    indices: Tensor
    batch_dims: Int

    @staticmethod
    def infer(x: TensorType, indices: TensorType, *, batch_dims: int) -> TensorType:
        depth = _index_depth(x, indices, batch_dims)
        rest = x.shape[batch_dims + depth :]
        for a, b in zip(x.shape[:batch_dims], indices.shape[:batch_dims], strict=True):
            if isinstance(a, int) and isinstance(b, int) and a != b:
                raise TypeRuleError(f"batch axes of {x} and {indices} differ")
        return x.with_shape((*indices.shape[:-1], *rest))

    @staticmethod
    def evaluate(x: np.ndarray, indices: np.ndarray, *, batch_dims: int) -> np.ndarray:
        depth, outer = indices.shape[-1], indices.ndim - 1
        extents = x.shape[batch_dims : batch_dims + depth]
        positions = [_clamped(indices[..., i], extent) for i, extent in enumerate(extents)]
        outside = [_outside(indices[..., i], extent) for i, extent in enumerate(extents)]
        batch = np.indices(indices.shape[:-1], sparse=True)[:batch_dims]
        taken = x[tuple(np.broadcast_arrays(*batch, *positions))]
        after = (1,) * (taken.ndim - outer)
        return _zero_where(np.any(outside, axis=0).reshape(indices.shape[:-1] + after), taken)


def _index_depth(x: TensorType, indices: TensorType, batch_dims: int) -> int:
    """The number of axes of `x` that each entry of `indices` addresses."""
    require_integer(indices)
    if not 0 <= batch_dims < max(indices.rank, 1) or batch_dims > x.rank or not indices.rank:
        raise TypeRuleError(f"{batch_dims} batch axes do not fit {x} and indices {indices}")
    depth = indices.shape[-1]
    if not isinstance(depth, int) or not 1 <= depth <= x.rank - batch_dims:
        raise TypeRuleError(f"entries of {depth} indices do not fit {x}")
    return depth


_COMBINE: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _require_reduction(x: TensorType, updates: TensorType, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise TypeRuleError(f"reduction '{reduction}' is not one of {', '.join(REDUCTIONS)}")
    if x.dtype != updates.dtype:
        raise TypeRuleError(f"updates {updates} for a tensor {x}")
    if reduction != "none":
        require_number(x)


def _put(
    x: np.ndarray, positions: Sequence[np.ndarray], updates: np.ndarray, reduction: str
) -> np.ndarray:
    """`x` with `updates` written, in order, at `positions`: one index array per leading axis."""
    result = x.copy()
    target = tuple(position.ravel() for position in positions)
    updates = updates.reshape(-1, *x.shape[len(positions) :])
    if reduction == "none":
        result[target] = updates
    elif is_float(x.dtype) and x.dtype.itemsize < 4:  # `ufunc.at` knows no bfloat16
        for *position, update in zip(*target, updates, strict=True):
            result[tuple(position)] = _COMBINE[reduction](result[tuple(position)], update)
    else:
        _COMBINE[reduction].at(result, target, updates)
    return result


class ScatterElementsOp(GraphOp, name="scatter_elements"):
    """`x` with ``result[indices[i, j], j] = updates[i, j]`` for `axis` 0, likewise for others.

    ONNX ScatterElements. `reduction` (see `REDUCTIONS`) combines an update with the element at its
    position; with ``none``, the last of several updates to one position wins.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW
    along_axis = "has indices for all axes, which would have to be transposed"

    x: Tensor
    indices: Tensor
    updates: Tensor
    axis: Int
    reduction: Str

    @staticmethod
    def infer(
        x: TensorType, indices: TensorType, updates: TensorType, *, axis: int, reduction: str
    ) -> TensorType:
        require_integer(indices)
        require_axis(axis, x.rank)
        _require_within(x, indices, axis)
        _require_reduction(x, updates, reduction)
        _require_same_shape(indices.shape, updates.shape)
        return x

    @staticmethod
    def evaluate(
        x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, axis: int, reduction: str
    ) -> np.ndarray:
        positions: list[Any] = [*np.indices(indices.shape)]
        positions[axis] = _clamped(indices, x.shape[axis])
        return _put(x, positions, updates, reduction)


def _require_same_shape(a: Shape, b: Shape) -> None:
    differ = len(a) != len(b) or any(
        isinstance(p, int) and isinstance(q, int) and p != q for p, q in zip(a, b, strict=True)
    )
    if differ:
        shapes = " and ".join(str(tuple(map(str, s))) for s in (a, b))
        raise TypeRuleError(f"indices and updates have shapes {shapes}")


class ScatterNdOp(GraphOp, name="scatter_nd"):
    """`x` with slices replaced: ``result[indices[i]] = updates[i]`` for each entry (ScatterND).

    The last axis of `indices` lists a position; `reduction` as in `scatter_elements`.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    indices: Tensor
    updates: Tensor
    reduction: Str

    @staticmethod
    def infer(
        x: TensorType, indices: TensorType, updates: TensorType, *, reduction: str
    ) -> TensorType:
        depth = _index_depth(x, indices, 0)
        _require_reduction(x, updates, reduction)
        _require_same_shape((*indices.shape[:-1], *x.shape[depth:]), updates.shape)
        return x

    @staticmethod
    def evaluate(
        x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str
    ) -> np.ndarray:
        depth = indices.shape[-1]
        positions = [_clamped(indices[..., axis], x.shape[axis]) for axis in range(depth)]
        return _put(x, positions, updates, reduction)


class RangeOp(GraphOp, name="range"):
    """``start + i * delta`` for ``i`` from 0 to ``size - 1``; `start` and `delta` are scalars.

    ONNX Range, whose limit decides `size`.
    """

    amp = MixedPrecision.KEEP

    start: Tensor
    delta: Tensor
    size: Size

    @staticmethod
    def infer(start: TensorType, delta: TensorType, *, size: int | Dim) -> TensorType:
        require_number(start)
        if start.rank or delta.rank or start.dtype != delta.dtype:
            raise TypeRuleError(f"needs two scalars of one type, not {start} and {delta}")
        return start.with_shape((size,))

    @staticmethod
    def evaluate(start: np.ndarray, delta: np.ndarray, *, size: int) -> np.ndarray:
        positions = np.arange(size).astype(wide(start).dtype)
        return (wide(start) + positions * wide(delta)).astype(start.dtype)


class TopKOp(GraphOp, name="top_k"):
    """The `k` largest (or smallest) elements along `axis`, and their indices (ONNX TopK).

    Results are in order, whether or not `sorted` asks for it; equal elements keep their order.
    NaN counts as the largest value.
    """

    amp = MixedPrecision.KEEP
    along_axis = "has two results"

    x: Tensor
    values: Result
    indices: Result
    k: Size
    axis: Int
    largest: Bool
    sorted: Bool

    @staticmethod
    def infer(
        x: TensorType, *, k: int | Dim, axis: int, largest: bool, sorted: bool
    ) -> tuple[TensorType, TensorType]:
        del largest, sorted
        require_number(x)
        require_axis(axis, x.rank)
        extent = x.shape[axis]
        if isinstance(k, int) and (k < 0 or (isinstance(extent, int) and k > extent)):
            raise TypeRuleError(f"cannot take {k} elements from axis {axis} of {x}")
        shape = tuple(k if i == axis else size for i, size in enumerate(x.shape))
        return x.with_shape(shape), TensorType(shape, _I64)

    @staticmethod
    def evaluate(
        x: np.ndarray, *, k: int, axis: int, largest: bool, sorted: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        del sorted
        keys = wide(x)
        if largest:  # from the end, so that equal elements come out in their own order
            order = x.shape[axis] - 1 - np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
            order = np.flip(order, axis)
        else:
            order = np.argsort(keys, axis=axis, kind="stable")
        indices = np.take(order, np.arange(k), axis=axis)
        return np.take_along_axis(x, indices, axis=axis), indices


class TriluOp(GraphOp, name="trilu"):
    """The upper or lower triangle of the last two axes, the rest 0 (ONNX Trilu).

    Diagonal `k` (0 is the main one, 1 the next to its right) is the last that is kept.
    """

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    k: Size
    upper: Bool

    @staticmethod
    def infer(x: TensorType, *, k: int | Dim, upper: bool) -> TensorType:
        del k, upper
        if x.rank < 2:
            raise TypeRuleError(f"needs matrices, not {x}")
        return x

    @staticmethod
    def evaluate(x: np.ndarray, *, k: int, upper: bool) -> np.ndarray:
        rows, columns = np.arange(int(x.shape[-2])), np.arange(int(x.shape[-1]))
        distance = columns - rows[:, None]
        kept = distance >= k if upper else distance <= k
        return np.where(kept, x, np.zeros((), x.dtype))


class EyeOp(GraphOp, name="eye"):
    """A matrix of `sizes` with `value` (a scalar) on diagonal `k`, 0 elsewhere (ONNX EyeLike)."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    value: Tensor
    sizes: Sizes
    k: Int

    @staticmethod
    def infer(value: TensorType, *, sizes: Shape, k: int) -> TensorType:
        del k
        if value.rank or len(sizes) != 2:
            raise TypeRuleError(f"{value} on the diagonal of a tensor of {len(sizes)} axes")
        return value.with_shape(sizes)

    @staticmethod
    def evaluate(value: np.ndarray, *, sizes: StaticShape, k: int) -> np.ndarray:
        is_on_it = np.eye(*map(int, sizes), k=k, dtype=bool)
        return np.where(is_on_it, value, np.zeros((), value.dtype))


class NonZeroOp(GraphOp, name="non_zero"):
    """Positions of the nonzero elements of `x`, in row-major order: one row per axis (ONNX
    NonZero).

    `count` is the number of positions; the frontend counts them first and names the size.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    count: Size

    @staticmethod
    def infer(x: TensorType, *, count: int | Dim) -> TensorType:
        return TensorType((x.rank, count), _I64)

    @staticmethod
    def evaluate(x: np.ndarray, *, count: int) -> np.ndarray:
        del count
        return np.stack(np.nonzero(x)) if x.ndim else np.zeros((0, int(bool(x))), np.int64)


gather = builder(GatherOp)
gather_elements = builder(GatherElementsOp)
gather_nd = builder(GatherNdOp)
scatter_elements = builder(ScatterElementsOp)
scatter_nd = builder(ScatterNdOp)
range_ = builder(RangeOp)
top_k = tuple_builder(TopKOp)
trilu = builder(TriluOp)
eye = builder(EyeOp)
non_zero = builder(NonZeroOp)
