"""Reductions: sums, means, extrema and their positions, running sums.

Reduced axes are listed once each, in rising order. ``keepdims`` leaves an axis of size 1 in the
place of each. Reductions of no elements give the neutral element: 0, 1, the lowest or highest
value of the element type, NaN for a mean. f16 and bf16 are summed in f32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .attributes import Bool, Int, Ints
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_number
from .movement import require_axis
from .traits import MixedPrecision
from .types import Shape, TensorType, is_float, is_integer

_BOOL = np.dtype(np.bool_)


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """`shape` without `axes`, or with size 1 in their places."""
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def lowest(dtype: np.dtype) -> Any:
    """The lowest value of `dtype`: -inf, the smallest integer, False."""
    return False if dtype == _BOOL else -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """The highest value of `dtype`: inf, the largest integer, True."""
    return True if dtype == _BOOL else np.inf if is_float(dtype) else np.iinfo(dtype).max


class Reduction(GraphOp):
    """Base of the reductions over any number of axes."""

    allows_bool = False

    @classmethod
    def infer(cls, x: TensorType, *, axes: tuple[int, ...], keepdims: bool) -> TensorType:
        if not (cls.allows_bool and x.dtype == _BOOL):
            require_number(x)
        for axis in axes:
            require_axis(axis, x.rank)
        if list(axes) != sorted(set(axes)):
            raise TypeRuleError(f"axes {list(axes)} are not in rising order, each once")
        return x.with_shape(reduced_shape(x.shape, axes, keepdims))


def wide(x: np.ndarray) -> np.ndarray:
    """`x` in f32 when it is a narrower float: sums of many terms need the precision."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


class ReduceSumOp(Reduction, name="reduce_sum"):
    """The sum over `axes` (ONNX ReduceSum). Integers wrap around."""

    amp = MixedPrecision.KEEP

    x: Tensor
    axes: Ints
    keepdims: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        return np.asarray(np.sum(wide(x), axis=axes, keepdims=keepdims)).astype(x.dtype)


