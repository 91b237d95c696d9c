"""Selection of the direct convolution kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim, at_least
from ...mlir import ir
from ..analysis.windows import Shaped, is_pointwise
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from .conv_weights import ConvWeights
from .pixel_tiles import PixelTile, PixelTiles

IMAGE_RANKS = (3, 4, 5)
"""Ranks of sequences, images and volumes."""
VOLUME_RANK = 5

MIN_PIXELS = 4
"""Minimum length of a result row: in shorter ones, tiles cannot fill the registers."""

PLANES = 4
"""Up to this many channels, a channels-first image is read as fast as a channels-last one."""

MIN_FILLED = 1 / 2
"""Share of their vectors that features must fill, unless they are fewer than a vector has; and that
channels of depthwise convolutions must."""
DEPTHWISE_TAPS = 9
"""Depthwise kernels of fewer taps are left to the backend. MobileNetV2, with nine, takes 0.75 times
the CPU time of the backend's own kernels, which need padded copies."""

STREAMED_SHARE = 1 / 2
"""Share of the L3 above which weights are assumed to stream from memory."""
STREAMED_PIXELS = 128
"""Rows of windows that stay in the caches beside streamed weights."""

MIN_WORKGROUPS = 2
"""Minimum number of rows times panels, which threads share."""
SHARED_PIXELS = 256
"""Minimum length of the rows of sequences that threads share in segments (`in_segments`)."""


@register
@dataclass(frozen=True)
class GraphDirectConv(Pass):
    """Convolve with weights in panels, a tile of the result in registers at a time.

    %1 = "graph.conv"(%x, %w) : 1x56x56x64, 3x3x64x64
    -->
    %1 = "graph.direct_conv"(%x, %w') {tile_w = 6} : 1x56x56x64, 1x3x3x64x64

    For channels-last images, sequences and volumes of f32. Small groups are joined, with zeros
    between them, until they fill a vector; in depthwise convolutions, channels fill it. Weights
    that the run computes are moved into panels by it. Exact up to the order of sums.
    """

    name = "graph-direct-conv"
    anchor = FUNCTION
    only_rewrites = True
    optional = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            apply_rewrites(op, [DirectConv(self.cpu)], state)


