"""Data movement: the same elements in another shape or order."""

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from ...mlir import ir
from ..symbolic import Dim
from .attributes import Int, Ints, Sizes, Str
from .base import MAX_TENSORS, GraphOp, Tensor, Tensors, TypeRuleError, builder, graph_op
from .elementwise import broadcast_shapes
from .shapes import ConstantOp, constant, sizes
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, StaticShape, TensorType


def element_count(shape: Iterable[int | Dim]) -> int | Dim:
    """The number of elements of `shape`."""
    return _product(tuple(shape))


@functools.lru_cache(maxsize=1 << 12)
def _product(shape: Shape) -> int | Dim:
    count: int | Dim = 1
    for size in shape:
        count = count * size
    return count


def require_axis(axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise TypeRuleError(f"axis {axis} is outside a tensor of rank {rank}")


class ReshapeOp(GraphOp, name="reshape"):
    """The elements of `x`, in row-major order, in `shape`."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW
    is_view = True

    x: Tensor
    shape: Sizes

    @staticmethod
    def infer(x: TensorType, *, shape: Shape) -> TensorType:
        have, want = element_count(x.shape), element_count(shape)
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise TypeRuleError(f"cannot reshape {x} ({have} elements) to {want} elements")
        return x.with_shape(shape)

    @staticmethod
    def evaluate(x: np.ndarray, *, shape: StaticShape) -> np.ndarray:
        if x.dtype != object and any(isinstance(size, Dim) for size in shape):
            raise TypeRuleError("a symbolic shape cannot be evaluated")
        return np.reshape(x, shape)


class TransposeOp(GraphOp, name="transpose"):
    """Axes reordered: result axis ``i`` is operand axis ``perm[i]``."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    perm: Ints

    @staticmethod
    def infer(x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
        if sorted(perm) != list(range(x.rank)):
            raise TypeRuleError(f"perm {list(perm)} is not a permutation of {x.rank} axes")
        return x.with_shape(x.shape[axis] for axis in perm)

    @staticmethod
    def evaluate(x: np.ndarray, *, perm: tuple[int, ...]) -> np.ndarray:
        return np.transpose(x, perm)


class ExpandOp(GraphOp, name="expand"):
    """Broadcast to `shape`, as numpy does."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    shape: Sizes

    @staticmethod
    def infer(x: TensorType, *, shape: Shape) -> TensorType:
        if broadcast_shapes(x.shape, shape) != shape:
            raise TypeRuleError(f"{x} does not expand to shape {tuple(map(str, shape))}")
        return x.with_shape(shape)

    @staticmethod
    def evaluate(x: np.ndarray, *, shape: StaticShape) -> np.ndarray:
        return np.broadcast_to(x, shape)


class RepeatOp(GraphOp, name="repeat"):
    """Each element ``repeats[i]`` times in a row along axis ``i``, as numpy.repeat has it."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    repeats: Ints

    @staticmethod
    def infer(x: TensorType, *, repeats: tuple[int, ...]) -> TensorType:
        if len(repeats) != x.rank or any(count < 1 for count in repeats):
            raise TypeRuleError(f"needs {x.rank} positive numbers, not {list(repeats)}")
        return x.with_shape(size * count for size, count in zip(x.shape, repeats, strict=True))

    @staticmethod
    def evaluate(x: np.ndarray, *, repeats: tuple[int, ...]) -> np.ndarray:
        for axis, count in enumerate(repeats):
            x = np.repeat(x, count, axis)
        return x


class ConcatOp(GraphOp, name="concat"):
    """Tensors joined along `axis`."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW
    along_axis = "joins several tensors, which must be transposed alike"

    xs: Tensors
    axis: Int

    @staticmethod
    def infer(xs: Sequence[TensorType], *, axis: int) -> TensorType:
        if not xs:
            raise TypeRuleError("needs at least one operand")
        require_axis(axis, xs[0].rank)
        total: int | Dim = 0
        for x in xs:
            _require_alike_except(xs[0], x, axis)
            total = total + x.shape[axis]
        shape = list(xs[0].shape)
        shape[axis] = total
        for other in range(len(shape)):  # a known size decides an unknown one
            if other != axis:
                known = [x.shape[other] for x in xs if isinstance(x.shape[other], int)]
                shape[other] = known[0] if known else shape[other]
        return xs[0].with_shape(shape)

    @staticmethod
    def evaluate(xs: Sequence[np.ndarray], *, axis: int) -> np.ndarray:
        return np.concatenate(xs, axis=axis)


def _require_alike_except(a: TensorType, b: TensorType, axis: int) -> None:
    if a.rank != b.rank or a.dtype != b.dtype:
        raise TypeRuleError(f"cannot join {a} and {b}: ranks or element types differ")
    for i, (left, right) in enumerate(zip(a.shape, b.shape, strict=True)):
        if i != axis and isinstance(left, int) and isinstance(right, int) and left != right:
            raise TypeRuleError(f"cannot join {a} and {b} along axis {axis}: axis {i} differs")


class SliceOp(GraphOp, name="slice"):
    """``x[starts:stops:steps]`` with one entry for each axis.

    `starts` and `sizes` are within bounds (the frontend clamps); ``sizes[i]`` elements are taken
    from ``starts[i]``, each ``steps[i]`` apart. Steps may be negative, not 0.
    """

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    starts: Sizes
    sizes: Sizes
    steps: Ints

    @staticmethod
    def infer(x: TensorType, *, starts: Shape, sizes: Shape, steps: tuple[int, ...]) -> TensorType:
        if not len(starts) == len(sizes) == len(steps) == x.rank:
            raise TypeRuleError(f"needs {x.rank} starts, sizes and steps")
        for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
            extent = x.shape[axis]
            if step == 0:
                raise TypeRuleError("a step of 0")
            if isinstance(extent, Dim) or isinstance(start, Dim) or isinstance(size, Dim):
                continue
            if size == 0:
                continue
            last = start + (size - 1) * step
            if not (0 <= start < extent and 0 <= last < extent):
                raise TypeRuleError(f"axis {axis}: {start}..{last} is outside 0..{extent - 1}")
        return x.with_shape(sizes)

    @staticmethod
    def evaluate(
        x: np.ndarray, *, starts: StaticShape, sizes: StaticShape, steps: tuple[int, ...]
    ) -> np.ndarray:
        for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
            x = np.take(x, start + np.arange(size) * step, axis=axis)
        return x


class DynamicSliceOp(GraphOp, name="dynamic_slice"):
    """``x[starts:stops:steps]``, with one entry for each axis, of starts and steps from data.

    `starts` and `steps` (i64) have one entry for each axis and stay within bounds, as those of
    `slice`; where `sizes` is 0 they may be anything.
    """

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    starts: Tensor
    steps: Tensor
    sizes: Sizes

    @staticmethod
    def infer(x: TensorType, starts: TensorType, steps: TensorType, *, sizes: Shape) -> TensorType:
        entries = TensorType((x.rank,), np.dtype(np.int64))
        if starts != entries or steps != entries or len(sizes) != x.rank:
            raise TypeRuleError(f"needs {x.rank} starts, steps and sizes")
        return x.with_shape(sizes)

    @staticmethod
    def evaluate(
        x: np.ndarray, starts: np.ndarray, steps: np.ndarray, *, sizes: StaticShape
    ) -> np.ndarray:
        return SliceOp.evaluate(
            x, starts=tuple(starts.tolist()), sizes=sizes, steps=tuple(steps.tolist())
        )


class PadOp(GraphOp, name="pad"):
    """`value` (a scalar) around `x`: ``low[i]`` before and ``high[i]`` after axis ``i``."""

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    value: Tensor
    low: Sizes
    high: Sizes

    @staticmethod
    def infer(x: TensorType, value: TensorType, *, low: Shape, high: Shape) -> TensorType:
        if value.rank != 0 or value.dtype != x.dtype:
            raise TypeRuleError(f"pads {x} with a {value}")
        if not len(low) == len(high) == x.rank:
            raise TypeRuleError(f"needs {x.rank} sizes before and after")
        if any(isinstance(p, int) and p < 0 for p in (*low, *high)):
            raise TypeRuleError("negative padding; slice instead")
        sizes = (a + x + b for a, x, b in zip(low, x.shape, high, strict=True))
        return x.with_shape(sizes)

    @staticmethod
    def evaluate(
        x: np.ndarray, value: np.ndarray, *, low: StaticShape, high: StaticShape
    ) -> np.ndarray:
        return np.pad(x, list(zip(low, high, strict=True)), constant_values=value)


class DynamicPadOp(GraphOp, name="dynamic_pad"):
    """`x` within `value` (a scalar): ``result[i] = x[i - low]`` where that exists, else `value`.

    `low` (i64) has one entry for each axis; a negative one leaves out elements, as sizes too
    small for the rest do.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    value: Tensor
    low: Tensor
    sizes: Sizes

    @staticmethod
    def infer(x: TensorType, value: TensorType, low: TensorType, *, sizes: Shape) -> TensorType:
        if value.rank != 0 or value.dtype != x.dtype:
            raise TypeRuleError(f"pads {x} with a {value}")
        if low != TensorType((x.rank,), np.dtype(np.int64)) or len(sizes) != x.rank:
            raise TypeRuleError(f"needs {x.rank} sizes, in all and before")
        return x.with_shape(sizes)

    @staticmethod
    def evaluate(
        x: np.ndarray, value: np.ndarray, low: np.ndarray, *, sizes: StaticShape
    ) -> np.ndarray:
        result = np.full(sizes, value, x.dtype)
        into, from_ = list[slice](), list[slice]()
        for before, size, extent in zip(low.tolist(), sizes, x.shape, strict=True):
            start, stop = max(before, 0), min(size, before + extent)
            into.append(slice(start, max(start, stop)))
            from_.append(slice(start - before, max(start, stop) - before))
        result[tuple(into)] = x[tuple(from_)]
        return result


PAD_MODES = ("edge", "reflect", "wrap")
"""The modes of `pad_from_data`."""


class PadFromDataOp(GraphOp, name="pad_from_data"):
    """`x` with its own elements around it: ``low[i]`` before and ``high[i]`` after axis ``i``.

    `mode` is that of numpy: the nearest element (``edge``), the tensor mirrored at its first and
    last elements (``reflect``), or again and again (``wrap``).
    """

    amp = MixedPrecision.FOLLOW
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    low: Sizes
    high: Sizes
    mode: Str

    @staticmethod
    def infer(x: TensorType, *, low: Shape, high: Shape, mode: str) -> TensorType:
        if mode not in PAD_MODES:
            raise TypeRuleError(f"mode '{mode}' is none of {', '.join(PAD_MODES)}")
        if not len(low) == len(high) == x.rank:
            raise TypeRuleError(f"needs {x.rank} sizes before and after")
        if any(isinstance(p, int) and p < 0 for p in (*low, *high)):
            raise TypeRuleError("negative padding; slice instead")
        for extent, *around in zip(x.shape, low, high, strict=True):
            if extent == 0 and around != [0, 0]:
                raise TypeRuleError(f"pads an empty axis with mode '{mode}'")
        sizes = (a + x + b for a, x, b in zip(low, x.shape, high, strict=True))
        return x.with_shape(sizes)

    @staticmethod
    def evaluate(x: np.ndarray, *, low: StaticShape, high: StaticShape, mode: str) -> np.ndarray:
        return np.pad(x, list(zip(low, high, strict=True)), mode=mode)  # type: ignore[call-overload]


reshape = builder(ReshapeOp)
transpose = builder(TransposeOp)
expand = builder(ExpandOp)
repeat = builder(RepeatOp)
_concat = builder(ConcatOp)


def concat(xs: Sequence[ir.Value], *, axis: int) -> ir.Value:
    """Build the `graph.concat` of any number of tensors: one op, or a chain of them."""
    joined = list(xs)
    while len(joined) > 1:
        joined = [_concat(joined[:MAX_TENSORS], axis=axis), *joined[MAX_TENSORS:]]
    return joined[0]


slice_ = builder(SliceOp)
dynamic_slice = builder(DynamicSliceOp)
pad = builder(PadOp)
dynamic_pad = builder(DynamicPadOp)
pad_from_data = builder(PadFromDataOp)


def reshaped_constant(value: ir.Value, shape: Sequence[int | Dim]) -> ir.Value:
    """`value` in `shape`; a constant stays one, for what looks at it before it is folded."""
    op = graph_op(value.owner)
    if isinstance(op, ConstantOp):
        return constant(value=op.attrs["value"].reshape(shape))
    return reshape(value, shape=shape)


def size_scalar(size: int | Dim) -> ir.Value:
    """`size` as an i64 scalar."""
    if isinstance(size, int):
        return constant(value=np.array(size, np.int64))
    return reshape(sizes(sizes=[size]), shape=[])
