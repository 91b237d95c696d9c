"""Quantized tensors: what integers need not become floats for."""

from typing import Any

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, constant_scalar, has_one_use, producer
from ...infra.rewrite import rewrite

_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


@rewrite(graph.QuantizeOp)
def requantize_alike(op: graph.QuantizeOp) -> Any:
    """``quantize(dequantize(x, s, z), s, z)  -->  x`` for 8-bit integers and a finite scale. Exact:
    the quotient is within half of the integer."""
    inner = producer(op.x, graph.DequantizeOp)
    if inner is None or graph.type_of(inner.x) != graph.type_of(op.result):
        return None
    if graph.type_of(op.result).dtype not in _BYTES or inner.attrs["to"] != np.float32:
        return None
    if not _equal(inner.zero_point, op.zero_point) or not _equal(inner.scale, op.scale):
        return None
    return inner.x if _is_normal(op.scale) else None


@rewrite(graph.QuantizeOp)
def requantize_moved(op: graph.QuantizeOp) -> Any:
    """``quantize(transpose(dequantize(x, s, z)), s, z)  -->  transpose(x)``, also through several
    ops that move elements, for one scale. Exact, as above."""
    moves, value = [], op.x
    while (move := producer(value, (graph.TransposeOp, graph.ReshapeOp))) is not None:
        moves.append(move)
        value = move.x
    inner = _dequantized_alike(value)
    if not moves or inner is None or graph.type_of(inner.x).dtype != graph.type_of(op.result).dtype:
        return None
    if not _equal(inner.zero_point, op.zero_point) or not _equal(inner.scale, op.scale):
        return None
    if inner.attrs["to"] != np.float32 or not _is_normal(op.scale):
        return None
    moved = inner.x
    for move in reversed(moves):
        moved = graph.build(type(move), [moved], move.attrs)
    return moved


@rewrite(graph.MaxPoolOp)
def pool_quantized(op: graph.MaxPoolOp) -> Any:
    """``max_pool(dequantize(x, s, z))  -->  dequantize(max_pool(x), s, z)`` for one positive scale,
    if every window has an element. Exact."""
    inner = _dequantized_alike(op.x)
    if inner is None or not _is_normal(inner.scale) or constant_scalar(inner.scale) < 0:
        return None
    if not graph.has_full_windows(op):
        return None
    pooled = graph.max_pool(inner.x, **op.attrs)
    return graph.dequantize(pooled, inner.scale, inner.zero_point, **inner.attrs)


@rewrite(graph.ReshapeOp, graph.SliceOp, graph.GatherOp, graph.ExpandOp)
def move_quantized(op: Any) -> Any:
    """``reshape(dequantize(x, s, z))  -->  dequantize(reshape(x), s, z)`` for one scale, and
    likewise for `slice`, `gather` and `expand`: fewer bytes move. Exact; in a constant table, for
    indices within bounds."""
    inner = _dequantized_alike(op.x)
    if inner is None:
        return None
    if isinstance(op, graph.GatherOp) and not _stays_inside(op, inner):
        return None
    moved = graph.build(type(op), [inner.x, *list(op.operation.operands)[1:]], op.attrs)
    return graph.dequantize(moved, inner.scale, inner.zero_point, **inner.attrs)


@rewrite(graph.PadOp)
def pad_quantized(op: graph.PadOp) -> Any:
    """``pad(dequantize(x, s, z), 0)  -->  dequantize(pad(x, z), s, z)`` for one scale: fewer bytes
    move, and a quantization behind may vanish. Exact."""
    inner = _dequantized_alike(op.x)
    if inner is None or not _is_normal(inner.scale) or constant_scalar(inner.scale) < 0:
        return None
    value = constant_scalar(op.value)
    if value is None or value != 0 or np.signbit(value):
        return None
    padded = graph.pad(inner.x, inner.zero_point, **op.attrs)
    return graph.dequantize(padded, inner.scale, inner.zero_point, **inner.attrs)


@rewrite(graph.QuantizeOp)
def quantize_parts(op: graph.QuantizeOp) -> Any:
    """``quantize(concat(x, y), s, z)  -->  concat(quantize(x, s, z), quantize(y, s, z))`` for 8
    bits and one scale, if a part is dequantized: fewer bytes move, and quantizations join what
    computes the parts. Exact."""
    joined = producer(op.x, graph.ConcatOp)
    if joined is None or not has_one_use(op.x) or graph.type_of(op.result).dtype not in _BYTES:
        return None
    if graph.type_of(op.scale).shape or graph.type_of(op.zero_point).shape:
        return None
    if not any(_dequantized_alike(x) for x in joined.xs):
        return None
    parts = [graph.quantize(x, op.scale, op.zero_point) for x in joined.xs]
    return graph.concat(parts, **joined.attrs)


