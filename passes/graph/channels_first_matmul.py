"""The pass `graph-channels-first-matmul`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..analysis.windows import is_pointwise
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, has_one_use, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from .convert_layout.permutation import to_channels_last
from .convert_layout.sink import SINK_TRANSPOSES

MAX_FEATURES = 16
"""Features up to which an image is not transposed for them: it has more elements than they."""


@register
@dataclass(frozen=True)
class GraphChannelsFirstMatmul(Pass):
    """Multiply the weights of few features by an image that is channels-first in memory.

    %0 = "graph.transpose"(%x) {perm = [0, 2, 3, 1]} : 1x24x184x240 -> 1x184x240x24
    %1 = "graph.conv"(%0, %w) : 1x184x240x24, 1x1x24x4 -> 1x184x240x4
    -->
    %0 = "graph.reshape"(%x) : 24x44160
    %1 = "graph.matmul"(%w', %0) : 4x24, 24x44160 -> 4x44160
    %2 = "graph.reshape"(%1) : 1x4x184x240
    %3 = "graph.transpose"(%2) {perm = [0, 2, 3, 1]} : 1x184x240x4

    For pointwise convolutions of floats, with constant weights. The result, which has fewer
    elements than the image, is transposed instead, behind the ops that read it. Exact up to the
    order of sums.
    """

    name = "graph-channels-first-matmul"
    anchor = FUNCTION
    only_rewrites = True
    optional = True

    def run(self, op: Any, state: PassState) -> None:
        if apply_rewrites(op, [ToChannelsFirstMatmul], state):
            apply_rewrites(op, SINK_TRANSPOSES, state)


class ToChannelsFirstMatmul(Rewrite):
    """``conv(transpose(x), w)  -->  transpose(matmul(w', x))``."""

    name = "to-channels-first-matmul"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        image = producer(op.x, graph.TransposeOp)
        if image is None or op.attrs["layout"] != "channels_last":
            return None
        if image.attrs["perm"] != to_channels_last(graph.type_of(op.x).rank):
            return None
        return {"image": image, "weights": constant_array(op.w)}

    def check(
        self, op: graph.ConvOp, image: graph.TransposeOp, weights: np.ndarray | None
    ) -> str | None:
        if weights is None:
            return "the weights are not constant"
        if not is_pointwise(weights, op.attrs) or any(n != 1 for n in op.attrs["strides"]):
            return "its windows are of several pixels, or apart"
        if op.attrs["groups"] != 1 or weights.dtype != np.float32:
            return "only whole images of f32 are multiplied so"
        *_, channels, features = weights.shape
        if features > min(MAX_FEATURES, channels // 2):
            return "its features are many"
        return None if has_one_use(image.result) else "others read the transposed image, too"

    def rewrite(self, op: graph.ConvOp, image: graph.TransposeOp, weights: np.ndarray) -> ir.Value:
        *_, channels, features = weights.shape
        batch, _, *pixels = graph.type_of(image.x).shape
        outer = [] if batch == 1 else [batch]
        count = graph.element_count(pixels)
        x = graph.reshape(image.x, shape=[*outer, channels, count])
        matrix = np.ascontiguousarray(weights.reshape(channels, features).T)
        y = graph.matmul(graph.constant(value=matrix), x)
        y = graph.reshape(y, shape=[batch, features, *pixels])
        return graph.transpose(y, perm=to_channels_last(graph.type_of(op.x).rank))
