"""Selection of the kernels that compute mixtures of experts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.loop_cost import is_in_kernel
from ..kernels.vector_registers import choose_tile
from .block_quantized_weights import BlockQuantizedWeights
from .select_nbits_kernels import panels_of

MIN_K = 16
"""Minimum K for which packing pays."""
Linear = Callable[[ir.Value], ir.Value]
Weights = np.ndarray | BlockQuantizedWeights
"""Weights of all experts, [E, columns, K] of f32, or quantized, [K, E * columns]."""


@register
@dataclass(frozen=True)
class CpuSelectMixtureKernels(Pass):
    """Select the kernels of mixtures of experts with constant weights, and pack the weights.

    %1 = "graph.mixture"(%x, %weights, %chosen, %w1, %w2) : 64x256, 64x2, 64x2, 8x512x256, 8x256x512
    -->
    %source, %place, %starts = "graph.group_rows"(%chosen) : the uses of each expert together
    %1 = "graph.gather"(%x, %source) : 128x256
    %2 = "graph.expert_matmul"(%1, %w1', %starts, %b1) : 128x256, 64x256x64
    %3 = "graph.relu"(%2)
    %4 = "graph.expert_matmul"(%3, %w2', %starts, %b2) : 128x512, 32x512x64
    %5 = "graph.gather"(%4, %place)
    ...

    An expert computes the tokens that have chosen it, and the weights of others are not read.
    Weights of 2, 4 or 8 bits that are dequantized by blocks are packed as they are
    (`graph.nbits_expert_matmul`). Exact up to the order of accumulation, unless scales may be
    applied to sums. Others are left to `graph-expand-mixture`.
    """

    name = "cpu-select-mixture-kernels"
    anchor = FUNCTION
    only_rewrites = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""
    exact: bool = False
    """True if the weights that are multiplied are those of the program, rounded to f32 likewise."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            apply_rewrites(op, [PackMixture(self.cpu, self.exact)], state)


class PackMixture(Rewrite):
    """``mixture(x, ...)  -->  weights * expert_matmul(...)``, of rows that are grouped."""

    name = "pack-mixture"
    root = graph.MixtureOp

    def __init__(self, cpu: CpuModel, exact: bool):
        self.cpu, self.exact = cpu, exact

    def pattern(self, op: graph.MixtureOp) -> dict[str, Any] | None:
        return {"layers": [_weights_of(value) for value, _ in _layers_of(op)]}

    def check(self, op: graph.MixtureOp, layers: Sequence[Weights | str]) -> str | None:
        x, experts = graph.type_of(op.x), graph.type_of(op.w1).shape[0]
        if is_in_kernel(op.operation):
            return "one kernel runs all iterations of its loop"
        if x.dtype != np.float32 or graph.type_of(op.weights).dtype != np.float32:
            return f"x is {x.dtype}, not f32"
        _, count = graph.type_of(op.chosen).shape
        if 0 in x.shape or not isinstance(count, int) or count == 0:
            return "there are no rows, or an unknown number of experts for each"
        for weights, (value, _) in zip(layers, _layers_of(op), strict=True):
            if isinstance(weights, str):
                return weights
            _, columns, k = graph.type_of(value).shape
            assert isinstance(columns, int)
            assert isinstance(k, int)
            if k < MIN_K or columns < self.cpu.lanes or experts == 0:
                return "K is too small, or the columns do not fill a vector"
            if choose_tile(None, columns, self.cpu) is None:
                return "no panel fits the columns"
        return None

    def rewrite(self, op: graph.MixtureOp, layers: Sequence[Weights]) -> ir.Value:
        tokens, count = graph.type_of(op.chosen).shape
        experts = graph.static_size(graph.type_of(op.w1).shape[0])
        flat = graph.reshape(op.chosen, shape=[tokens * count])
        source, place, starts = graph.group_rows(flat, count=experts, repeat=count)

        def linear(
            weights: Weights, value: ir.Value, bias: ir.Value | None
        ) -> Callable[[ir.Value], ir.Value]:
            _, columns, _ = graph.type_of(value).static_shape
            if bias is None:
                bias = graph.constant(value=np.zeros((experts, columns), np.float32))

            def build(rows: ir.Value) -> ir.Value:
                if isinstance(weights, BlockQuantizedWeights):
                    return self._quantized(rows, weights, starts, bias, columns)
                return self._plain(rows, weights, starts, bias, columns)

            return build

        made = [linear(w, *each) for w, each in zip(layers, _layers_of(op), strict=True)]
        y = graph.applied_experts(op, graph.gather(op.x, source, axis=0), made)
        return graph.weighted_uses(op, graph.gather(y, place, axis=0))

    def _plain(
        self, x: ir.Value, weights: np.ndarray, starts: ir.Value, bias: ir.Value, columns: int
    ) -> ir.Value:
        tile = choose_tile(None, columns, self.cpu)
        assert tile is not None
        panels = [graph.pack_weights(each.T, tile.width) for each in weights]
        return graph.expert_matmul(
            x, graph.constant(value=np.concatenate(panels)), starts, bias,
            mr=tile.rows, columns=columns, lanes=self.cpu.lanes,
        )  # fmt: skip

    def _quantized(
        self,
        x: ir.Value,
        weights: BlockQuantizedWeights,
        starts: ir.Value,
        bias: ir.Value,
        columns: int,
    ) -> ir.Value:
        panels, attrs = panels_of(weights, columns, self.cpu)
        return graph.nbits_expert_matmul(
            x, graph.constant(value=panels), starts, bias,
            columns=columns, exact=self.exact, **attrs,
        )  # fmt: skip


def _layers_of(op: graph.MixtureOp) -> Sequence[tuple[ir.Value, ir.Value | None]]:
    """The weights and biases of the layers of experts."""
    layers = [(op.w1, op.b1), (op.w2, op.b2)]
    return layers if op.w3 is None else [*layers, (op.w3, op.b3)]


def _weights_of(value: ir.Value) -> Weights | str:
    """The constant weights `value`, [E, columns, K], or the reason why they are not multiplied."""
    array = constant_array(value)
    if array is not None:
        return array if array.dtype == np.float32 else f"weights are {array.dtype}"
    if not graph.type_of(value).is_static:
        return "the weights are of unknown size"
    found = BlockQuantizedWeights.of(value, lambda array: array.reshape(-1, array.shape[-1]).T)
    return "the weights are not known at compile time" if found is None else found
