"""Operators that move data: reshape, transpose, slice, concatenate, pad, tile."""

from collections.abc import Sequence

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim, at_least, ceildiv, floordiv
from ...dialects.symbolic import maximum as max_size
from ...dialects.symbolic import minimum as min_size
from ...mlir import ir
from .axes import axis_count, is_computed, listed, marked, with_unit_axes, without
from .registry import Node, UnsupportedError, onnx_op
from .shapes import normalize_axis, positions, require_constant, require_sizes, size_scalar


@onnx_op("Reshape", since=5)
def reshape(x, shape, *, node, allowzero=0):
    given = graph.type_of(x).shape
    if graph.known_sizes(shape) is None:
        shape = _filled_in(shape, given, allowzero)
        return graph.reshape(x, shape=require_sizes(shape, node, "shape"))
    return reshape_to(x, require_sizes(shape, node, "shape"), allowzero=allowzero)


def reshape_to(x: ir.Value, shape: Sequence[int | Dim], *, allowzero: int) -> ir.Value:
    """`x` in `shape`, whose 0 (unless `allowzero`) and -1 stand for sizes to be found."""
    given, wanted = graph.type_of(x).shape, list(shape)
    if not allowzero:
        for axis, size in enumerate(wanted):
            if size == 0:
                if axis >= len(given):
                    raise graph.TypeRuleError(
                        f"shape entry {axis} copies an axis that is not there"
                    )
                wanted[axis] = given[axis]
    if any(isinstance(size, int) and size < -1 for size in wanted) or wanted.count(-1) > 1:
        raise graph.TypeRuleError(f"cannot reshape to {list(map(str, wanted))}")
    if -1 in wanted:
        hole = wanted.index(-1)
        known = graph.element_count(tuple(wanted[:hole] + wanted[hole + 1 :]))
        if known == 0:
            raise graph.TypeRuleError("shape holds -1 beside a size of 0")
        wanted[hole] = floordiv(graph.element_count(given), known)
    return graph.reshape(x, shape=wanted)


def _filled_in(shape: ir.Value, given: Sequence[int | Dim], allowzero: int) -> ir.Value:
    """`shape`, computed when the model runs, with its 0 and -1 replaced by what they stand for."""
    length = graph.type_of(shape).shape[0]
    if not isinstance(length, int):
        return shape
    zero, one = size_scalar(0), size_scalar(1)
    if not allowzero:
        own = graph.sizes(sizes=[*given, *[0] * length][:length])
        shape = graph.where(graph.equal(shape, zero), own, shape)
    is_hole = graph.less(shape, zero)
    others = graph.reduce_prod(graph.where(is_hole, one, shape), axes=[0], keepdims=False)
    hole = graph.div(size_scalar(graph.element_count(given)), others)
    return graph.where(is_hole, hole, shape)


@onnx_op("Flatten")
def flatten(x, *, axis=1):
    shape = graph.type_of(x).shape
    if not -len(shape) <= axis <= len(shape):
        raise graph.TypeRuleError(f"axis {axis} is outside a tensor of rank {len(shape)}")
    axis = axis if axis >= 0 else axis + len(shape)
    rows, columns = graph.element_count(shape[:axis]), graph.element_count(shape[axis:])
    return graph.reshape(x, shape=[rows, columns])


@onnx_op("Squeeze")
def squeeze_1(x, *, axes=None):
    shape = graph.type_of(x).shape
    if axes is None:
        drop = {axis for axis, size in enumerate(shape) if size == 1}
    else:
        drop = {normalize_axis(axis, len(shape)) for axis in axes}
    for axis in drop:
        if isinstance(shape[axis], int) and shape[axis] != 1:
            raise graph.TypeRuleError(f"cannot squeeze axis {axis} of size {shape[axis]}")
    return graph.reshape(x, shape=[size for i, size in enumerate(shape) if i not in drop])


@onnx_op("Squeeze", since=13)
def squeeze(x, axes=None, *, node):
    if axes is not None and is_computed(axes):
        table = listed(axes, graph.type_of(x).rank)
        return without(x, marked(table), axis_count(axes), node)
    return squeeze_1(x, axes=None if axes is None else require_constant(axes, "axes").tolist())


@onnx_op("Unsqueeze")
def unsqueeze_1(x, *, axes):
    given = list(graph.type_of(x).shape)
    rank = len(given) + len(axes)
    added = {normalize_axis(axis, rank) for axis in axes}
    if len(added) != len(axes):
        raise graph.TypeRuleError(f"axes {axes} name an axis twice")
    remaining = iter(given)
    return graph.reshape(x, shape=[1 if i in added else next(remaining) for i in range(rank)])


