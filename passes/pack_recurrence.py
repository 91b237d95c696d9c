"""Constant recurrences of recurrent cells, laid out for the registers of the target."""

from typing import Any

import numpy as np

from ..dialects import graph
from ..mlir import ir
from .query import constant_array
from .rewrite import Rewrite
from .vectors import state_width

MIN_BYTES = 1 << 16
"""Less is in the nearest cache, however it lies."""
MAX_BYTES = 1 << 23
"""More is read once a step for many sequences, by products that are no kernel's."""
FEW = 8
"""Sequences for which a step is little more than reading the recurrence."""


class PackRecurrence(Rewrite):
    """``lstm(gates, constant, ..)  -->  lstm(gates, panels, ..)``, and so for others."""

    name = "pack-recurrence"
    root = (graph.RnnOp, graph.GruOp, graph.LstmOp)

    def __init__(self, vector_bits: int):
        self.vector_bits = vector_bits

    def pattern(self, op: graph.RnnOp | graph.GruOp | graph.LstmOp) -> dict[str, Any] | None:
        weights = constant_array(op.recurrence)
        return None if weights is None or weights.ndim != 2 else {"weights": weights}

    def check(
        self, op: graph.RnnOp | graph.GruOp | graph.LstmOp, weights: np.ndarray
    ) -> str | None:
        if weights.dtype != np.float32:
            return "only f32 is packed"
        if weights.nbytes < MIN_BYTES:
            return "the recurrence is small"
        batch = graph.type_of(op.gates).shape[1]
        few = isinstance(batch, int) and batch <= FEW
        if weights.nbytes > MAX_BYTES and not few:
            return "the recurrence is large, and the sequences may be many"
        return None

    def rewrite(
        self, op: graph.RnnOp | graph.GruOp | graph.LstmOp, weights: np.ndarray
    ) -> list[ir.Value]:
        gates = weights.shape[1] // weights.shape[0]
        width = state_width(gates, self.vector_bits)
        panels = graph.constant(value=graph.pack_recurrence(weights, gates, width))
        operands = {**op.operand_groups, "recurrence": panels}
        return list(graph.build(type(op), list(operands.values()), op.attrs))
