"""Quantization of the products of dequantized integers and constants, such as layer scales."""

from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, constant_scalar, producer
from ..infra.rewrite import Decline, Rewrite
from .requantization import BYTES, TINY, ULPS, all_dequantized, dequantized_alike, moved

MOST_FACTORS = 4096
"""Different factors that are tried at most, each on all 256 integers."""

_F32, _ONE = np.dtype(np.float32), np.ones((), np.float32)


class QuantizeProduct(Rewrite):
    """``quantize(dequantize(x, s) * w, u)  -->  quantize(dequantize(x, 1) * (s * w / u), 1)`` for
    8 bits and constants, of which `w` may vary along axes: a division takes as long as three
    products or more. Exact: each factor is tried on all 256 integers, and its neighbours, too."""

    name = "quantize-product"
    root = graph.QuantizeOp

    def pattern(self, op: graph.QuantizeOp) -> dict[str, Any] | None:
        scale, zero = constant_scalar(op.scale), constant_scalar(op.zero_point)
        product = producer(op.x, graph.MulOp)
        if product is None or scale is None or zero is None or scale == 1:
            return None
        if scale.dtype != _F32 or zero.dtype not in BYTES:
            return None
        for x, w in ((product.a, product.b), (product.b, product.a)):
            part, weights = dequantized_alike(x), _known(w)
            if part is not None and weights is not None and weights.dtype == _F32:
                return {"part": part, "weights": weights, "scale": scale}
        return None

    def check(
        self,
        op: graph.QuantizeOp,
        part: graph.DequantizeOp,
        weights: np.ndarray,
        scale: np.float32,
    ) -> str | None:
        return None if scale > 0 else "its scale is not positive"

    def rewrite(
        self,
        op: graph.QuantizeOp,
        part: graph.DequantizeOp,
        weights: np.ndarray,
        scale: np.float32,
    ) -> ir.Value:
        different, places = np.unique(weights, return_inverse=True)
        if different.size > MOST_FACTORS:
            raise Decline(f"it has more than {MOST_FACTORS} factors")
        found = _equal_factors(op, part, different, scale)
        if found is None:
            raise Decline("no factor near a quotient gives the same integers")
        factors = graph.constant(value=found[places].reshape(weights.shape))
        one = graph.constant(value=_ONE)
        steps = graph.dequantize(part.x, one, part.zero_point, **part.attrs)
        return graph.quantize(graph.mul(steps, factors), one, op.zero_point)


def _known(value: ir.Value) -> np.ndarray | None:
    """The elements of `value` if it is a constant, or dequantized from one; None otherwise."""
    op = producer(value, graph.DequantizeOp)
    if op is None:
        return constant_array(value)
    operands = [constant_array(operand) for operand in op.operation.operands]
    return None if any(each is None for each in operands) else op.run(*operands)


def _equal_factors(
    op: graph.QuantizeOp, part: graph.DequantizeOp, weights: np.ndarray, scale: np.float32
) -> np.ndarray | None:
    """The factor of each of `weights` with which all integers become those that `op` gives; None if
    there is none near a quotient."""
    zero, given = constant_scalar(op.zero_point), np.asarray(constant_scalar(part.scale))
    steps = all_dequantized(part, _ONE)[:, None]
    with np.errstate(all="ignore"):
        values = all_dequantized(part, given)[:, None] * weights
        wanted = graph.QuantizeOp.evaluate(values, np.asarray(scale), zero)
        quotients = np.asarray(weights.astype(np.float64) * given / scale, _F32)
        factors, is_open = quotients.copy(), np.ones(weights.size, bool)
        for move in ULPS:
            near = np.where(quotients == 0, quotients, moved(quotients, move))
            is_number = np.isfinite(near) & ((near == 0) | (np.abs(near) >= TINY))
            tried = graph.QuantizeOp.evaluate(steps * near, _ONE, zero)
            fits = is_open & is_number & (tried == wanted).all(0)
            factors[fits] = near[fits]
            is_open &= ~fits
    return None if is_open.any() else factors