@onnx_op("Unsqueeze", since=13)
def unsqueeze(x, axes, *, node):
    if is_computed(axes):
        return with_unit_axes(x, axes, node)
    return unsqueeze_1(x, axes=require_constant(axes, "axes").ravel().tolist())


@onnx_op("Transpose")
def transpose(x, *, perm=None):
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=list(reversed(range(rank))) if perm is None else perm)


@onnx_op("Expand", since=8)
def expand(x, shape, *, node):
    wanted = require_sizes(shape, node, "shape")
    return graph.expand(x, shape=graph.broadcast_shapes(graph.type_of(x).shape, wanted))


@onnx_op("Concat", since=4)
def concat(*xs, axis):
    return graph.concat(xs, axis=normalize_axis(axis, graph.type_of(xs[0]).rank))


@onnx_op("Tile", since=6)
def tile(x, repeats, *, node):
    return tile_by(x, require_sizes(repeats, node, "repeats"))


def tile_by(x: ir.Value, counts: Sequence[int | Dim]) -> ir.Value:
    """``[a, b]`` -> ``[1, a, 1, b]`` -> expand -> ``[ra * a, rb * b]``."""
    shape = graph.type_of(x).shape
    if len(counts) != len(shape):
        raise graph.TypeRuleError(f"{len(counts)} repeats for a tensor of rank {len(shape)}")
    apart = [size for axis in shape for size in (1, axis)]
    wide = [size for pair in zip(counts, shape, strict=True) for size in pair]
    x = graph.expand(graph.reshape(x, shape=apart), shape=wide)
    return graph.reshape(x, shape=[c * s for c, s in zip(counts, shape, strict=True)])


@onnx_op("Slice")
def slice_1(x, *, starts, ends, axes=None):
    if len(starts) != len(ends) or (axes is not None and len(axes) != len(starts)):
        raise graph.TypeRuleError("starts, ends and axes differ in length")
    axes = list(range(len(starts))) if axes is None else axes
    return _slice(x, starts, ends, axes, [1] * len(starts))


@onnx_op("Slice", since=10)
def slice_(x, starts, ends, axes=None, steps=None, *, node):
    count = graph.type_of(starts).shape[0]
    if not isinstance(count, int):
        raise UnsupportedError("starts of unknown length")
    which = list(range(count)) if axes is None else require_constant(axes, "axes").tolist()
    each = [1] * count if steps is None else require_constant(steps, "steps").tolist()
    shape = graph.type_of(x).shape
    if not count == len(which) == len(each) == graph.type_of(ends).shape[0]:
        raise graph.TypeRuleError("starts, ends, axes and steps differ in length")
    extents = [shape[normalize_axis(axis, len(shape))] for axis in which]
    first = _bounds(starts, extents, each, 0, node)
    last = _bounds(ends, extents, each, 1, node)
    return _slice(x, first, last, which, each)


def _bounds(
    value: ir.Value,
    extents: Sequence[int | Dim],
    steps: Sequence[int],
    below: int,
    node: Node,
) -> list[int | Dim]:
    """Starts, or ends, of slices; where their signs are not known they are brought into range.

    The range of a backward slice begins `below` the axis: there its last element may lie before.
    """
    known = graph.known_sizes(value)
    if known is not None and all(isinstance(p, int) or _has_sign(p) for p in known):
        return list(known)
    value = graph.cast(value, to=np.int64)
    sizes = graph.sizes(sizes=extents)
    value = graph.where(graph.less(value, size_scalar(0)), graph.add(value, sizes), value)
    backward = [int(step < 0) for step in steps]
    lowest = graph.constant(value=np.array([-below * b for b in backward]))
    highest = graph.sub(sizes, graph.constant(value=np.array(backward)))
    value = graph.max_(graph.min_(value, highest), lowest)
    raised = graph.sub(value, lowest)  # names stand for what is not negative
    named = require_sizes(raised, node, "ends" if below else "starts")
    return [size - below * b for size, b in zip(named, backward, strict=True)]


def _has_sign(size: Dim) -> bool:
    return at_least(size, 0) or at_least(-size, 1)


