"""Constant recurrences of recurrent cells, laid out for the registers of the target."""

from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array
from ..infra.rewrite import Rewrite
from ..kernels.vector_registers import state_width

MIN_SHARE = 2
"""Minimum size in multiples of the L1: smaller weights stay in the L1 in any layout."""
MAX_SHARE = 1
"""Maximum size in multiples of the L3: larger weights are read once per step for many sequences, by
matmuls outside of the recurrent kernel."""
FEW = 8
"""Number of sequences up to which a step is bound by reading the recurrence."""


class PackRecurrence(Rewrite):
    """``lstm(gates, constant, ..)  -->  lstm(gates, panels, ..)``, likewise for rnn and gru."""

    name = "pack-recurrence"
    root = (graph.RnnOp, graph.GruOp, graph.LstmOp)

    def __init__(self, cpu: CpuModel):
        self.cpu = cpu

    def pattern(self, op: graph.RnnOp | graph.GruOp | graph.LstmOp) -> dict[str, Any] | None:
        weights = constant_array(op.recurrence)
        return None if weights is None or weights.ndim != 2 else {"weights": weights}

    def check(
        self, op: graph.RnnOp | graph.GruOp | graph.LstmOp, weights: np.ndarray
    ) -> str | None:
        if weights.dtype != np.float32:
            return "only f32 is packed"
        if weights.nbytes < self.cpu.l1_bytes * MIN_SHARE:
            return "the recurrence is small"
        batch = graph.type_of(op.gates).shape[1]
        few = isinstance(batch, int) and batch <= FEW
        if weights.nbytes > self.cpu.l3_bytes * MAX_SHARE and not few:
            return "the recurrence is large, and the sequences may be many"
        return None

    def rewrite(
        self, op: graph.RnnOp | graph.GruOp | graph.LstmOp, weights: np.ndarray
    ) -> list[ir.Value]:
        gates = weights.shape[1] // weights.shape[0]
        width = state_width(gates, self.cpu.vector_bits)
        panels = graph.constant(value=graph.pack_recurrence(weights, gates, width))
        operands = {**op.operand_groups, "recurrence": panels}
        return list(graph.build(type(op), list(operands.values()), op.attrs))
