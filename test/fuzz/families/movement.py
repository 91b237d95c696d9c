"""Operators that move data."""

import math
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import BOOL, FLOATS, Value
from ..node_evaluation import Rejected

ANY = (*FLOATS, "int32", "int64", "uint8", *BOOL)


def with_axes(b: GraphBuilder, op_type: str, x: Value, axes: list[int], since: int) -> None:
    """Add a node whose axes are an input from opset `since` on, and an attribute before."""
    if b.opset >= since:
        b.add(op_type, [x, b.ints(axes)], exact=True)
    else:
        b.add(op_type, [x], exact=True, axes=axes)


@draws(weight=5)
def transpose(b: GraphBuilder) -> None:
    """Transpose of any rank."""
    x = b.take((1, 5), ANY)
    perm = [int(axis) for axis in b.random.permutation(x.rank)]
    attributes: dict[str, Any] = {} if b.chance(0.2) else {"perm": perm}
    b.add("Transpose", [x], exact=True, **attributes)


@draws(weight=5)
def reshape(b: GraphBuilder) -> None:
    """Reshape to sizes that are merged, split, copied by 0 or inferred by -1."""
    x = b.take((1, 5), ANY, empty=False)
    parts = list(x.shape)
    for _ in range(b.integer(1, 2)):
        at = b.integer(0, len(parts) - 1)
        if len(parts) > 1 and at + 1 < len(parts) and b.chance(0.6):
            parts[at : at + 2] = [parts[at] * parts[at + 1]]
        elif (divisor := _divisor(b, parts[at])) is not None:
            parts[at : at + 1] = [divisor, parts[at] // divisor]
    if b.chance(0.4):
        parts[b.integer(0, len(parts) - 1)] = -1
    elif b.chance(0.3) and parts[0] == x.shape[0]:
        parts[0] = 0
    b.add("Reshape", [x, b.ints(parts)], exact=True)


def _divisor(b: GraphBuilder, size: int) -> int | None:
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    return b.choose(divisors) if divisors else None


@draws(weight=3)
def reshape_by_sizes(b: GraphBuilder) -> None:
    """Reshape to sizes that are computed in the graph, as exporters write them."""
    x = b.take((2, 4), ANY, empty=False)
    (sizes,) = b.add("Shape", [x])
    (first,) = b.add("Gather", [sizes, b.known(np.array(0))], axis=0)
    if b.opset >= 13:
        (row,) = b.add("Unsqueeze", [first, b.ints([0])])
    else:
        (row,) = b.add("Unsqueeze", [first], axes=[0])
    rest = [-1] if b.chance(0.5) else [math.prod(x.shape[1:])]
    (target,) = b.add("Concat", [row, b.ints(rest)], axis=0)
    b.add("Reshape", [x, target], exact=True)


@draws()
def flatten(b: GraphBuilder) -> None:
    """Flatten to a matrix."""
    x = b.take((1, 4), FLOATS)
    b.add("Flatten", [x], exact=True, axis=b.integer(0 if b.opset < 11 else -x.rank, x.rank))


@draws(weight=2)
def squeeze(b: GraphBuilder) -> None:
    """Remove dimensions of size 1."""
    x = b.take((1, 5), ANY, where=lambda v: 1 in v.shape)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if b.opset >= 11 and b.chance(0.3):
        ones = [axis - x.rank for axis in ones]
    with_axes(b, "Squeeze", x, ones[: b.integer(1, len(ones))], 13)


@draws(weight=3)
def unsqueeze(b: GraphBuilder) -> None:
    """Insert one or two dimensions of size 1."""
    x = b.take((0, 3), ANY)
    rank = x.rank + b.integer(1, 2)
    axes = sorted(int(a) for a in b.random.permutation(rank)[: rank - x.rank])
    if b.opset >= 11 and b.chance(0.3):
        axes = [axis - rank for axis in axes]
    with_axes(b, "Unsqueeze", x, axes, 13)


@draws(weight=4)
def concat(b: GraphBuilder) -> None:
    """Concatenate parts that differ in one dimension.

    None are empty in another one: with inputs of other sizes, ONNX Runtime joins such parts
    whatever their sizes are, and leaves elements uninitialised.
    """
    x = b.take((1, 4), ANY)
    axis = b.axis(x.rank) if b.opset >= 11 else b.integer(0, x.rank - 1)
    if 0 in np.delete(x.shape, axis):
        raise Rejected("invalid")

    def fits(v: Value) -> bool:
        same = v.rank == x.rank and v.dtype == x.dtype
        return same and np.delete(v.shape, axis).tolist() == np.delete(x.shape, axis).tolist()

    parts = [x]
    for _ in range(b.integer(0, 3)):
        found = b.find(fits) if b.chance(0.5) else None
        shape = list(x.shape)
        shape[axis] = b.size(9)
        parts.append(found or b.new(shape, x.dtype))
    b.random.shuffle(parts)  # type: ignore[arg-type]
    b.add("Concat", parts, exact=True, axis=axis)


@draws(weight=3)
def split(b: GraphBuilder) -> None:
    """Split into equal parts, or into parts of given sizes."""
    x = b.take((1, 4), FLOATS, empty=False)
    axis = b.integer(0, x.rank - 1)
    cuts = sorted(b.random.integers(0, x.shape[axis] + 1, b.integer(0, 2)).tolist())
    sizes = np.diff([0, *cuts, x.shape[axis]]).tolist()
    if b.opset >= 18 and b.chance(0.3):
        count = min(b.integer(1, 3), x.shape[axis])
        if -(-x.shape[axis] // count) * (count - 1) >= x.shape[axis]:
            raise Rejected("a part would be empty")
        b.add("Split", [x], count, exact=True, axis=axis, num_outputs=count)
    elif b.opset >= 13:
        b.add("Split", [x, b.ints(sizes)], len(sizes), exact=True, axis=axis)
    else:
        b.add("Split", [x], len(sizes), exact=True, axis=axis, split=sizes)


@draws(weight=5, since=10)
def slicing(b: GraphBuilder) -> None:
    """Slice with any bounds and steps, known or fed."""
    x = b.take((1, 4), ANY)
    axes = b.axes(x.rank)
    bounds = (-7, -2, -1, 0, 1, 2, 3, 5, 9, 1000, -(2**31))  # runtimes disagree about larger ones
    steps = [b.choose((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
    starts, ends = ([b.choose(bounds) for _ in axes] for _ in range(2))
    before = [starts[i] < -x.shape[axis] and steps[i] < 0 for i, axis in enumerate(axes)]
    if x.dtype.name == "bfloat16" and any(before):
        raise Rejected("of bfloat16 only ONNX's evaluator knows it, which slices as numpy does")
    if all(abs(n) < 100 for n in (*starts, *ends)) and b.chance(0.25):
        given = [b.fed(np.array(n, np.int64), True) for n in (starts, ends)]
    else:
        given = [b.ints(starts), b.ints(ends)]
    b.add("Slice", [x, *given, b.ints(axes), b.ints(steps)], exact=True)


@draws(weight=3, since=11)
def pad(b: GraphBuilder) -> None:
    """Pad in every mode; reflections are smaller than the size."""
    modes = ("constant", "constant", "edge", "reflect", *(("wrap",) if b.opset >= 19 else ()))
    mode = b.choose(modes)
    plain = mode == "constant"
    x = b.take((1, 4), ("float32", "float64", "int32", "int64"), empty=plain)
    most = [3 if mode in ("constant", "edge") else max(min(3, size - 1), 0) for size in x.shape * 2]
    amounts = b.ints(b.integer(0, each) if b.chance(0.6) else 0 for each in most)
    given = [b.known(np.array(2, x.dtype))] if plain and b.chance(0.5) else []
    b.add("Pad", [x, amounts, *given], exact=True, mode=mode)


@draws(weight=3, since=8)
def expand(b: GraphBuilder) -> None:
    """Expand to a known shape, or to the shape of another value."""
    x = b.take((0, 4), ANY)
    target = [size if size != 1 or b.chance(0.5) else b.size(9) for size in x.shape]
    target = [b.size(5)] * b.integer(0, 4 - x.rank) + target
    if b.chance(0.3):
        (sizes,) = b.add("Shape", [b.new(target, "float32", weight=False)])
    else:
        sizes = b.ints(1 if size == of and b.chance(0.2) else size
                       for size, of in zip(target, [0] * (len(target) - x.rank) + list(x.shape),
                                           strict=True))  # fmt: skip
    b.add("Expand", [x, sizes], exact=True)


@draws(weight=1.5)
def tile(b: GraphBuilder) -> None:
    """Tile by one to three copies per axis."""
    x = b.take((1, 4), ("float32", "float64", "int32", "int64"))
    b.add("Tile", [x, b.ints(b.choose((1, 1, 2, 3)) for _ in x.shape)], exact=True)


@draws(since=13)
def depth_and_space(b: GraphBuilder) -> None:
    """DepthToSpace and SpaceToDepth."""
    block = b.integer(1, 3)
    if b.chance(0.5):
        x = b.new([b.integer(1, 2), block * block * b.integer(1, 3), b.size(5), b.size(5)])
        b.add("DepthToSpace", [x], exact=True, blocksize=block, mode=b.choose(("DCR", "CRD")))
    else:
        x = b.new([b.integer(1, 2), b.integer(1, 3), block * b.size(5), block * b.size(5)])
        b.add("SpaceToDepth", [x], exact=True, blocksize=block)


@draws(since=14)
def trilu(b: GraphBuilder) -> None:
    """The upper or lower triangle of each matrix."""
    x = b.take((2, 4), ("float32", "float64", "int64", "bool"))
    given = [b.known(np.array(b.integer(-3, 3)))] if b.chance(0.6) else []
    b.add("Trilu", [x, *given], exact=True, upper=b.integer(0, 1))


@draws(since=10)
def reverse_sequence(b: GraphBuilder) -> None:
    """Reverse sequences whose lengths are known or fed."""
    x = b.take((2, 4), ("float32", "int64"), empty=False)
    batch = b.integer(0, 1)
    lengths = b.random.integers(1, x.shape[1 - batch] + 1, x.shape[batch])
    given = b.known(lengths) if b.chance(0.5) else b.fed(lengths, True)
    b.add("ReverseSequence", [x, given], exact=True, batch_axis=batch, time_axis=1 - batch)


@draws(since=18)
def center_crop_pad(b: GraphBuilder) -> None:
    """Crop or pad to larger and smaller sizes."""
    x = b.take((1, 4), ("float32",), empty=False)
    axes = b.axes(x.rank)
    b.add("CenterCropPad", [x, b.ints(b.integer(1, 9) for _ in axes)], exact=True, axes=axes)


@draws(weight=1.5)
def sizes(b: GraphBuilder) -> None:
    """The shape or the number of elements of a value, as integers."""
    x = b.take((0, 5), ANY)
    if b.chance(0.3):
        b.add("Size", [x])
    elif b.opset >= 15 and b.chance(0.5):
        b.add("Shape", [x], start=b.integer(-3, 2), end=b.integer(-2, 4))
    else:
        b.add("Shape", [x])


@draws(weight=0.7, since=11)
def ranges(b: GraphBuilder) -> None:
    """A range whose length is known, or fed, or a size of the graph."""
    if b.chance(0.5):
        x = b.take((1, 3), FLOATS)
        (count,) = b.add("Size", [x])
        if x.size > 200:
            raise Rejected("a long range")
        zero, one = (b.known(np.array(n)) for n in (0, 1))
        b.add("Range", [zero, count, one])
    else:
        bounds = b.integer(-3, 3), b.integer(4, 9), b.choose((1, 2))
        numbers = [np.array(n, np.int64) for n in bounds]
        b.add("Range", [b.known(n) if b.chance(0.5) else b.fed(n, True) for n in numbers])


@draws(weight=0.5, since=9)
def constants(b: GraphBuilder) -> None:
    """A constant of the shape of a value, or an identity-like matrix."""
    if b.chance(0.5):
        (shape,) = b.add("Shape", [b.take((0, 3))])
        from onnx import numpy_helper

        tensor = numpy_helper.from_array(np.array([b.choose((0, 1, -2))], np.float32))
        b.add("ConstantOfShape", [shape], exact=True, value=tensor)
    else:
        x = b.take((2, 2), ("float32", "int64"))
        b.add("EyeLike", [x], exact=True, k=b.integer(-2, 2))