def _slice(
    x: ir.Value,
    starts: Sequence[int | Dim],
    ends: Sequence[int | Dim],
    axes: Sequence[int],
    steps: Sequence[int],
) -> ir.Value:
    shape = graph.type_of(x).shape
    first: list[int | Dim] = [0] * len(shape)
    sizes = list(shape)
    each = [1] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = normalize_axis(axis, len(shape))
        first[axis], sizes[axis] = slice_bounds(shape[axis], start, end, step)
        each[axis] = step
    return graph.slice_(x, starts=first, sizes=sizes, steps=each)


def slice_bounds(
    extent: int | Dim, start: int | Dim, end: int | Dim, step: int
) -> tuple[int | Dim, int | Dim]:
    """The first index and the number of elements of ``[start:end:step]``, as numpy clamps them."""
    if step == 0:
        raise graph.TypeRuleError("a step of 0")
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start = _clamp(_from_front(start, extent), low if step > 0 else 0, high)
    end = _clamp(_from_front(end, extent), low, high if step < 0 else extent)
    span = end - start if step > 0 else start - end
    return start, max_size(ceildiv(span, abs(step)), 0)


def _from_front(index: int | Dim, extent: int | Dim) -> int | Dim:
    """`index` counted from the front; large ones stay, -2**63 (none given) becomes very small."""
    if isinstance(index, int):
        if index >= 0 or index <= -(2**31):
            return index
        return index + extent
    if at_least(index, 0):
        return index
    if at_least(-index, 1):
        return index + extent
    return index  # -1 for the end of a backward slice, brought into range before


_LARGE = 2**31 - 1


def _clamp(index: int | Dim, low: int, high: int | Dim) -> int | Dim:
    if isinstance(index, int) and index >= _LARGE:
        return high
    return min_size(max_size(index, low), high)


@onnx_op("Split", since=2)
def split_2(x, *, node, axis=0, split=None):
    shape = graph.type_of(x).shape
    axis = normalize_axis(axis, len(shape))
    count = len(node.outputs)
    if split is None:
        if isinstance(shape[axis], int) and shape[axis] % count:
            raise graph.TypeRuleError(f"axis {axis} of size {shape[axis]} in {count} equal parts")
        split = [floordiv(shape[axis], count)] * count
    return _split(x, axis, split)


@onnx_op("Split", since=13)
def split_13(x, split=None, *, node, axis=0):
    sizes = None if split is None else require_sizes(split, node, "split")
    return split_2(x, node=node, axis=axis, split=sizes)


@onnx_op("Split", since=18)
def split_18(x, split=None, *, node, axis=0, num_outputs=None):
    if split is not None:
        return split_13(x, split, node=node, axis=axis)
    shape = graph.type_of(x).shape
    axis = normalize_axis(axis, len(shape))
    count = num_outputs or len(node.outputs)
    each = ceildiv(shape[axis], count)
    last = max_size(shape[axis] - each * (count - 1), 0)
    return _split(x, axis, [*[each] * (count - 1), last])


def _split(x: ir.Value, axis: int, parts: Sequence[int | Dim]) -> tuple[ir.Value, ...]:
    shape = list(graph.type_of(x).shape)
    total = sum(parts, start=0)
    if shape[axis] != total:
        if isinstance(shape[axis], int) and isinstance(total, int):
            raise graph.TypeRuleError(
                f"splits axis {axis} of size {shape[axis]} into {list(parts)}"
            )
        shape[axis] = total  # which is checked when the model runs
        x = graph.reshape(x, shape=shape)
    results = []
    start: int | Dim = 0
    for part in parts:
        starts: list[int | Dim] = [0] * len(shape)
        sizes = list(shape)
        starts[axis], sizes[axis] = start, part
        results.append(graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape)))
        start = start + part
    return tuple(results)


@onnx_op("Pad", since=2)
def pad_2(x, *, pads, mode="constant", value=0.0):
    return _pad(x, pads, graph.splat_like(value, x), mode)


@onnx_op("Pad", since=11)
def pad(x, pads, constant_value=None, axes=None, *, node, mode="constant"):
    amounts = list(require_sizes(pads, node, "pads"))
    rank = graph.type_of(x).rank
    if axes is not None:
        which = [normalize_axis(a, rank) for a in require_constant(axes, "axes").tolist()]
        given = amounts
        amounts: list[int | Dim] = [0] * (2 * rank)
        for i, axis in enumerate(which):
            amounts[axis], amounts[rank + axis] = given[i], given[len(which) + i]
    value = graph.splat_like(0, x) if constant_value is None else constant_value
    return _pad(x, amounts, graph.reshape(value, shape=[]), mode)


