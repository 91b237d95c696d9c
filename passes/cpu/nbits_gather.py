"""Gathers of embeddings from the weights of the last matmul, where both are one table."""

import math
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, ops_within, producer
from ..infra.rewrite import Rewrite

SAMPLE = 64
"""Columns that are compared first: most tables are of another matmul, or of none."""

_Matmul = graph.NbitsMatmulOp | graph.Int8NbitsMatmulOp


class GatherFromPanels(Rewrite):
    """``gather(constant, i)  -->  nbits_gather(panels, i)``, for panels that hold the constant.

    `function` is the program, whose matmuls by few bits have been packed.
    """

    name = "gather-from-panels"
    root = graph.GatherOp

    def __init__(self, function: Any):
        self._matmuls: dict[tuple[int, int], list[_Matmul]] = {}
        """The matmuls by the columns and K of their weights."""
        matmuls: list[_Matmul] = ops_within(function, graph.NbitsMatmulOp)
        for op in [*matmuls, *ops_within(function, graph.Int8NbitsMatmulOp)]:
            _, blocks, _ = graph.type_of(op.w).static_shape
            self._matmuls.setdefault((op.columns, blocks * op.block), []).append(op)

    def pattern(self, op: graph.GatherOp) -> dict[str, Any] | None:
        type_ = graph.type_of(op.x)
        if op.axis != 0 or type_.rank < 2 or not type_.is_static or graph.is_float(type_.dtype):
            return None
        columns, *rest = type_.static_shape
        matmuls = self._matmuls.get((columns, math.prod(rest)))
        table = constant_array(op.x) if matmuls else None
        if matmuls is None or table is None:
            return None
        found = ((each, _middle(each, table)) for each in matmuls)
        matmul, middle = next((pair for pair in found if pair[1] is not None), (None, None))
        return None if matmul is None else {"matmul": matmul, "middle": middle}

    def rewrite(self, op: graph.GatherOp, matmul: _Matmul, middle: int) -> ir.Value:
        type_ = graph.type_of(op.x)
        constant = producer(matmul.w, graph.ConstantOp)  # which stands behind the gather
        assert constant is not None
        panels = constant.operation.clone().results[0]  # of the same data
        return graph.nbits_gather(
            panels, op.indices, columns=matmul.columns, bits=matmul.bits, block=matmul.block,
            nr=matmul.nr, scales=matmul.scales, slice=type_.static_shape[1:], middle=middle,
            to=type_.dtype,
        )  # fmt: skip


def _middle(op: _Matmul, table: np.ndarray) -> int | None:
    """The difference of `table` [N, ...] from the integers in the panels of `op`; None if there is
    no common one."""
    panels = constant_array(op.w)
    if panels is None:
        return None
    layout = graph.NbitsFormat(op.bits, op.block, op.nr, op.scales)
    columns = table.reshape(len(table), -1)
    middle = None
    first = -(-SAMPLE // op.nr)
    for part in (slice(0, first), *(slice(n, n + first) for n in range(first, len(panels), first))):
        integers = layout.integers(panels[part]).transpose(0, 3, 1, 2).reshape(-1, columns.shape[1])
        given = columns[part.start * op.nr : part.stop * op.nr].astype(np.int32)
        beyond = given - integers[: len(given)]
        middle = int(beyond[0, 0]) if middle is None else middle
        if (beyond != middle).any():
            return None
    return middle
