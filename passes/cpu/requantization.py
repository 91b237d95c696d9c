"""Quantization of what contractions of integers, and sums of dequantized integers, give."""

import itertools
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, constant_scalar, has_one_use, producer
from ..infra.rewrite import Decline, Rewrite
from .exact_sums import odd_factors

MAX_OPS_BEHIND = 32
"""Values that are looked at for the contraction that a quantized value is computed from."""

ULPS = (0, 1, -1, 2, -2)
"""Distances from the quotient of two scales, in units of the last place, that are tried."""

Scales = tuple[np.ndarray, np.ndarray]

_F32, _ONE = np.dtype(np.float32), np.ones((), np.float32)
TINY = np.finfo(np.float32).tiny
BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


class QuantizeByReciprocal(Rewrite):
    """``quantize(x, s, z)  -->  quantize(x * (1/s), 1, z)`` for a constant scale and an `x` that is
    computed from a contraction: a division takes as long as ten products.

    A quotient may be rounded to the other side of a half, which is rare among sums of products that
    become 8 bits; of 16 bits, one in 300 may be. What is computed from dequantized numbers alone
    often lies on a half, and is divided.
    """

    name = "quantize-by-reciprocal"
    root = graph.QuantizeOp

    def __init__(self, exact: bool):
        self.exact = exact

    def pattern(self, op: graph.QuantizeOp) -> dict[str, Any] | None:
        scale = constant_array(op.scale)
        if scale is None or scale.dtype != np.float32 or (scale == 1).all():
            return None
        if graph.type_of(op.result).dtype not in (np.int8, np.uint8):
            return None
        return {"scale": scale} if follows_contraction(op.x) else None

    def check(self, op: graph.QuantizeOp, scale: np.ndarray) -> str | None:
        with np.errstate(all="ignore"):
            inverse = 1 / scale
        tiny = np.finfo(np.float32).tiny
        if not np.isfinite(inverse).all() or not (np.abs(inverse) >= tiny).all():
            return "a reciprocal is not a normal number"
        is_rounded = self.exact and (odd_factors(scale) != 1).any()
        return "its reciprocal is rounded" if is_rounded else None

    def rewrite(self, op: graph.QuantizeOp, scale: np.ndarray) -> ir.Value:
        inverse = graph.constant(value=1 / scale)
        one = graph.constant(value=np.ones((), np.float32))
        return graph.quantize(graph.mul(op.x, inverse), one, op.zero_point)