def _pad(x: ir.Value, pads: Sequence[int | Dim], value: ir.Value, mode: str) -> ir.Value:
    rank = graph.type_of(x).rank
    if len(pads) != 2 * rank:
        raise graph.TypeRuleError(f"{len(pads)} pads for a tensor of rank {rank}")
    low, high = list(pads[:rank]), list(pads[rank:])
    x, low, high = _crop(x, low, high)
    if mode == "constant":
        return graph.pad(x, value, low=low, high=high)
    for axis in range(rank):
        if (low[axis], high[axis]) != (0, 0):
            x = _pad_axis_from_data(x, axis, low[axis], high[axis], mode)
    return x


def _crop(x: ir.Value, low: list, high: list) -> tuple[ir.Value, list, list]:
    """Negative padding removes elements."""
    if not any(isinstance(p, int) and p < 0 for p in (*low, *high)):
        return x, low, high
    shape = graph.type_of(x).shape
    starts = [-p if isinstance(p, int) and p < 0 else 0 for p in low]
    ends = [-p if isinstance(p, int) and p < 0 else 0 for p in high]
    sizes = [s - a - b for s, a, b in zip(shape, starts, ends, strict=True)]
    x = graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape))
    return x, [max_size(p, 0) for p in low], [max_size(p, 0) for p in high]


def _pad_axis_from_data(
    x: ir.Value, axis: int, low: int | Dim, high: int | Dim, mode: str
) -> ir.Value:
    """Modes ``edge``, ``reflect`` and ``wrap``: gather along one axis."""
    extent = graph.type_of(x).shape[axis]
    if mode not in ("edge", "reflect", "wrap"):
        raise UnsupportedError(f"mode '{mode}'")
    if all(isinstance(size, int) for size in (extent, low, high)):
        if extent == 0:
            raise graph.TypeRuleError(f"pads an empty axis with mode '{mode}'")
        places = np.pad(np.arange(extent), (low, high), mode=mode)  # type: ignore[arg-type]
        return graph.gather(x, graph.constant(value=places), axis=axis)
    every = positions(low + extent + high)
    places = graph.sub(every, size_scalar(low))
    return graph.gather(x, _folded(places, extent, mode), axis=axis)


def _folded(places: ir.Value, extent: int | Dim, mode: str) -> ir.Value:
    """`places`, some of them outside, as places on an axis of `extent`."""
    zero, last = size_scalar(0), size_scalar(extent - 1)
    if mode == "edge":
        return graph.min_(graph.max_(places, zero), last)
    if mode == "wrap":
        return graph.mod(places, size_scalar(extent))
    period = size_scalar(2 * (extent - 1))
    forth = graph.mod(places, period)
    return graph.min_(forth, graph.sub(period, forth))


def _blocks(x: ir.Value, blocksize: int) -> tuple[int | Dim, int | Dim, int | Dim, int | Dim]:
    shape = graph.type_of(x).shape
    if len(shape) != 4 or blocksize < 1:
        raise graph.TypeRuleError(
            f"needs rank 4 and a positive blocksize, not {shape}, {blocksize}"
        )
    return shape  # type: ignore[return-value]


@onnx_op("DepthToSpace")
def depth_to_space(x, *, blocksize, mode="DCR"):
    n, c, h, w = _blocks(x, blocksize)
    if isinstance(c, int) and c % (blocksize * blocksize):
        raise graph.TypeRuleError(f"{c} channels do not make blocks of {blocksize} by {blocksize}")
    depth = floordiv(c, blocksize * blocksize)
    if mode == "DCR":
        x = graph.reshape(x, shape=[n, blocksize, blocksize, depth, h, w])
        x = graph.transpose(x, perm=[0, 3, 4, 1, 5, 2])
    else:
        x = graph.reshape(x, shape=[n, depth, blocksize, blocksize, h, w])
        x = graph.transpose(x, perm=[0, 1, 4, 2, 5, 3])
    return graph.reshape(x, shape=[n, depth, h * blocksize, w * blocksize])


@onnx_op("SpaceToDepth")
def space_to_depth(x, *, blocksize):
    n, c, h, w = _blocks(x, blocksize)
    if any(isinstance(size, int) and size % blocksize for size in (h, w)):
        raise graph.TypeRuleError(f"size {h} by {w} is not made of blocks of {blocksize}")
    height, width = floordiv(h, blocksize), floordiv(w, blocksize)
    x = graph.reshape(x, shape=[n, c, height, blocksize, width, blocksize])
    x = graph.transpose(x, perm=[0, 3, 5, 1, 2, 4])
    return graph.reshape(x, shape=[n, c * (blocksize * blocksize), height, width])
