"""Constant recurrences of recurrent cells, laid out for the registers of the target."""

from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array
from ..infra.rewrite import Rewrite
from ..kernels.vector_registers import state_width
from .block_quantized_weights import BlockQuantizedWeights

Recurrent = graph.RnnOp | graph.GruOp | graph.LstmOp

MIN_SHARE = 2
"""Minimum size in multiples of the L1: smaller weights stay in the L1 in any layout."""
MAX_SHARE = 1
"""Maximum size in multiples of the L3: larger weights are read once per step for many sequences, by
matmuls outside of the recurrent kernel."""
L2_SHARE = 2
"""Share of the L2, as a divisor, beyond which weights are read from the L3 as floats: the inputs of
all steps pass through the L2, too."""
FEW = 8
"""Number of sequences up to which a step is bound by reading the recurrence."""


class _Pack(Rewrite):
    """Base of the rewrites to recurrences in panels."""

    root = (graph.RnnOp, graph.GruOp, graph.LstmOp)

    def __init__(self, cpu: CpuModel):
        self.cpu = cpu

    def _reason_against(self, op: Recurrent, size: int) -> str | None:
        """The reason not to keep the recurrence, of `size` bytes, in the caches; or None."""
        batch = graph.type_of(op.gates).shape[1]
        few = isinstance(batch, int) and batch <= FEW
        if size > self.cpu.l3_bytes * MAX_SHARE and not few:
            return "the recurrence is large, and the sequences may be many"
        return None

    def _build(
        self, op: Recurrent, weights: np.ndarray, unit: str = "none", **others: ir.Value
    ) -> list[ir.Value]:
        """`op` with `weights` [H, k*H] in panels, also in groups for a `unit`, and `others` of its
        operands replaced."""
        gates = weights.shape[1] // weights.shape[0]
        width = state_width(gates, self.cpu.vector_bits)
        pack = graph.pack_recurrence if unit == "none" else graph.group_recurrence
        panels = graph.constant(value=pack(weights, gates, width))
        operands = {**op.operand_groups, "recurrence": panels, **others}
        attrs = op.attrs if unit == "none" else {**op.attrs, "unit": unit}
        return list(graph.build(type(op), list(operands.values()), attrs))


class PackRecurrence(_Pack):
    """``lstm(gates, constant, ..)  -->  lstm(gates, panels, ..)``, likewise for rnn and gru."""

    name = "pack-recurrence"

    def pattern(self, op: Recurrent) -> dict[str, Any] | None:
        weights = constant_array(op.recurrence)
        return None if weights is None or weights.ndim != 2 else {"weights": weights}

    def check(self, op: Recurrent, weights: np.ndarray) -> str | None:
        if weights.dtype != np.float32:
            return "only f32 is packed"
        if weights.nbytes < self.cpu.l1_bytes * MIN_SHARE:
            return "the recurrence is small"
        return self._reason_against(op, weights.nbytes)

    def rewrite(self, op: Recurrent, weights: np.ndarray) -> list[ir.Value]:
        return self._build(op, weights)


class PackNbitsRecurrence(_Pack):
    """``lstm(gates, dequantize(constant), ..)  -->  lstm(gates, panels, .., scales)``, likewise for
    rnn and gru: a step is bound by reading the recurrence, of which 8 bits are a quarter.

    Where the state has 8 bits, too, integers are multiplied, and the panels have groups. This is
    exact, and the only rewrite if `exact`.
    """

    name = "pack-nbits-recurrence"

    def __init__(self, cpu: CpuModel, unit: str, exact: bool):
        """`unit` are the vectors that multiply 8-bit integers, or ``none``."""
        super().__init__(cpu)
        self.unit, self.exact = unit, exact

    def pattern(self, op: Recurrent) -> dict[str, Any] | None:
        if graph.type_of(op.recurrence).rank != 2 or graph.type_of(op.gates).dtype != np.float32:
            return None
        weights = BlockQuantizedWeights.of(op.recurrence, whole_columns=True)
        return None if weights is None else {"weights": weights}

    def check(self, op: Recurrent, weights: BlockQuantizedWeights | str) -> str | None:
        if isinstance(weights, str):
            return weights
        unit = self._unit(op)
        if unit == "none" and self.exact:
            return "multiplied as f32, the weights are to be those of the program"
        if unit == "none" and 4 * weights.q.size <= self.cpu.l2_bytes // L2_SHARE:
            return "the recurrence stays in the L2 as f32, which need not be converted"
        if _integers(weights) is None:
            return "the integers less their zero points exceed 8 bits"
        return self._reason_against(op, weights.q.size)

    def rewrite(self, op: Recurrent, weights: BlockQuantizedWeights) -> list[ir.Value]:
        integers = _integers(weights)
        assert integers is not None
        scales = np.ascontiguousarray(weights.scale[0])
        return self._build(op, integers, self._unit(op), scales=graph.constant(value=scales))

    def _unit(self, op: Recurrent) -> str:
        """The unit that multiplies the state as integers, or ``none``."""
        return self.unit if isinstance(op, graph.LstmOp) and op.quantizes_state else "none"


def _integers(weights: BlockQuantizedWeights) -> np.ndarray | None:
    """The integers less their zero points, as i8; None if they exceed it."""
    if weights.zero is None:
        integers = weights.q.astype(np.int16) + weights.offset
    else:
        zeros = np.repeat(weights.zero, weights.block, axis=0)
        integers = weights.q + weights.offset - zeros
    narrow = integers.astype(np.int8)
    return narrow if (narrow == integers).all() else None
