"""Constant right operands with K innermost, as tensor cores read them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite


@register
@dataclass(frozen=True)
class GraphTransposeWeights(Pass):
    """Store weights of 16 bits with the reduction dimension innermost.

    %1 = "graph.matmul"(%x, %w) : 128x768, 768x3072
    -->
    %0 = "graph.transpose"(%w') {perm = [1, 0]} : 3072x768
    %1 = "graph.matmul"(%x, %0)

    ``mma.sync`` takes the right operand column by column. The backend reads the transpose through
    the maps of the contraction: 16 bytes at a time where K is innermost, otherwise element by
    element. Only where nothing afterwards folds the transpose.
    """

    name = "graph-transpose-weights"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [TransposeMatmulWeights(), TransposeConvWeights()], state)


def _check(weights: np.ndarray) -> str | None:
    if not graph.is_float(weights.dtype) or weights.dtype.itemsize != 2:
        return "tensor cores are used for floats of 16 bits alone"
    return None


def _transposed(weights: np.ndarray, order: list[int]) -> ir.Value:
    """`weights` as the transpose of a constant with its axes in `order`."""
    constant = graph.constant(value=np.ascontiguousarray(weights.transpose(order)))
    return graph.transpose(constant, perm=[order.index(axis) for axis in range(weights.ndim)])


class TransposeMatmulWeights(Rewrite):
    """``matmul(x, w)  -->  matmul(x, transpose(w'))``."""

    name = "transpose-matmul-weights"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        weights = constant_array(op.b)
        return None if weights is None else {"weights": weights}

    def check(self, op: graph.MatmulOp, weights: np.ndarray) -> str | None:
        return _check(weights)

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray) -> ir.Value:
        *batch, k, n = range(weights.ndim)
        return graph.matmul(op.a, _transposed(weights, [*batch, n, k]))


class TransposeConvWeights(Rewrite):
    """``conv(x, w)  -->  conv(x, transpose(w'))``, the filters as the outermost axis."""

    name = "transpose-conv-weights"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = constant_array(op.w)
        if weights is None or op.attrs["layout"] != "channels_last":
            return None
        return {"weights": weights}

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        if op.attrs["groups"] != 1:
            return "groups are convolutions of their own"
        return _check(weights)

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        *kernel, channels, filters = range(weights.ndim)
        w = _transposed(weights, [filters, *kernel, channels])
        return graph.conv(op.x, w, **op.attrs)
