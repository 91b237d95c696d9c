"""Selection of Winograd convolutions where they are less work."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..analysis.assumed_sizes import assumed_sizes
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..infra.tunable import tunable
from ..kernels.vector_registers import register_tile

TILES = (4, 2)
"""Result pixels of a tile along an axis: 36 products for 16 pixels, or 16 for 4; a direct
convolution takes 144 and 36. Larger tiles would lose digits."""
GAIN = 1.2
"""Minimum estimated speedup that is worth the rounding."""

TRANSFORM_CYCLES = 4
"""Cycles per product of a tile and vector of channels, on either side: counted, not measured."""


@register
@dataclass(frozen=True)
class GraphWinograd(Pass):
    """Convolve 3x3 kernels with fewer multiplications, on transformed images and weights.

    %1 = "graph.conv"(%x, %w) : 1x56x56x64, 3x3x64x64
    -->
    %1 = "graph.winograd_conv"(%x, %w') {tile = 4} : 1x56x56x64, 2x36x64x32

    For channels-last images of f32, constant weights, stride 1. Results differ by rounding, some
    1e-6 of the largest element (3e-6 seen with 256 channels), which `tile=0` avoids.
    """

    name = "graph-winograd"
    anchor = FUNCTION
    only_rewrites = True
    skippable = ("winograd-conv",)
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""
    tile: int = tunable(max(TILES), values=(0, *sorted(TILES)), rounds=True)
    """The largest tiles to use: 4, 2, or 0 for none."""
    skip: tuple[str, ...] = ()
    """Shapes of ops to leave alone, as `op_shapes` writes them."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors and self.tile:
            apply_rewrites(op, [WinogradConv(self.cpu, self.tile)], state, skip=self.skip)


class WinogradConv(Rewrite):
    """``conv(x, constant)  -->  winograd_conv(x, panels)``."""

    name = "winograd-conv"
    root = graph.ConvOp

    def __init__(self, cpu: CpuModel, tile: int):
        self.cpu, self.lanes = cpu, cpu.lanes
        self.tiles = [n for n in TILES if n <= tile]

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        attrs = op.attrs
        weights = constant_array(op.w)
        if attrs["layout"] != "channels_last" or weights is None or weights.ndim != 4:
            return None
        return {"weights": weights, "attrs": attrs}

    def check(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> str | None:
        kernel, (channels, features) = weights.shape[:2], weights.shape[2:]
        if weights.dtype != np.float32:
            return "only f32 is convolved this way"
        if kernel != (3, 3) or any(n != 1 for n in (*attrs["strides"], *attrs["dilations"])):
            return "its kernel is not 3x3, or its strides are not 1"
        if isinstance(graph.type_of(op.x).shape[-1], Dim):
            return "the number of channels is not known at compile time"
        if channels % self.lanes or features // attrs["groups"] % self.lanes:
            return "channels or features do not fill vectors"
        sizes = _Sizes.of(op, channels)
        gain = self._mean_gain(self._tile(sizes), sizes)
        return f"it would be {gain:.2f} times as fast" if gain < GAIN else None

    def _tile(self, sizes: "Sequence[_Sizes]") -> int:
        """The tile for a convolution that may have any of `sizes` that is never much slower than
        the best one for a size (minimax regret)."""

        def regret(tile: int) -> float:
            return max(
                max(self._gain(other, shape) for other in self.tiles) / self._gain(tile, shape)
                for shape in sizes
            )

        return min(self.tiles, key=regret)

    def _mean_gain(self, tile: int, sizes: "Sequence[_Sizes]") -> float:
        return geometric_mean(self._gain(tile, shape) for shape in sizes)

    def _gain(self, tile: int, shape: "_Sizes") -> float:
        """The estimated speedup over a direct convolution."""
        batch, height, width, features = shape.result
        channels, all_channels = shape.channels, shape.groups * shape.channels
        products = (tile + 2) ** 2
        tiles = batch * -(-height // tile) * -(-width // tile)
        vectors = channels * features / self.lanes
        transformed = (all_channels + features) / self.lanes
        transforms = tiles * products * TRANSFORM_CYCLES * transformed
        ours = self._cycles(tiles * products * vectors, products * channels * features) + transforms
        direct = self._cycles(batch * height * width * 9 * vectors, 9 * channels * features)
        return direct / ours

    def _cycles(self, products: float, weights: int) -> float:
        """Cycles of `products` vector FMAs by `weights` weights, which stay in the L2 if they
        fit."""
        streamed = weights * 4 if weights * 4 > self.cpu.l2_bytes else 0
        return max(products / self.cpu.fma_units, streamed / self.cpu.memory_bytes_per_cycle)

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray, attrs: dict[str, Any]) -> ir.Value:
        groups = attrs["groups"]
        features = weights.shape[-1] // groups // self.lanes
        most = register_tile(self.cpu).vectors
        vectors = next(n for n in range(most, 0, -1) if features % n == 0)
        rows = register_tile(self.cpu, vectors).rows
        tile = self._tile(_Sizes.of(op, weights.shape[2]))
        kernel = graph.winograd_kernel(weights, tile, vectors * self.lanes)
        return graph.winograd_conv(
            op.x, graph.constant(value=kernel), low=attrs["low"], high=attrs["high"],
            tile=tile, mr=rows, lanes=self.lanes,
        )  # fmt: skip


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a convolution: its result [N, H, W, F], the channels of a group, and the groups."""

    result: tuple[int, ...]
    channels: int
    groups: int

    @staticmethod
    def of(op: graph.ConvOp, channels: int) -> "list[_Sizes]":
        """The sizes of `op`, or those to assume if they are not all known."""
        *pixels, features = graph.type_of(op.result).shape
        known = graph.static_size(features)
        return [
            _Sizes((*assumed, known), channels, op.attrs["groups"])
            for assumed in assumed_sizes(tuple(pixels), known)
        ]
