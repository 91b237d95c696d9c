"""Convolutions as matrix products on windows laid out as rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dialects import graph
from ..mlir import ir
from .base import FUNCTION, Pass, PassState
from .greedy import apply_rewrites
from .query import constant_array
from .registry import register
from .rewrite import Rewrite
from .windows import is_pointwise, windows_as_rows

MAX_BYTES = 1 << 28
"""Of the windows of an image, where they are laid out."""


@register
@dataclass(frozen=True)
class GraphConvToMatmul(Pass):
    """Lay out the windows of convolutions as the rows of matrix products.

    %1 = "graph.conv"(%x, %w) : 1x56x56x64, 3x3x64x64
    -->
    %0 = "graph.im2col"(%x) : 1x56x56x576
    %1 = "graph.matmul"(%0, %w') : 1x56x56x576, 576x64

    For targets whose backend has tiles in registers for products alone. Exact up to the order of
    sums. Kernels must be constant, of more than one place or with strides, and without groups.
    """

    name = "graph-conv-to-matmul"
    anchor = FUNCTION
    narrow: bool = True
    """Whether convolutions of floats of 16 bits are taken, too."""

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ConvToMatmul(self.narrow)], state)


class ConvToMatmul(Rewrite):
    """``conv(x, constant)  -->  matmul(im2col(x), constant)``."""

    name = "conv-to-matmul"
    root = graph.ConvOp

    def __init__(self, narrow: bool):
        self.narrow = narrow

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        attrs = op.attrs
        weights = constant_array(op.w)
        if attrs["layout"] != "channels_last" or weights is None:
            return None
        return {"weights": weights, "attrs": attrs}

    def check(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> str | None:
        if attrs["groups"] != 1:
            return "groups are products of their own"
        if not graph.is_float(weights.dtype):
            return "integers are left to the backend"
        if weights.dtype.itemsize < 4 and not self.narrow:
            return "the backend itself lays out windows of 16 bits"
        if is_pointwise(weights, attrs) and all(stride == 1 for stride in attrs["strides"]):
            return "is a product as it is"
        places = [s for s in graph.type_of(op.result).shape[1:-1] if isinstance(s, int)]
        if math.prod([*places, *weights.shape[:-1]]) * weights.dtype.itemsize > MAX_BYTES:
            return "the windows would take too much memory"
        return None

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> ir.Value:
        matrix = np.ascontiguousarray(weights).reshape(-1, weights.shape[-1])
        return graph.matmul(windows_as_rows(op, weights, attrs), graph.constant(value=matrix))
