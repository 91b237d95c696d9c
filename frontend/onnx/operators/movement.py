"""Operators that move data: reshape, transpose, concatenate, tile, split."""

from collections.abc import Sequence

from ....dialects import graph
from ....dialects.symbolic import Dim, UndecidableError, ceildiv, decide_equal, floordiv
from ....dialects.symbolic import maximum as max_size
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .axes import axis_count, is_computed, listed, marked, with_unit_axes, without
from .shapes import (
    MAX_SIZES,
    normalize_axis,
    require_answer,
    require_constant,
    require_sizes,
)


@onnx_op("Reshape", since=5)
def reshape(x, shape, *, node, allowzero=0):
    given = graph.type_of(x).shape
    if graph.known_sizes(shape) is None:
        shape = _filled_in(shape, given, allowzero)
        sizes = _only_sizes(shape, graph.element_count(given))
        if sizes is None:
            sizes = require_sizes(shape, node, "shape")
        return graph.reshape(x, shape=sizes)
    return reshape_to(x, require_sizes(shape, node, "shape"), allowzero=allowzero)


def _only_sizes(shape: ir.Value, count: int | Dim) -> list[int | Dim] | None:
    """The sizes for `count` elements where there is one way only, whatever `shape` says: in a row,
    or one element along any number of axes. That `shape` says so is checked when the model runs.
    None where there are others."""
    length = graph.type_of(shape).shape[0]
    if not isinstance(length, int) or not 1 <= length <= (MAX_SIZES if count == 1 else 1):
        return None
    named = graph.reduce_prod(shape, axes=[0], keepdims=False)
    message = f"{count} elements do not reshape to what the shape says"
    require_answer(graph.equal(named, graph.size_scalar(count)), True, message)
    return [count] * length


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
    zero, one = graph.size_scalar(0), graph.size_scalar(1)
    if not allowzero:
        own = graph.sizes(sizes=[*given, *[0] * length][:length])
        shape = graph.where(graph.equal(shape, zero), own, shape)
    is_hole = graph.less(shape, zero)
    others = graph.reduce_prod(graph.where(is_hole, one, shape), axes=[0], keepdims=False)
    hole = graph.div(graph.size_scalar(graph.element_count(given)), others)
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
def squeeze_1(x, *, node, axes=None):
    shape = graph.type_of(x).shape
    if axes is None:
        drop = _unit_axes(shape, node)
    else:
        drop = {normalize_axis(axis, len(shape)) for axis in axes}
    for axis in drop:
        if isinstance(shape[axis], int) and shape[axis] != 1:
            raise graph.TypeRuleError(f"cannot squeeze axis {axis} of size {shape[axis]}")
    return graph.reshape(x, shape=[size for i, size in enumerate(shape) if i not in drop])


def _unit_axes(shape: Sequence[int | Dim], node: Node) -> set[int]:
    """The axes of one element. UnsupportedError where only the run can tell."""
    units, left = set(), []
    for axis, size in enumerate(shape):
        is_unit = _is_one(size, axis, node)
        if is_unit is None:
            left.append(str(size))
        elif is_unit:
            units.add(axis)
    if left:
        raise UnsupportedError(
            f"without axes, its rank depends on whether {', '.join(left)} are 1; dims= fixes sizes"
        )
    return units


def _is_one(size: int | Dim, axis: int, node: Node) -> bool | None:
    """Decide if `size` is 1; None if that depends on the run, and the model allows both."""
    try:
        return decide_equal(size, 1)
    except UndecidableError:
        answer = node.choose(f"axis {axis} has one element", (size, 1))
    if answer is not None:
        only = f"where {size} is {'1' if answer else 'not 1'}"
        message = f"only {only} has the result the rank that what follows takes"
        require_answer(graph.equal(graph.size_scalar(size), graph.size_scalar(1)), answer, message)
    return answer


@onnx_op("Squeeze", since=13)
def squeeze(x, axes=None, *, node):
    if axes is not None and is_computed(axes):
        table = listed(axes, graph.type_of(x).rank)
        return without(x, marked(table), axis_count(axes), node)
    axes = None if axes is None else require_constant(axes, "axes").tolist()
    return squeeze_1(x, axes=axes, node=node)


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
    if graph.known_sizes(shape) is None:
        _require_broadcast(graph.type_of(x).shape, shape)
    wanted = require_sizes(shape, node, "shape")
    return graph.expand(x, shape=graph.broadcast_shapes(graph.type_of(x).shape, wanted))


def _require_broadcast(given: Sequence[int | Dim], shape: ir.Value) -> None:
    """End the run with an error unless `shape`, which is computed, broadcasts with `given`."""
    length = graph.type_of(shape).shape[0]
    if not isinstance(length, int) or not length:
        return
    own = [*[1] * (length - len(given)), *given][-length:]
    sizes, one = graph.sizes(sizes=own), graph.size_scalar(1)
    unit = graph.or_(graph.equal(sizes, one), graph.equal(shape, one))
    fits = graph.or_(unit, graph.equal(sizes, shape))
    fits = graph.reduce_min(fits, axes=[0], keepdims=False)
    graph.require(fits, message="shapes do not broadcast")


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


_BLOCK_ORDERS = ("DCR", "CRD")


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
    if mode not in _BLOCK_ORDERS:
        raise graph.TypeRuleError(f"mode '{mode}' is unknown")
    depth = floordiv(c, blocksize * blocksize)
    if mode == "DCR":
        x = graph.reshape(x, shape=[n, blocksize, blocksize, depth, h, w])
        x = graph.transpose(x, perm=[0, 3, 4, 1, 5, 2])
    else:
        x = graph.reshape(x, shape=[n, depth, blocksize, blocksize, h, w])
        x = graph.transpose(x, perm=[0, 1, 4, 2, 5, 3])
    return graph.reshape(x, shape=[n, depth, h * blocksize, w * blocksize])


@onnx_op("SpaceToDepth")
def space_to_depth(x, *, blocksize, mode="DCR"):
    n, c, h, w = _blocks(x, blocksize)
    if any(isinstance(size, int) and size % blocksize for size in (h, w)):
        raise graph.TypeRuleError(f"size {h} by {w} is not made of blocks of {blocksize}")
    height, width = floordiv(h, blocksize), floordiv(w, blocksize)
    x = graph.reshape(x, shape=[n, c, height, blocksize, width, blocksize])
    if mode not in _BLOCK_ORDERS:
        raise graph.TypeRuleError(f"mode '{mode}' is unknown")
    x = graph.transpose(x, perm=[0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4])
    return graph.reshape(x, shape=[n, c * (blocksize * blocksize), height, width])
