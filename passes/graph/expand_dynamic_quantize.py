"""The pass `graph-expand-dynamic-quantize`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.registry import register
from ..infra.rewrite import Rewrite


@register
@dataclass(frozen=True)
class GraphExpandDynamicQuantize(Pass):
    """Compute the ranges of dynamic quantization by reductions.

    %q, %scale, %zero = "graph.dynamic_quantize"(%x) : 128x768
    -->
    %low = "graph.reduce_min"(%x), %high = "graph.reduce_max"(%x)
    %scale = ..., %zero = ...                                  : scalars
    %q = "graph.quantize"(%x, %scale, %zero) : 128x768

    A kernel computes all in one or two steps instead of five: with `kernels`, what it can compute
    is kept.
    """

    name = "graph-expand-dynamic-quantize"
    anchor = FUNCTION
    only_rewrites = True
    kernels: bool = False
    """True to keep what the kernel of a CPU computes."""

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ExpandRange(self.kernels)], state)


class ExpandRange(Rewrite):
    """``dynamic_quantize(x)  -->  quantize(x, scale, zero), scale, zero``."""

    name = "expand-range"
    root = graph.DynamicQuantizeOp

    def __init__(self, kernels: bool):
        self.kernels = kernels

    def pattern(self, op: graph.DynamicQuantizeOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.DynamicQuantizeOp) -> str | None:
        if not self.kernels or 0 in graph.type_of(op.x).shape:
            return None
        around = op.operation.parent
        is_body = around is not None and around.name != "func.func"  # it may become a kernel itself
        return None if is_body else "a kernel computes it"

    def rewrite(self, op: graph.DynamicQuantizeOp) -> tuple[ir.Value, ir.Value, ir.Value]:
        x, axes = op.x, range(graph.type_of(op.x).rank)
        zero, most = graph.splat_like(0, x), graph.splat_like(255, x)
        low = graph.min_(graph.reduce_min(x, axes=axes, keepdims=False), zero)
        high = graph.max_(graph.reduce_max(x, axes=axes, keepdims=False), zero)
        extent = graph.sub(high, low)
        scale = graph.div(extent, most)
        scale = graph.where(graph.equal(extent, zero), graph.splat_like(1, x), scale)
        start = graph.neg(graph.div(low, scale))
        inside = graph.max_(graph.min_(start, most), zero)
        zero_point = graph.cast(graph.round_(inside), to=np.uint8)
        return graph.quantize(x, scale, zero_point), scale, zero_point
