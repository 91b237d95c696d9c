"""QDQ graphs: movement, pooling and resampling, between DequantizeLinear and QuantizeLinear or on
the integers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import QDQ, draws
from ..drawn_values import Value
from ..node_evaluation import Rejected
from ..qdq.quantized_values import (
    BYTES,
    coding_of,
    dequantized,
    fed_integers,
    quantize,
    quantized,
)
from .convolution import window


def _reshape(b: GraphBuilder, x: Value) -> Value:
    at = b.integer(0, x.rank)
    shape = [int(np.prod(x.shape[:at])), -1] if b.chance(0.5) else [*x.shape[:at], 1, *x.shape[at:]]
    (y,) = b.add("Reshape", [x, b.ints(shape)])
    return y


def _flatten(b: GraphBuilder, x: Value) -> Value:
    (y,) = b.add("Flatten", [x], axis=b.integer(0, x.rank))
    return y


def _transpose(b: GraphBuilder, x: Value) -> Value:
    (y,) = b.add("Transpose", [x], perm=[int(axis) for axis in b.random.permutation(x.rank)])
    return y


def _slice(b: GraphBuilder, x: Value) -> Value:
    axis = b.integer(0, x.rank - 1)
    size = x.shape[axis]
    start = b.integer(0, size - 1)
    ends = b.integer(start + 1, size)
    step = b.choose((1, 1, 2))
    bounds = [start, ends] if b.chance(0.8) else [start - size, b.choose((ends, 10_000))]
    operands = [b.ints([v]) for v in (*bounds, axis, step)]
    (y,) = b.add("Slice", [x, *operands])
    return y


def _gather(b: GraphBuilder, x: Value) -> Value:
    axis = b.integer(0, x.rank - 1)
    size = x.shape[axis]
    indices = b.random.integers(-size, size, b.choose(((), (1,), (3,), (2, 2))))
    (y,) = b.add("Gather", [x, b.known(np.asarray(indices, np.int64))], axis=axis)
    return y


def _pad(b: GraphBuilder, x: Value) -> Value:
    low, high = ([b.integer(0, 2) for _ in x.shape] for _ in range(2))
    value = [b.known(np.array(b.integer(0, 3), x.dtype))] if b.chance(0.5) else []
    mode = "constant" if value or 1 in x.shape else b.choose(("constant", "edge"))
    (y,) = b.add("Pad", [x, b.ints([*low, *high]), *value], mode=mode)
    return y


def _expand(b: GraphBuilder, x: Value) -> Value:
    (y,) = b.add("Expand", [x, b.ints([b.integer(1, 3), *x.shape])])
    return y


def _unsqueeze(b: GraphBuilder, x: Value) -> Value:
    (y,) = b.add("Unsqueeze", [x, b.ints([b.integer(0, x.rank)])])
    return y


def _split(b: GraphBuilder, x: Value) -> Value:
    axis = b.integer(0, x.rank - 1)
    size = x.shape[axis]
    if size < 2:
        return _reshape(b, x)
    first = b.integer(1, size - 1)
    return b.choose(b.add("Split", [x, b.ints([first, size - first])], 2, axis=axis))


def _tile(b: GraphBuilder, x: Value) -> Value:
    (y,) = b.add("Tile", [x, b.ints([b.choose((1, 1, 2)) for _ in x.shape])])
    return y


_MOVES: tuple[Callable[[GraphBuilder, Value], Value], ...] = (
    _reshape, _flatten, _transpose, _transpose, _slice, _gather, _pad, _expand, _unsqueeze, _split,
    _tile,
)  # fmt: skip


@draws(weight=5, since=13, family=QDQ)
def qdq_movement(b: GraphBuilder) -> None:
    """One or two movements of floats between two codings, often the same one."""
    q = quantized(b, (1, 4))
    coding = coding_of(b, q)
    x = dequantized(b, q, coding)
    for _ in range(b.integer(1, 2)):
        if x.rank and x.size:
            x = b.choose(_MOVES)(b, x)
    if b.chance(0.6):
        b.add("QuantizeLinear", [x, *coding.operands])
    else:
        quantize(b, x)


@draws(weight=1.5, since=13, family=QDQ)
def qdq_integers_moved(b: GraphBuilder) -> None:
    """A movement of the integers themselves."""
    q = quantized(b, (1, 4))
    b.choose([move for move in _MOVES if move is not _tile])(b, q)


@draws(weight=2, since=13, family=QDQ)
def qdq_concat(b: GraphBuilder) -> None:
    """Two or three values of different scales, joined."""
    p = quantized(b, (1, 4))
    axis = b.integer(0, p.rank - 1)

    def fits(v: Value) -> bool:
        return v.rank == p.rank and all(
            m == n or at == axis for at, (m, n) in enumerate(zip(v.shape, p.shape, strict=True))
        )

    parts = [dequantized(b, p)]
    for _ in range(b.integer(1, 2)):
        other = b.find(lambda v: v.dtype.name in BYTES and fits(v)) if b.chance(0.8) else None
        if other is None:
            shape = list(p.shape)
            shape[axis] = b.integer(1, 5)
            other = fed_integers(b, shape, b.choose(BYTES))
        parts.append(dequantized(b, other))
    (y,) = b.add("Concat", [parts[int(i)] for i in b.random.permutation(len(parts))], axis=axis)
    quantize(b, y)


def _pooled(b: GraphBuilder, x: Value) -> Value:
    op_type = b.choose(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool",
                        "GlobalMaxPool", "ReduceMean"))  # fmt: skip
    if op_type.startswith("Global"):
        return b.add(op_type, [x])[0]
    if op_type == "ReduceMean":
        axes = sorted(set(b.axes(x.rank)), key=lambda axis: axis % x.rank)
        if b.opset >= 18:
            return b.add(op_type, [x, b.ints(axes)], keepdims=b.integer(0, 1))[0]
        return b.add(op_type, [x], axes=axes, keepdims=b.integer(0, 1))[0]
    attributes = window(b, x, dilated=op_type == "MaxPool")
    if op_type == "AveragePool":
        attributes["count_include_pad"] = b.integer(0, 1)
    if b.chance(0.2):
        attributes["ceil_mode"] = 1
    return b.add(op_type, [x], **attributes)[0]


@draws(weight=4, since=13, family=QDQ)
def qdq_pooling(b: GraphBuilder) -> None:
    """Pools, windowed and global, and means."""
    q = quantized(b, (3, 4))
    coding = coding_of(b, q)
    quantize(b, _pooled(b, dequantized(b, q, coding)), coding)


@draws(weight=0.5, since=13, family=QDQ)
def qdq_integers_pooled(b: GraphBuilder) -> None:
    """A MaxPool of the integers themselves."""
    q = quantized(b, (3, 4))
    b.add("MaxPool", [q], **window(b, q))


@draws(weight=2, since=13, family=QDQ)
def qdq_resize(b: GraphBuilder) -> None:
    """An image resized by factors, by the nearest or by linear interpolation."""
    q = quantized(b, (4, 4), lambda v: v.size <= 2048)
    coding = coding_of(b, q)
    factors = [1.0, 1.0, *(b.choose((1.0, 2.0, 2.0, 0.5, 1.5)) for _ in range(2))]
    if any(int(f * n) < 1 for f, n in zip(factors, q.shape, strict=True)):
        raise Rejected("nothing would be left")
    scales = b.known(np.array(factors, np.float32))
    mode = b.choose(("nearest", "linear"))
    transform = b.choose(("asymmetric", "half_pixel", "align_corners"))
    attributes: dict[str, Any] = {"nearest_mode": "floor"} if mode == "nearest" else {}
    (y,) = b.add("Resize", [dequantized(b, q, coding), None, scales], mode=mode,
                 coordinate_transformation_mode=transform, **attributes)  # fmt: skip
    quantize(b, y, coding)


@draws(weight=1, since=13, family=QDQ)
def qdq_embedding(b: GraphBuilder) -> None:
    """Rows of a quantised table."""
    rows, width = b.integer(2, 9), b.choose((1, 3, 8, 16, 17))
    table = b.known(b.random.integers(-128, 128, (rows, width)).astype(np.int8))
    scale = b.known(np.asarray(0.01 + 0.02 * b.random.random(()), np.float32))
    indices = b.fed(b.random.integers(0, rows, b.choose(((3,), (2, 5)))), True)
    operands = [table, scale, *([b.known(np.int8(b.integer(-3, 3)))] if b.chance(0.5) else [])]
    (x,) = b.add("DequantizeLinear", operands)
    (y,) = b.add("Gather", [x, indices], axis=0)
    quantize(b, y)
