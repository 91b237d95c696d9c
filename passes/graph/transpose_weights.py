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
from ..kernels.mma_matmul import MmaShape
from ..kernels.mma_tiles import MMA_TYPES, conv_shape, matmul_shape


@register
@dataclass(frozen=True)
class GraphTransposeWeights(Pass):
    """Store weights for tensor cores with the reduction dimension innermost.

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
    only_rewrites = True
    tf32: int = 0
    """Products of TF32 in which tensor cores multiply f32 (`kernels.split_floats`), 0 if they do
    not."""

    def run(self, op: Any, state: PassState) -> None:
        rewrites = [TransposeMatmulWeights(self.tf32), TransposeConvWeights(self.tf32)]
        apply_rewrites(op, rewrites, state)


def _check(weights: np.ndarray, shape: MmaShape | str) -> str | None:
    """The reason against; `shape` is that of our kernel for tensor cores, if it is one."""
    if isinstance(shape, MmaShape) or weights.dtype in MMA_TYPES:
        return None  # the backend has tensor cores for 16 bits too
    return "no tensor cores multiply it"


def _transposed(weights: np.ndarray, order: list[int]) -> ir.Value:
    """`weights` as the transpose of a constant with its axes in `order`."""
    constant = graph.constant(value=np.ascontiguousarray(weights.transpose(order)))
    return graph.transpose(constant, perm=[order.index(axis) for axis in range(weights.ndim)])


class TransposeMatmulWeights(Rewrite):
    """``matmul(x, w)  -->  matmul(x, transpose(w'))``."""

    name = "transpose-matmul-weights"
    root = graph.MatmulOp

    def __init__(self, tf32: int):
        self.tf32 = tf32

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        weights = constant_array(op.b)
        return None if weights is None else {"weights": weights}

    def check(self, op: graph.MatmulOp, weights: np.ndarray) -> str | None:
        return _check(weights, matmul_shape(op, self.tf32))

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray) -> ir.Value:
        *batch, k, n = range(weights.ndim)
        return graph.matmul(op.a, _transposed(weights, [*batch, n, k]))


class TransposeConvWeights(Rewrite):
    """``conv(x, w)  -->  conv(x, transpose(w'))``, the filters as the outermost axis."""

    name = "transpose-conv-weights"
    root = graph.ConvOp

    def __init__(self, tf32: int):
        self.tf32 = tf32

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = constant_array(op.w)
        if weights is None or op.attrs["layout"] != "channels_last":
            return None
        return {"weights": weights}

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        if op.attrs["groups"] != 1:
            return "groups are convolutions of their own"
        return _check(weights, conv_shape(op, self.tf32))

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        *kernel, channels, filters = range(weights.ndim)
        w = _transposed(weights, [filters, *kernel, channels])
        return graph.conv(op.x, w, **op.attrs)
