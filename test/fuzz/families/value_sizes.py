"""Tensors whose sizes depend on run-time values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value, element_type, is_float

_TYPES = ("float32", "float64", "float16", "int32", "int64")


def number(b: GraphBuilder, low: int, high: int) -> Value:
    """An int64 from `low` to `high`: fed, or counted by nodes of the graph."""
    if b.opset < 12 or b.chance(0.4):
        return b.fed(np.array(b.integer(low, high)), True)
    mask = b.new([b.integer(2, 9)], "bool", weight=False)
    (ones,) = b.add("Cast", [mask], to=element_type("int64"))
    (count,) = b.add("ReduceSum", [ones], exact=True, keepdims=0)
    (count,) = b.add("Max", [count, b.known(np.array(low))])
    return b.add("Min", [count, b.known(np.array(high))])[0]


def listed(b: GraphBuilder, sizes: Sequence["Value | int"]) -> Value:
    """A list of int64 with known and unknown elements."""
    if all(isinstance(size, Value) and size.name in b.top.inputs for size in sizes):
        given = np.array([size.array for size in sizes if isinstance(size, Value)])
        return b.fed(given, True, named=False)
    parts = [
        b.add("Reshape", [size, b.ints([1])], exact=True)[0]
        if isinstance(size, Value)
        else b.ints([size])
        for size in sizes
    ]
    return b.add("Concat", parts, exact=True, axis=0)[0] if len(parts) > 1 else parts[0]


def one_number(b: GraphBuilder, low: int, high: int) -> Value:
    """A list of one unknown number from `low` to `high`."""
    if b.chance(0.3):
        return b.fed(np.array([b.integer(low, high)]), True, named=False)
    return listed(b, [number(b, low, high)])


def _doubled(b: GraphBuilder, x: Value) -> Value:
    return b.add("Concat", [x, x], exact=True, axis=b.axis(x.rank))[0]


def _summed(b: GraphBuilder, x: Value) -> Value:
    if b.opset < 13:
        return b.add("ReduceSum", [x], exact=True, axes=[b.integer(0, x.rank - 1)])[0]
    return b.add("ReduceSum", [x, b.ints([b.axis(x.rank)])], exact=True)[0]


def _shifted(b: GraphBuilder, x: Value) -> Value:
    return b.add(b.choose(("Add", "Mul", "Sub")), [x, b.known(np.array(2, x.dtype))], exact=True)[0]


def _turned(b: GraphBuilder, x: Value) -> Value:
    return b.add("Transpose", [x], exact=True)[0]


def _joined(b: GraphBuilder, x: Value) -> Value:
    return b.add("Reshape", [x, b.ints([-1])], exact=True)[0] if x.size else _turned(b, x)


def _function(b: GraphBuilder, x: Value) -> Value:
    names = ("Neg", "Abs", "Sigmoid", "Tanh") if is_float(x.dtype) else ("Neg", "Abs", "Identity")
    return b.add(b.choose(names), [x])[0]


def _running(b: GraphBuilder, x: Value) -> Value:
    return b.add("CumSum", [x, b.known(np.array(b.axis(x.rank)))], exact=True)[0]


_AFTER: tuple[Callable[[GraphBuilder, Value], Value], ...] = (
    _function, _function, _shifted, _shifted, _doubled, _summed, _turned, _joined, _running,
)  # fmt: skip


def followed(b: GraphBuilder, x: Value) -> None:
    """Add a few nodes that read `x` at its run-time size, and perhaps a second reader."""
    if x.dtype.name not in _TYPES or not x.rank:
        return
    y = x
    for _ in range(b.integer(0, 3)):
        y = b.choose(_AFTER)(b, y)
    if b.chance(0.3):
        b.choose(_AFTER)(b, x)


def _plain(b: GraphBuilder, ranks: tuple[int, int] = (1, 3)) -> Value:
    return b.take(ranks, _TYPES, empty=False, where=lambda x: x.size <= 400)


@draws(since=11)
def counted_range(b: GraphBuilder) -> None:
    """A range of a counted length; occasionally a mask from lengths."""
    n = number(b, 1, 9)
    (x,) = b.add("Range", [b.known(np.array(0)), n, b.known(np.array(b.choose((1, 1, 2))))])
    if b.chance(0.3):
        lengths = b.new([b.integer(1, 4), 1], "int64", 0, 9)
        b.add("Less", [x, lengths])
    followed(b, x)


@draws(since=11)
def counted_expand(b: GraphBuilder) -> None:
    """Expand to a counted size."""
    x = _plain(b, (0, 2))
    followed(b, b.add("Expand", [x, listed(b, [number(b, 1, 5), *x.shape])], exact=True)[0])


@draws(since=11)
def counted_tile(b: GraphBuilder) -> None:
    """Tile by a counted number of copies."""
    x = _plain(b)
    repeats: list[Value | int] = [1] * x.rank
    repeats[b.integer(0, x.rank - 1)] = number(b, 1, 4)
    followed(b, b.add("Tile", [x, listed(b, repeats)], exact=True)[0])


@draws(weight=2, since=11)
def counted_slice(b: GraphBuilder) -> None:
    """Slice up to a counted position or from it, forwards or backwards."""
    x = b.take((1, 3), _TYPES, empty=False)
    axis = b.integer(0, x.rank - 1)
    bound = one_number(b, 1, x.shape[axis])
    step = b.choose((1, 1, 1, 2, -1))
    first, last = (-1, -x.shape[axis] - 1) if step < 0 else (0, x.shape[axis])
    ends = [bound, b.ints([last])] if b.chance(0.4) else [b.ints([first]), bound]
    followed(b, b.add("Slice", [x, *ends, b.ints([axis]), b.ints([step])], exact=True)[0])


@draws(since=11)
def counted_pad(b: GraphBuilder) -> None:
    """Pad by counted amounts."""
    x = b.take((1, 3), ("float32", "int64"), empty=False, where=lambda v: v.size <= 400)
    mode = b.choose(("constant", "edge", "reflect"))
    amounts: list[Value | int] = [0] * (2 * x.rank)
    axis = b.integer(0, x.rank - 1)
    most = max(x.shape[axis] - 1, 1) if mode == "reflect" else 4
    for bound in (axis, axis + x.rank):
        if b.chance(0.7):
            amounts[bound] = number(b, 1, min(most, 4))
    followed(b, b.add("Pad", [x, listed(b, amounts)], exact=True, mode=mode)[0])


@draws(since=11)
def counted_reshape(b: GraphBuilder) -> None:
    """Reshape into a counted number of rows."""
    x = b.new([b.choose((12, 24))], b.choose(_TYPES))
    followed(b, b.add("Reshape", [x, listed(b, [number(b, 2, 4), -1])], exact=True)[0])


@draws(since=11)
def counted_top_k(b: GraphBuilder) -> None:
    """TopK with a counted K."""
    x = b.take((1, 2), ("int32", "int64"), empty=False)
    k = one_number(b, 1, x.shape[-1])
    values, positions = b.add("TopK", [x, k], 2, exact=True, axis=-1, largest=b.integer(0, 1))
    followed(b, values)
    followed(b, positions)


@draws(since=11)
def counted_one_hot(b: GraphBuilder) -> None:
    """One-hot encoding with a counted depth."""
    positions = b.new([b.integer(1, 5)], "int64", 0, 2)
    ends = b.known(np.array((0, 1), np.float32))
    axis = b.choose((0, -1))
    followed(b, b.add("OneHot", [positions, number(b, 3, 7), ends], exact=True, axis=axis)[0])


@draws(since=11)
def counted_constant(b: GraphBuilder) -> None:
    """A constant tensor of a counted size."""
    sizes = [number(b, 1, 6), *([b.integer(1, 4)] if b.chance(0.5) else [])]
    followed(b, b.add("ConstantOfShape", [listed(b, sizes)], exact=True)[0])


@draws(since=13)
def counted_resize(b: GraphBuilder) -> None:
    """Resize an image to counted sizes."""
    x = b.new([1, b.integer(1, 3), b.integer(2, 6), b.integer(2, 6)], "float32")
    way: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "mode": "linear"}
    nearest = b.chance(0.5)
    if nearest:
        way |= {"mode": "nearest", "nearest_mode": "floor"}
    to = listed(b, [*x.shape[:2], number(b, 1, 9), b.integer(1, 9)])
    followed(b, b.add("Resize", [x, None, None, to], exact=nearest, **way)[0])


@draws(weight=2, since=11)
def masked(b: GraphBuilder) -> None:
    """Elements selected by a condition, by Compress or as exporters write indexing by a mask."""
    x = b.take((1, 3), _TYPES, empty=False)
    if b.chance(0.5):
        axis = b.integer(0, x.rank - 1)
        condition = b.new([x.shape[axis]], "bool", weight=False)
        followed(b, b.add("Compress", [x, condition], exact=True, axis=axis)[0])
        return
    condition = b.new(x.shape[: b.integer(1, x.rank)], "bool", weight=False)
    (positions,) = b.add("NonZero", [condition])
    (positions,) = b.add("Transpose", [positions], exact=True, perm=[1, 0])
    if b.opset >= 12 and positions.size:
        followed(b, b.add("GatherND", [x, positions], exact=True)[0])
    else:
        followed(b, positions)


@draws(since=11)
def kinds_of(b: GraphBuilder) -> None:
    """Unique numbers with their indices and counts."""
    x = b.new([b.integer(3, 12)], "int64", -2, 2, weight=False)
    for value in b.add("Unique", [x], 4, sorted=b.integer(0, 1)):
        if b.chance(0.5):
            followed(b, value)


@draws(weight=0.7, since=11)
def suppressed(b: GraphBuilder) -> None:
    """Non-maximum suppression of boxes above a score."""
    count = b.integer(2, 8)
    corners = np.stack([np.arange(count) * b.choose((1, 3))] * 2, -1)
    boxes = np.concatenate([corners, corners + 2], -1)[None].astype(np.float32)
    scores = b.new([1, b.integer(1, 2), count], "float32", 0, 1, exact=True, weight=False)
    limits = [b.ints([b.integer(1, 9)])]
    limits += [b.known(np.array([value], np.float32)) for value in (0.3, b.choose((0.1, 0.6)))]
    given = b.known(boxes) if b.chance(0.5) else b.fed(boxes, True, named=False)
    followed(b, b.add("NonMaxSuppression", [given, scores, *limits])[0])
