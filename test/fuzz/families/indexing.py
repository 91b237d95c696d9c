"""Reads and writes at indices that are known or fed."""

import numpy as np
from onnx import numpy_helper

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value

_TYPES = ("float32", "float64", "int32", "int64", "bool", "float16")


def drawn_indices(b: GraphBuilder, shape: list[int], extent: int, negative: bool = True) -> Value:
    """Indices from ``-extent`` to ``extent - 1``, known or fed."""
    low = -extent if negative and b.chance(0.5) else 0
    found = b.random.integers(low, extent, shape).astype(b.choose((np.int32, np.int64)))
    return b.known(found) if b.chance(0.5) else b.fed(found, True)


@draws(weight=5, since=11)
def gather(b: GraphBuilder) -> None:
    """Gather slices along an axis."""
    x = b.take((1, 4), _TYPES, empty=False)
    axis = b.axis(x.rank)
    b.add("Gather", [x, drawn_indices(b, b.shape(0, 2), x.shape[axis])], exact=True, axis=axis)


@draws(weight=1.5, since=11)
def gather_elements(b: GraphBuilder) -> None:
    """Gather one element for each index."""
    x = b.take((1, 4), _TYPES, empty=False)
    axis, shape = b.axis(x.rank), list(x.shape)
    extent, shape[axis] = shape[axis], b.integer(1, 5)
    b.add("GatherElements", [x, drawn_indices(b, shape, extent)], exact=True, axis=axis)


@draws(weight=1.5, since=12)
def gather_nd(b: GraphBuilder) -> None:
    """Gather slices at points."""
    x = b.take((1, 4), ("float32", "int64", "bool"), empty=False)
    depth = b.integer(1, x.rank)
    b.add("GatherND", [x, _points(b, x.shape[:depth], b.integer(1, 5))], exact=True)


def _points(b: GraphBuilder, extents: tuple[int, ...], count: int) -> Value:
    rows = [b.random.integers(-extent, extent, count) for extent in extents]
    found = np.stack(rows, axis=-1)
    return b.known(found) if b.chance(0.5) else b.fed(found, True, named=False)


@draws(weight=1.5, since=18)
def scatter_nd(b: GraphBuilder) -> None:
    """Scatter updates to points; if a point may occur twice, a reduction combines the updates."""
    x = b.take((1, 4), ("float32", "int64"), empty=False)
    depth = b.integer(1, x.rank)
    points = _points(b, x.shape[:depth], b.integer(1, 5))
    reduction = b.choose(("none", "add", "max", "min"))
    if reduction == "none":  # the order of writes to equal indices is undefined
        wrapped = points.array % np.array(x.shape[:depth])
        points = b.known(points.array[np.unique(wrapped, axis=0, return_index=True)[1]])
    updates = b.like([points.shape[0], *x.shape[depth:]], x.dtype)
    b.add("ScatterND", [x, points, updates], exact=True, reduction=reduction)


@draws(weight=1.5, since=18)
def scatter_elements(b: GraphBuilder) -> None:
    """Scatter single elements with a reduction."""
    x = b.take((1, 3), ("float32",), empty=False)
    axis, shape = b.axis(x.rank), list(x.shape)
    extent, shape[axis] = shape[axis], b.integer(1, 4)
    updates = b.like(shape, x.dtype)
    reduction = b.choose(("add", "max", "min"))
    inputs = [x, drawn_indices(b, shape, extent), updates]
    b.add("ScatterElements", inputs, exact=True, axis=axis, reduction=reduction)


@draws(weight=1.5, since=11)
def one_hot(b: GraphBuilder) -> None:
    """One-hot encoding of indices."""
    depth = b.integer(1, 6)
    x = drawn_indices(b, b.shape(1, 2), depth)
    dtype = b.choose((np.float32, np.int64))
    values = b.known(np.array(b.choose(((0, 1), (2, 5))), dtype))
    axis = b.axis(x.rank + 1)
    b.add("OneHot", [x, b.known(np.array(depth, np.int64)), values], exact=True, axis=axis)


@draws(weight=0.8, since=9)
def non_zero(b: GraphBuilder) -> None:
    """Indices of nonzero elements; their number depends on the data."""
    x = b.take((1, 3), ("int32", "int64", "bool"), empty=False)
    b.add("NonZero", [x])


@draws(weight=0.7, since=11)
def compress(b: GraphBuilder) -> None:
    """Slices selected by a condition."""
    x = b.take((1, 3), ("float32", "int64"), empty=False)
    axis = b.axis(x.rank)
    b.add("Compress", [x, b.like([x.shape[axis]], np.dtype(bool))], exact=True, axis=axis)


@draws(weight=0.5, since=11)
def unique(b: GraphBuilder) -> None:
    """Sorted unique integers."""
    b.add("Unique", [b.take((1, 2), ("int64",), empty=False)], 4)


@draws(weight=1.5, since=13)
def resize(b: GraphBuilder) -> None:
    """Nearest, linear and cubic resizing, by scales or to sizes."""
    x = b.new([1, b.integer(1, 4), b.integer(1, 9), b.integer(1, 9)], "float32")
    mode = b.choose(("nearest", "linear", "cubic"))
    attributes = {"mode": mode}
    ways = ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
    attributes["coordinate_transformation_mode"] = b.choose(ways)
    if mode == "nearest":
        attributes["nearest_mode"] = "floor"
        attributes["coordinate_transformation_mode"] = "asymmetric"
    if b.chance(0.5):
        halves = [0.5] * (x.shape[2] % 2 == x.shape[3] % 2 == 0)  # sizes stay integers
        each = [b.choose((1, 2, 3, *halves)) for _ in "hw"]
        scales = b.known(np.array([1, 1, *each], np.float32))
        b.add("Resize", [x, None, scales], exact=mode == "nearest", **attributes)
    else:
        to = b.ints([*x.shape[:2], b.integer(1, 12), b.integer(1, 12)])
        b.add("Resize", [x, None, None, to], exact=mode == "nearest", **attributes)


@draws(weight=0.5, since=16)
def grid_sample(b: GraphBuilder) -> None:
    """Linear sampling at points inside the image and slightly outside."""
    x = b.new([1, b.integer(1, 3), b.integer(2, 6), b.integer(2, 6)], "float32")
    grid = b.new(
        [1, b.integer(1, 5), b.integer(1, 5), 2], "float32", -1.1, 1.1, exact=False, named=False
    )
    padding = b.choose(("zeros", "border", "reflection"))
    mode = "linear" if b.opset >= 20 else "bilinear"
    b.add("GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=b.integer(0, 1))


@draws(weight=0.5)
def constant_nodes(b: GraphBuilder) -> None:
    """A Constant node that is used at once."""
    x = b.take((0, 3), ("float32",))
    tensor = numpy_helper.from_array(np.array(b.choose((0.5, 1, -2)), np.float32))
    (c,) = b.add("Constant", [], exact=True, value=tensor)
    b.add(b.choose(("Add", "Mul", "Sub")), [x, c], exact=True)