def follows_contraction(value: ir.Value) -> bool:
    """Return whether elementwise ops compute `value` from a contraction, without quantizing it in
    between."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < MAX_OPS_BEHIND:
        op = producer(waiting[-1], graph.GraphOp)
        if isinstance(op, graph.Contraction):
            return True
        waiting.pop()
        if isinstance(op, graph.ElementwiseOp) and not isinstance(op, graph.DequantizeOp):
            new = set(op.operation.operands) - seen
            waiting, seen = [*waiting, *new], seen | new
    return False


class FoldRescaling(Rewrite):
    """``(cast(y) * s + b) * r  -->  fma(cast(y), s * r, b * r)`` for integers `y` and constants,
    with or without `b` and a relu. The products of constants are rounded to f32."""

    name = "fold-rescaling"
    root = graph.MulOp

    def __init__(self, exact: bool):
        self.exact = exact

    def pattern(self, op: graph.BinaryOp) -> dict[str, Any] | None:
        factor = constant_scalar(op.b)
        if factor is None or factor.dtype != _F32 or not has_one_use(op.a):
            return None
        relu = producer(op.a, graph.ReluOp)
        inner = op.a if relu is None else relu.x
        shifted = producer(inner, graph.AddOp) if has_one_use(inner) else None
        scaled = producer(inner if shifted is None else shifted.a, graph.MulOp)
        if scaled is None or not has_one_use(scaled.result):
            return None
        offset = None if shifted is None else constant_array(shifted.b)
        scale, total = constant_array(scaled.b), producer(scaled.a, graph.CastOp)
        if scale is None or total is None or (shifted is not None and offset is None):
            return None
        if graph.type_of(total.x).dtype != np.int32 or graph.type_of(op.result).dtype != _F32:
            return None
        return {
            "total": scaled.a,
            "scale": scale,
            "offset": offset,
            "factor": factor,
            "has_relu": relu is not None,
        }

    def check(
        self,
        op: graph.BinaryOp,
        total: ir.Value,
        scale: np.ndarray,
        offset: np.ndarray | None,
        factor: np.floating,
        has_relu: bool,
    ) -> str | None:
        if has_relu and factor < 0:
            return "it would change the sign of what a relu passes"
        with np.errstate(all="ignore"):
            products = [scale * factor] if offset is None else [scale * factor, offset * factor]
        if not all(np.isfinite(each).all() for each in products):
            return "a product of its constants is not finite"
        return "its constants are rounded" if self.exact else None

    def rewrite(
        self,
        op: graph.BinaryOp,
        total: ir.Value,
        scale: np.ndarray,
        offset: np.ndarray | None,
        factor: np.floating,
        has_relu: bool,
    ) -> ir.Value:
        folded = graph.constant(value=scale * factor)
        if offset is None:
            y = graph.mul(total, folded)
        else:
            y = graph.fma(total, folded, graph.constant(value=offset * factor))
        return graph.relu(y) if has_relu else y


class QuantizeSum(Rewrite):
    """``quantize(dequantize(a, s) + dequantize(b, t), u)  -->
    quantize(fma(dequantize(a, 1), s / u, dequantize(b, t / u)), 1)`` for 8 bits and constants: a
    division takes as long as ten sums. Exact: all 65,536 pairs of integers are tried.

    The quotients of the scales are rounded. If some sum on the edge between two steps falls on the
    other side, their neighbours are tried.
    """

    name = "quantize-sum"
    root = graph.QuantizeOp

    def pattern(self, op: graph.QuantizeOp) -> dict[str, Any] | None:
        scale, zero = constant_scalar(op.scale), constant_scalar(op.zero_point)
        if scale is None or zero is None or scale.dtype != _F32 or scale == 1:
            return None
        relu = producer(op.x, graph.ReluOp)
        total = producer(op.x if relu is None else relu.x, graph.AddOp)
        if total is None or zero.dtype not in BYTES:
            return None
        left, right = dequantized_alike(total.a), dequantized_alike(total.b)
        if left is None or right is None:
            return None
        return {"parts": [left, right], "scale": scale, "has_relu": relu is not None}

    def check(
        self,
        op: graph.QuantizeOp,
        parts: list[graph.DequantizeOp],
        scale: np.float32,
        has_relu: bool,
    ) -> str | None:
        return None if scale > 0 else "its scale is not positive"

    def rewrite(
        self,
        op: graph.QuantizeOp,
        parts: list[graph.DequantizeOp],
        scale: np.float32,
        has_relu: bool,
    ) -> ir.Value:
        scales = _equal_scales(op, parts, scale, has_relu)
        if scales is None:
            raise Decline("no scales near the quotients give the same integers")
        left, right = parts
        factor, scale_of_right = (graph.constant(value=each) for each in scales)
        one = graph.constant(value=np.ones((), np.float32))
        steps = graph.dequantize(left.x, one, left.zero_point, **left.attrs)
        addend = graph.dequantize(right.x, scale_of_right, right.zero_point, **right.attrs)
        y = graph.fma(steps, factor, addend)
        return graph.quantize(graph.relu(y) if has_relu else y, one, op.zero_point)


def dequantized_alike(value: ir.Value) -> graph.DequantizeOp | None:
    """The op that dequantizes `value` from 8 bits to f32 by one constant scale and zero point, or
    None."""
    op = producer(value, graph.DequantizeOp)
    if op is None or graph.type_of(op.x).dtype not in BYTES or op.attrs["to"] != _F32:
        return None
    scale, zero = constant_scalar(op.scale), constant_scalar(op.zero_point)
    is_alike = scale is not None and zero is not None and scale.dtype == _F32
    return op if is_alike and graph.type_of(op.scale).shape == () else None


def _equal_scales(
    op: graph.QuantizeOp, parts: list[graph.DequantizeOp], scale: np.float32, has_relu: bool
) -> Scales | None:
    """Scales of the `parts` whose sum, quantized with a scale of 1, equals the result of `op` for
    all pairs of integers; None if there are none near the quotients."""
    zero, (left, right) = constant_scalar(op.zero_point), parts
    unit = np.asarray(scale)

    def quantized(total: np.ndarray, unit: np.ndarray) -> np.ndarray:
        return graph.QuantizeOp.evaluate(np.maximum(total, 0) if has_relu else total, unit, zero)

    with np.errstate(all="ignore"):
        given = np.asarray(constant_scalar(left.scale)), np.asarray(constant_scalar(right.scale))
        total = all_dequantized(left, given[0])[:, None] + all_dequantized(right, given[1])
        wanted, steps = quantized(total, unit), all_dequantized(left, _ONE)[:, None]
        moves = itertools.product(ULPS, repeat=2)
        for move in sorted(moves, key=lambda each: np.abs(each).sum()):
            scales = moved(given[0] / unit, move[0]), moved(given[1] / unit, move[1])
            if not all(np.isfinite(each) and abs(each) >= TINY for each in scales):
                continue
            total = graph.FmaOp.evaluate(steps, scales[0], all_dequantized(right, scales[1]))
            if np.array_equal(quantized(total, _ONE), wanted):
                return scales
    return None


def all_dequantized(op: graph.DequantizeOp, scale: np.ndarray) -> np.ndarray:
    """All integers of the type that `op` dequantizes, dequantized by another `scale`."""
    info = np.iinfo(graph.type_of(op.x).dtype)
    integers = np.arange(info.min, info.max + 1).astype(info.dtype)
    return graph.DequantizeOp.evaluate(integers, scale, constant_scalar(op.zero_point), to=_F32)


def moved(value: np.ndarray, steps: int) -> np.ndarray:
    """The f32 `value` moved up by some units in the last place."""
    return (np.asarray(value, np.float32).view(np.int32) + np.int32(steps)).view(np.float32)
