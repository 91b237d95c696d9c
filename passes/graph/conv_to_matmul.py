"""Convolutions as matmuls on windows laid out as rows (im2col)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..analysis.windows import is_pointwise, windows_as_rows
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.gpu_tiles import implicit_tile
from ..kernels.mma_matmul import MmaShape
from ..kernels.mma_tiles import conv_shape

MAX_BYTES = 1 << 28
"""Maximum bytes of the windows of one image that are laid out as rows."""
FEW_ELEMENTS = 1 << 19
"""Elements of all windows up to which they count as few. Measured on an H200 in f16, in
microseconds, for the backend's convolution and for im2col and matmul: 3x3x256 at 14x14, 40 and 19;
3x3x128 at 28x28, 27 and 29; 3x3x64 at 56x56, 14 and 47."""
FEW_POSITIONS = 64
"""Output positions of an image up to which the backend's tiles are mostly empty: 3x3x512 at 7x7
takes 65 and 15 microseconds, and 305 and 254 for 32 images."""


@register
@dataclass(frozen=True)
class GraphConvToMatmul(Pass):
    """Lay out the windows of convolutions as the rows of matmuls.

    %1 = "graph.conv"(%x, %w) : 1x56x56x64, 3x3x64x64
    -->
    %0 = "graph.im2col"(%x) : 1x56x56x576
    %1 = "graph.matmul"(%0, %w') : 1x56x56x576, 576x64

    For targets whose backend has register tiles for matmuls alone. Exact up to the order of sums.
    Kernels must be constant, of more than one position or with strides, and without groups.
    """

    name = "graph-conv-to-matmul"
    anchor = FUNCTION
    only_rewrites = True
    narrow: str = "all"
    """The 16-bit float convolutions to convert as well: ``none``, ``few`` (with windows that do not
    overlap, or few of them: `FEW_ELEMENTS`) or ``all``."""
    pointwise: bool = False
    """True to convert 1x1 kernels without strides as well, whose rows need no copy."""
    implicit: bool = False
    """True to leave those for which the lowering has a tile as implicit GEMM, by which no windows
    are copied (`kernels.gpu_tiles`)."""
    tf32: int = 0
    """Products of TF32 in which tensor cores multiply f32 (`kernels.split_floats`), 0 if they do
    not."""

    def run(self, op: Any, state: PassState) -> None:
        rewrite = ConvToMatmul(self.narrow, self.pointwise, self.implicit, self.tf32)
        apply_rewrites(op, [rewrite], state)


class ConvToMatmul(Rewrite):
    """``conv(x, constant)  -->  matmul(im2col(x), constant)``."""

    name = "conv-to-matmul"
    root = graph.ConvOp

    def __init__(self, narrow: str, pointwise: bool, implicit: bool, tf32: int):
        self.narrow = narrow
        self.pointwise = pointwise
        self.implicit = implicit
        self.tf32 = tf32

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        attrs = op.attrs
        weights = constant_array(op.w)
        if attrs["layout"] != "channels_last" or weights is None:
            return None
        return {"weights": weights, "attrs": attrs}

    def check(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> str | None:
        if attrs["groups"] != 1:
            return "groups are matmuls of their own"
        if not graph.is_float(weights.dtype):
            return "integers are left to the backend"
        if self._is_matmul(weights, attrs):
            return None if self.pointwise else "is a matmul as it is"
        if self.implicit and self._is_implicit_gemm(op):
            return "becomes an implicit GEMM"
        if weights.dtype.itemsize < 4 and not self._takes_narrow(op, weights, attrs):
            return "the backend itself lays out windows of 16 bits"
        pixels = [s for s in graph.type_of(op.result).shape[1:-1] if isinstance(s, int)]
        if math.prod([*pixels, *weights.shape[:-1]]) * weights.dtype.itemsize > MAX_BYTES:
            return "the windows would take too much memory"
        return None

    def _is_implicit_gemm(self, op: graph.ConvOp) -> bool:
        return isinstance(conv_shape(op, self.tf32), MmaShape) or implicit_tile(op) is not None

    def _takes_narrow(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> bool:
        if self.narrow != "few":
            return self.narrow == "all"
        batch, *pixels, _ = graph.type_of(op.result).shape
        pairs = zip(weights.shape[:-2], attrs["strides"], strict=True)
        if all(stride >= size for size, stride in pairs):
            return True
        known = [size for size in pixels if isinstance(size, int)]
        if not isinstance(batch, int) or len(known) < len(pixels):
            return False
        elements = math.prod([batch, *known, *weights.shape[:-1]])
        return elements <= FEW_ELEMENTS or math.prod(known) <= FEW_POSITIONS

    @staticmethod
    def _is_matmul(weights: np.ndarray, attrs: dict[str, Any]) -> bool:
        return is_pointwise(weights, attrs) and all(stride == 1 for stride in attrs["strides"])

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> ir.Value:
        matrix = np.ascontiguousarray(weights).reshape(-1, weights.shape[-1])
        if self._is_matmul(weights, attrs):
            return graph.matmul(op.x, graph.constant(value=matrix))
        return graph.matmul(windows_as_rows(op, weights, attrs), graph.constant(value=matrix))