class DirectConv(Rewrite):
    """``conv(x, w)  -->  direct_conv(x, panels)``."""

    name = "direct-conv"
    root = graph.ConvOp

    def __init__(self, cpu: CpuModel):
        self.cpu, self.lanes, self.tiles = cpu, cpu.lanes, PixelTiles(cpu)

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        attrs, type_ = op.attrs, graph.type_of(op.w)
        if attrs["layout"] != "channels_last" or type_.rank not in IMAGE_RANKS:
            return None
        return {"weights": ConvWeights.of(op.w), "attrs": attrs} if type_.is_static else None

    def check(self, op: graph.ConvOp, weights: ConvWeights, attrs: dict[str, Any]) -> str | None:
        image, result = graph.type_of(op.x).shape, graph.type_of(op.result).shape
        if weights.dtype != np.float32:
            return "only f32 is convolved directly"
        if isinstance(image[-1], Dim):
            return "the number of channels is not known at compile time"
        if attrs["groups"] == 1 and is_pointwise(weights, attrs):
            return "it is a matmul"
        if is_narrow(result):
            return "rows of the result are too short"
        is_known = graph.type_of(op.result).is_static
        if attrs["groups"] == 1 and is_known and self._streams(weights, result[:-1]):
            return "its weights come from memory, which a matmul reads once for all pixels"
        if weights.shape[-2] == 1 and attrs["groups"] > 1:
            return self._check_depthwise(weights, attrs)
        joined = groups_to_join(weights.shape[-1], attrs["groups"], self.lanes)
        if isinstance(joined, str):
            return joined
        if joined > 1 and weights.array is None:
            return "its weights are computed, and small groups would have to be joined"
        tile = self._tile_of(op, weights, attrs)
        if tile.features < min(tile.vectors * self.lanes * MIN_FILLED, weights.shape[-1]):
            return "features fill too little of their vectors"
        panels = -(-weights.shape[-1] // tile.features)
        shares = panels * graph.element_count(result[:-2])
        fills = weights.shape[-1] >= self.lanes * MIN_FILLED
        if at_least(MIN_WORKGROUPS - 1, shares) and not (fills and _has_segments(result)):
            return "too few rows for threads to share"
        return None

    def _check_depthwise(self, weights: ConvWeights, attrs: dict[str, Any]) -> str | None:
        if weights.shape[-1] != attrs["groups"]:
            return "it is depthwise with several features for each channel"
        tile = self.tiles.depthwise(None, weights.shape[-1])
        if tile.features < tile.vectors * self.lanes * MIN_FILLED:
            return "channels fill too little of their vectors"
        few = np.prod(weights.shape[:-2]) < DEPTHWISE_TAPS
        return "the backend convolves few taps depthwise as well" if few else None

    def rewrite(self, op: graph.ConvOp, weights: ConvWeights, attrs: dict[str, Any]) -> ir.Value:
        tile = self._tile_of(op, weights, attrs)
        joined = self._groups_to_join(weights, attrs)
        groups, panels = attrs["groups"], weights.panels(tile.features, attrs["groups"], joined)
        window = {name: attrs[name] for name in ("strides", "dilations", "low", "high")}
        dense = not is_depthwise(weights, attrs)
        image, layout = _image(op.x) if dense else (op.x, "channels_last")
        return graph.direct_conv(
            image, panels, groups=groups // joined, features=weights.shape[-1], tile_w=tile.pixels,
            lanes=self.lanes, layout=layout, **window,
        )  # fmt: skip

    def _streams(self, weights: ConvWeights, pixels: graph.Shape) -> bool:
        """Return whether weights exceed the caches and are multiplied by few pixels only."""
        large = weights.nbytes > self.cpu.l3_bytes * STREAMED_SHARE
        return large and at_least(STREAMED_PIXELS, graph.element_count(pixels))

    def _groups_to_join(self, weights: ConvWeights, attrs: dict[str, Any]) -> int:
        """The number of groups that become one."""
        if is_depthwise(weights, attrs):
            return 1
        joined = groups_to_join(weights.shape[-1], attrs["groups"], self.lanes)
        assert not isinstance(joined, str)
        return joined

    def _tile_of(self, op: Any, weights: ConvWeights, attrs: dict[str, Any]) -> PixelTile:
        size = graph.type_of(op.result).shape[-2]
        pixels = None if isinstance(size, Dim) else size
        if is_depthwise(weights, attrs):
            return self.tiles.depthwise(pixels, attrs["groups"])
        joined = self._groups_to_join(weights, attrs)
        *kernel, channels, features = weights.shape
        groups = attrs["groups"] // joined
        k = int(np.prod(kernel)) * channels * joined
        return self.tiles.dense(pixels, k, features // groups, evenly=groups > 1)


def _image(x: ir.Value) -> tuple[ir.Value, str]:
    """The image `x`, or the channels-first image of which it is a transpose, and its layout."""
    transposed = producer(x, graph.TransposeOp)
    if transposed is None or graph.static_size(graph.type_of(x).shape[-1]) > PLANES:
        return x, "channels_last"
    rank = graph.type_of(x).rank
    moved = transposed.attrs["perm"] == (0, *range(2, rank), 1)
    return (transposed.x, "channels_first") if moved else (x, "channels_last")


def _has_segments(result: graph.Shape) -> bool:
    """Return whether `result` [N, .., W, C] is of sequences, of which threads share segments."""
    _, *rows, pixels, _ = result
    return all(row == 1 for row in rows) and not at_least(SHARED_PIXELS - 1, pixels)


def is_narrow(result: graph.Shape) -> bool:
    """Return whether rows of `result` [N, .., W, C] are too short for tiles of pixels."""
    return at_least(MIN_PIXELS - 1, result[-2])


def is_depthwise(weights: Shaped, attrs: dict[str, Any]) -> bool:
    """Return whether the convolution is depthwise, with one kernel for each of several channels."""
    return weights.shape[-2] == 1 and weights.shape[-1] == attrs["groups"] > 1


def groups_to_join(features: int, groups: int, lanes: int) -> int | str:
    """The number of groups whose features, of `features` of all, fill vectors together, or the
    reason why none do. The vectors of a single group may be partial."""
    if groups == 1:
        return 1
    for joined in (n for n in range(1, groups + 1) if groups % n == 0):
        if joined * features // groups % lanes == 0:
            return joined
        if joined * features // groups > lanes:
            return "groups do not fill vectors evenly"
    return "features do not fill vectors evenly"


def join_small_groups(w: np.ndarray, groups: int, lanes: int) -> tuple[np.ndarray, int] | str:
    """Join groups until their features fill vectors: the weights and the number of groups, or the
    reason why that fails."""
    joined = groups_to_join(w.shape[-1], groups, lanes)
    if isinstance(joined, str):
        return joined
    return (w, 1) if groups == 1 else (graph.join_groups(w, groups, joined), groups // joined)