class ReduceMeanOp(Reduction, name="reduce_mean"):
    """The mean over `axes` (ONNX ReduceMean). That of integers is cut towards zero, and that of no
    elements is 0, as ONNX Runtime has it."""

    amp = MixedPrecision.FOLLOW

    x: Tensor
    axes: Ints
    keepdims: Bool

    @classmethod
    def infer(cls, x: TensorType, *, axes: tuple[int, ...], keepdims: bool) -> TensorType:
        if is_integer(x.dtype) and x.dtype.itemsize < 4:
            raise TypeRuleError(f"needs floats or integers of 32 bits or more, not {x.dtype}")
        return super().infer(x, axes=axes, keepdims=keepdims)

    @staticmethod
    def evaluate(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        count = max(int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64)), 1)
        total = np.sum(wide(x), axis=axes, keepdims=keepdims)
        if not is_integer(x.dtype):
            return np.divide(total, count).astype(x.dtype)
        total = np.asarray(total.astype(x.dtype)).astype(object)
        return np.asarray(abs(total) // count * np.sign(total)).astype(x.dtype)


class ReduceProdOp(Reduction, name="reduce_prod"):
    """The product over `axes` (ONNX ReduceProd). Integers wrap around."""

    amp = MixedPrecision.KEEP

    x: Tensor
    axes: Ints
    keepdims: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        return np.asarray(np.prod(wide(x), axis=axes, keepdims=keepdims)).astype(x.dtype)


class ReduceMaxOp(Reduction, name="reduce_max"):
    """The largest over `axes` (ONNX ReduceMax); NaN wins. On booleans: whether any is true."""

    amp = MixedPrecision.FOLLOW

    x: Tensor
    axes: Ints
    keepdims: Bool

    allows_bool = True

    @staticmethod
    def evaluate(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        initial = lowest(x.dtype)
        return np.max(wide(x), axis=axes, keepdims=keepdims, initial=initial).astype(x.dtype)


class ReduceMinOp(Reduction, name="reduce_min"):
    """The smallest over `axes` (ONNX ReduceMin); NaN wins. On booleans: whether all are true."""

    amp = MixedPrecision.FOLLOW

    x: Tensor
    axes: Ints
    keepdims: Bool

    allows_bool = True

    @staticmethod
    def evaluate(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        initial = highest(x.dtype)
        return np.min(wide(x), axis=axes, keepdims=keepdims, initial=initial).astype(x.dtype)


class Arg(GraphOp):
    """Base of the ops that give the position of an extreme element along one axis (i64)."""

    amp = MixedPrecision.KEEP
    along_axis = "drops the axis without `keepdims`"

    @staticmethod
    def infer(x: TensorType, *, axis: int, keepdims: bool, last_index: bool) -> TensorType:
        del last_index
        require_number(x)
        require_axis(axis, x.rank)
        if x.shape[axis] == 0:
            raise TypeRuleError(f"axis {axis} of {x} has no elements to choose from")
        return TensorType(reduced_shape(x.shape, (axis,), keepdims), np.dtype(np.int64))


def _arg(
    choose: Callable[..., np.ndarray], x: np.ndarray, axis: int, keepdims: bool, last_index: bool
) -> np.ndarray:
    x = wide(x)
    if not last_index:
        return choose(x, axis=axis, keepdims=keepdims)
    return x.shape[axis] - 1 - choose(np.flip(x, axis), axis=axis, keepdims=keepdims)


class ArgMaxOp(Arg, name="arg_max"):
    """Index of the largest element along `axis` (ONNX ArgMax), of the first NaN if there is one.

    Of several equal elements the first is taken, or the last if `last_index`.
    """

    x: Tensor
    axis: Int
    keepdims: Bool
    last_index: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axis: int, keepdims: bool, last_index: bool) -> np.ndarray:
        return _arg(np.argmax, x, axis, keepdims, last_index)


class ArgMinOp(Arg, name="arg_min"):
    """Index of the smallest element along `axis` (ONNX ArgMin); see `arg_max`."""

    x: Tensor
    axis: Int
    keepdims: Bool
    last_index: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axis: int, keepdims: bool, last_index: bool) -> np.ndarray:
        return _arg(np.argmin, x, axis, keepdims, last_index)


class Cumulative(GraphOp):
    """Base of the running reductions along one axis."""

    amp = MixedPrecision.KEEP
    along_axis = "not yet: the gain is unmeasured"

    @staticmethod
    def infer(x: TensorType, *, axis: int, exclusive: bool, reverse: bool) -> TensorType:
        del exclusive, reverse
        require_number(x)
        require_axis(axis, x.rank)
        return x


def _running(
    accumulate: Callable[..., np.ndarray],
    x: np.ndarray,
    axis: int,
    exclusive: bool,
    reverse: bool,
    start: int,
) -> np.ndarray:
    ordered = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
    if exclusive:
        first = np.full_like(ordered[:1], start)
        ordered = np.concatenate([first, ordered[:-1]]) if len(ordered) else ordered
    running = np.moveaxis(accumulate(wide(ordered), axis=0).astype(x.dtype), 0, axis)
    return np.flip(running, axis) if reverse else running


class CumsumOp(Cumulative, name="cumsum"):
    """The running sum along `axis` (ONNX CumSum).

    `exclusive` leaves each element out of its own sum; `reverse` runs from the end.
    """

    x: Tensor
    axis: Int
    exclusive: Bool
    reverse: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
        return _running(np.cumsum, x, axis, exclusive, reverse, 0)


class CumprodOp(Cumulative, name="cumprod"):
    """The running product along `axis` (ONNX CumProd); see `cumsum`."""

    x: Tensor
    axis: Int
    exclusive: Bool
    reverse: Bool

    @staticmethod
    def evaluate(x: np.ndarray, *, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
        return _running(np.cumprod, x, axis, exclusive, reverse, 1)


reduce_sum = builder(ReduceSumOp)
reduce_mean = builder(ReduceMeanOp)
reduce_prod = builder(ReduceProdOp)
reduce_max = builder(ReduceMaxOp)
reduce_min = builder(ReduceMinOp)
arg_max = builder(ArgMaxOp)
arg_min = builder(ArgMinOp)
cumsum = builder(CumsumOp)
cumprod = builder(CumprodOp)
