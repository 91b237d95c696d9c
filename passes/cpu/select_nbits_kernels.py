"""Selection of the kernels that multiply by weights of few bits."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from .block_quantized_weights import BlockQuantizedWeights
from .int8_nbits_activations import QuantizeNbitsActivations
from .matmul_forms import BF16X3_BOUND, F16_LANES, LIKELY_ROWS, TILES_WIDTH, Bf16x3Form
from .nbits_gather import GatherFromPanels
from .recurrent import PackNbitsRecurrence
from .select_int8_kernels import vector_unit

VECTORS = {128: 2, 256: 2, 512: 4}
"""Vectors of a register tile, by the bits of a vector."""
ROWS = {128: 4, 256: 4, 512: 4}
"""Maximum rows of a register tile: beside its accumulators, the registers hold words, scales, and
the weights of a line."""


@register
@dataclass(frozen=True)
class CpuSelectNbitsKernels(Pass):
    """Select the kernel of each matmul of f32 by constant weights of 2, 4 or 8 bits that are
    dequantized by blocks, and pack the weights; likewise those of recurrent cells, of 8 bits.

    %1 = "graph.dequantize"(%w, %s, %z) : 3072x24x32xui4
    %2 = "graph.transpose"(%1 as 3072x768)
    %3 = "graph.matmul"(%x, %2) : 1x768, 768x3072
    -->
    %3 = "graph.nbits_matmul"(%x, %w') {bits = 4, block = 32} : 1x768, 48x24x320

    Exact up to the order of accumulation, unless scales may be applied to sums. Where the model
    lets activations have 8 bits (`graph.accuracy_level`), they are quantized by blocks, and
    multiplied as integers:

    %1 = "graph.quantize_blocks"(%x) {block = 32} : 1x240
    %3 = "graph.int8_nbits_matmul"(%1, %w') {bits = 4, block = 32} : 1x240, 48x24x320

    A table of which single columns are gathered, too, is read from the panels: it is there once.
    """

    name = "cpu-select-nbits-kernels"
    anchor = FUNCTION
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""
    bf16x3: Literal["none", "amx"] = "none"
    """The unit that multiplies factors of f32 as two of bf16, if there are many rows."""
    exact: bool = False
    """True if the weights that are multiplied are those of the program, rounded to f32 likewise,
    and activations are not quantized."""
    unit: Literal["none", "amx", "avx512vnni", "avxvnni", "avx2"] = "none"
    """The unit that multiplies 8-bit integers."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            unit = "none" if self.exact else self.bf16x3
            vectors = vector_unit(self.unit)
            rewrites: list[Rewrite] = [
                PackNbitsMatmul(self.cpu, unit, self.exact),
                PackNbitsRecurrence(self.cpu, vectors, self.exact),
            ]
            apply_rewrites(op, rewrites, state)
            apply_rewrites(op, [QuantizeNbitsActivations(self.cpu, vectors, self.exact)], state)
            apply_rewrites(op, [GatherFromPanels(op)], state)


class PackNbitsMatmul(Rewrite):
    """``matmul(x, dequantize(constant))  -->  nbits_matmul(x, panels)``."""

    name = "pack-nbits-matmul"
    root = graph.MatmulOp

    def __init__(self, cpu: CpuModel, bf16x3: str, exact: bool):
        self.cpu, self.bf16x3, self.exact = cpu, bf16x3, exact
        self.bound = None if bf16x3 == "none" else BF16X3_BOUND

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        if graph.type_of(op.b).rank != 2:
            return None
        weights = BlockQuantizedWeights.of(op.b)
        return None if weights is None else {"weights": weights}

    def check(self, op: graph.MatmulOp, weights: BlockQuantizedWeights | str) -> str | None:
        if isinstance(weights, str):
            return weights
        x = graph.type_of(op.a)
        if x.dtype != np.float32:
            return f"x is {x.dtype}, not f32"
        if 0 in x.shape or not isinstance(x.shape[-1], int):
            return "x is empty, or K is not known at compile time"
        if weights.q.shape[1] < self.cpu.lanes:
            return "the columns do not fill a vector"
        return None

    def rewrite(self, op: graph.MatmulOp, weights: BlockQuantizedWeights) -> ir.Value:
        columns = weights.q.shape[1]
        rows = graph.element_count(graph.type_of(op.a).shape[:-1])
        panels, attrs = panels_of(weights, columns, self.cpu)
        if isinstance(rows, int):
            attrs["mr"] = min(rows, attrs["mr"])
        tiles = self._fills_tiles(op, weights, attrs["nr"])
        y = graph.nbits_matmul(
            op.a, graph.constant(value=panels), columns=columns, exact=self.exact,
            unit="amx" if tiles else "vectors", **attrs,
        )  # fmt: skip
        level = graph.accuracy_level(op.result)
        return graph.allow_accuracy_level(y, level) if level else y

    def _fills_tiles(self, op: graph.MatmulOp, weights: BlockQuantizedWeights, nr: int) -> bool:
        """Return whether tiles multiply the rows faster, or may if their number is dynamic."""
        rows = graph.element_count(graph.type_of(op.a).shape[:-1])
        k = weights.q.shape[0]
        if self.bf16x3 == "none" or k % graph.K_STEPS["amx"] or nr % TILES_WIDTH:
            return False
        return Bf16x3Form.pays(rows if isinstance(rows, int) else LIKELY_ROWS, weights.q)


def panels_of(
    weights: BlockQuantizedWeights, columns: int, cpu: CpuModel
) -> tuple[np.ndarray, dict[str, Any]]:
    """The panels of `weights`, of matrices of so many `columns` side by side, each of which begins
    a panel, and the attributes of a matmul by them."""
    lanes, has_zeros = cpu.lanes, weights.zero is not None
    vectors = min(VECTORS[cpu.vector_bits], -(-columns // lanes))
    layout = graph.NbitsFormat(
        weights.bits, weights.block, vectors * lanes, _scales(weights, cpu), has_zeros,
        weights.offset,
    )  # fmt: skip
    matrices = [slice(n, n + columns) for n in range(0, weights.q.shape[1], columns)]
    panels = [
        layout.pack(
            weights.q[:, own],
            weights.scale[:, own],
            None if weights.zero is None else weights.zero[:, own],
        )
        for own in matrices
    ]
    attrs = {
        "mr": ROWS[cpu.vector_bits], "lanes": lanes, "bits": layout.bits, "block": layout.block,
        "nr": layout.nr, "scales": layout.scales, "zeros": has_zeros, "offset": layout.offset,
    }  # fmt: skip
    return panels[0] if len(panels) == 1 else np.concatenate(panels), attrs


def _scales(weights: BlockQuantizedWeights, cpu: CpuModel) -> str:
    """The narrower type that holds all scales and zero points."""
    parts = [weights.scale] if weights.zero is None else [weights.scale, weights.zero]
    fits = all(np.array_equal(part.astype(np.float16), part) for part in parts)
    return "f16" if fits and cpu.lanes >= F16_LANES else "f32"
