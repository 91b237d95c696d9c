"""Matmuls by weights of few bits whose activations a model lets be quantized to 8 bits."""

from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.rewrite import Rewrite
from ..kernels.nbits_dots import nbits_dot

MIN_BLOCK = 16
"""Minimum block: with shorter ones, scaling sums takes as long as multiplying."""


class QuantizeNbitsActivations(Rewrite):
    """``nbits_matmul(x, panels)  -->  int8_nbits_matmul(quantize_blocks(x), panels)``, where the
    model allows it (`accuracy_level` 4 of MatMulNBits).

    `unit` multiplies 8-bit integers on vectors. If `exact`, nothing may be quantized.
    """

    name = "quantize-nbits-activations"
    root = graph.NbitsMatmulOp
    bound = 3e-2
    """Activations are rounded to steps of 1/127 of the largest of a block."""

    def __init__(self, cpu: CpuModel, unit: str, exact: bool):
        self.cpu, self.unit, self.exact = cpu, unit, exact

    def pattern(self, op: graph.NbitsMatmulOp) -> dict[str, Any] | None:
        return {} if graph.accuracy_level(op.result) >= graph.INT8_LEVEL else None

    def check(self, op: graph.NbitsMatmulOp) -> str | None:
        if self.exact:
            return "activations are to stay as they are (precision=strict)"
        if nbits_dot(self.unit, op.bits, self.cpu.lanes) is None:
            return f"there is no kernel of 8 bits for the CPU's vectors (its unit: {self.unit})"
        if op.unit == "amx":
            return "its rows fill tiles, which multiply bf16 terms"
        if op.block < MIN_BLOCK:
            return f"a scale for every {op.block} activations takes as long as multiplying"
        return None

    def rewrite(self, op: graph.NbitsMatmulOp) -> ir.Value:
        return graph.int8_nbits_matmul(
            graph.quantize_blocks(op.x, block=op.block), op.w, unit=self.unit, mr=op.mr,
            columns=op.columns, bits=op.bits, block=op.block, nr=op.nr, scales=op.scales,
            zeros=op.zeros, offset=op.offset,
        )  # fmt: skip