@rewrite(graph.QuantizeOp)
def quantize_clamped(op: graph.QuantizeOp) -> Any:
    """``quantize(relu(x), s, z)  -->  quantize(x, s, z)`` if zero becomes the smallest integer, and
    likewise of the maximum, or the minimum, with a number that saturates. Exact: what is clamped
    saturates, too, and NaN stays NaN."""
    relu = producer(op.x, graph.ReluOp)
    clamp = producer(op.x, (graph.MaxOp, graph.MinOp)) if relu is None else None
    if relu is not None:
        x, bound = relu.x, np.float32(0)
    elif clamp is not None:
        x, bound = clamp.a, constant_scalar(clamp.b)
    else:
        return None
    scale, zero = constant_scalar(op.scale), constant_scalar(op.zero_point)
    if bound is None or scale is None or zero is None or not _is_normal(op.scale) or scale < 0:
        return None
    if graph.type_of(x).shape != graph.type_of(op.x).shape or np.isnan(bound):
        return None
    bytes_ = ml_dtypes.iinfo(zero.dtype)
    end = bytes_.max if isinstance(clamp, graph.MinOp) else bytes_.min
    if graph.QuantizeOp.evaluate(np.asarray(bound, scale.dtype), scale, zero) != end:
        return None
    return graph.quantize(x, op.scale, op.zero_point)


@rewrite(graph.MulOp)
def dequantize_spelled(op: graph.BinaryOp) -> Any:
    """``mul(sub(cast(q), z), s)  -->  dequantize(q, s, z)`` for constants that are not folded, as
    they would grow: kernels widen weights of 8 bits. The zero point may be missing. Exact."""
    for part, scale in ((op.a, op.b), (op.b, op.a)):
        shifted = producer(part, graph.SubOp)
        cast = producer(part if shifted is None else shifted.a, graph.CastOp)
        if cast is None or graph.type_of(cast.result) != graph.type_of(op.result):
            continue
        if not _widens_bytes(cast) or constant_array(scale) is None:
            continue
        zero = _as_integer(None if shifted is None else shifted.b, graph.type_of(cast.x).dtype)
        if zero is not None:
            point = graph.constant(value=zero)
            return graph.dequantize(cast.x, scale, point, to=np.dtype(np.float32))
    return None


def _widens_bytes(cast: graph.CastOp) -> bool:
    """Return whether `cast` makes f32 of constant bytes."""
    q = constant_array(cast.x)
    return q is not None and q.dtype in _BYTES and graph.type_of(cast.result).dtype == np.float32


def _as_integer(zero: ir.Value | None, dtype: np.dtype) -> np.ndarray | None:
    """The constant `zero` as an integer of `dtype`, 0 if there is none; None if it is no such."""
    if zero is None:
        return np.zeros((), dtype)
    array = constant_array(zero)
    if array is None:
        return None
    limits = np.iinfo(dtype)
    if not ((array == np.rint(array)) & (array >= limits.min) & (array <= limits.max)).all():
        return None
    return array.astype(dtype)


REWRITES = (
    dequantize_spelled,
    requantize_alike,
    quantize_clamped,
    requantize_moved,
    pool_quantized,
    move_quantized,
    pad_quantized,
    quantize_parts,
)


def _dequantized_alike(value: ir.Value) -> graph.DequantizeOp | None:
    """The op that dequantizes `value` from 8 bits by one scale, or None."""
    op = producer(value, graph.DequantizeOp)
    if op is None or graph.type_of(op.x).dtype not in _BYTES:
        return None
    is_alike = graph.type_of(op.scale).shape == graph.type_of(op.zero_point).shape == ()
    return op if is_alike else None


def _stays_inside(op: graph.GatherOp, table: graph.DequantizeOp) -> bool:
    """Return whether `op` takes elements of its table alone, or an integer of 0 is one as well:
    outside of a table are zeros, by which windows of unknown size are padded."""
    if constant_scalar(table.zero_point) == 0 or constant_array(table.x) is not None:
        return True
    indices, extent = constant_array(op.indices), graph.type_of(op.x).shape[op.axis]
    if indices is None or not isinstance(extent, int):
        return False
    return bool(((indices >= -extent) & (indices < extent)).all())


def _equal(a: ir.Value, b: ir.Value) -> bool:
    if a == b:
        return True
    x, y = constant_array(a), constant_array(b)
    if x is None or y is None:
        return False
    return x.dtype == y.dtype and np.array_equal(x, y)


def _is_normal(scale: ir.Value) -> bool:
    """Return whether the constant `scale` has no 0, subnormal number, infinity or NaN, and neither
    has its product with an integer of 9 bits."""
    array = constant_array(scale)
    if array is None:
        return False
    info = np.finfo(array.dtype)
    sizes = np.abs(array)
    return bool((sizes >= info.tiny).all() and (sizes <= info.max / 512).all())
