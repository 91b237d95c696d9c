"""The largest live sets of a program: the steps at which a run may take the most memory."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import ComplexityError, Dim, at_least
from .dispatches import dispatched_buffers
from .liveness import LiveBuffer, liveness

LiveSet = list[tuple[str, int | Dim]]
"""Tensors, by the nodes that compute them, and their bytes."""


def largest_live_sets(function: Any, cpu: CpuModel) -> list[LiveSet]:
    """The live sets of a run of `function` (a ``func.func`` of graph ops) on `cpu`, without those
    at which it takes less memory than at another, whatever the named sizes are.

    There are none where the formulas of sizes are too long to be compared, nor of a program that
    is written in other dialects.
    """
    if any(graph.graph_op(op.operation) is None for op in _body(function)):
        return []
    buffers = dispatched_buffers(function, liveness(function, cpu=cpu))
    try:
        greatest = _greatest(_totals(buffers))
    except ComplexityError:
        return []
    alive = [[b for b in buffers if b.begin <= at <= b.end] for at in greatest]
    return [[(b.name, _size(b)) for b in live_set] for live_set in alive if live_set]


def _body(function: Any) -> list[Any]:
    """The ops of `function` but for its return."""
    return list(function.regions[0].blocks[0].operations)[:-1]


def _greatest(totals: Sequence[int | Dim]) -> list[int]:
    """The indices of the maximal `totals`: no other one is at least as large for all sizes."""
    kept: list[int] = []
    for number, total in enumerate(totals):
        if not any(at_least(totals[other], total) for other in kept):
            kept = [other for other in kept if not at_least(total, totals[other])]
            kept.append(number)
    return kept


def _totals(buffers: Sequence[LiveBuffer]) -> list[int | Dim]:
    """The bytes of all `buffers` that are alive, by group.

    Each group's are those of the one before and the difference: there may be thousands of outputs,
    all alive from the beginning to the end.
    """
    groups = 1 + max((buffer.end for buffer in buffers), default=0)
    changes: list[int | Dim] = [0] * (groups + 1)
    for buffer in buffers:
        begin, end = max(buffer.begin, 0), buffer.end + 1
        if begin < end:
            changes[begin] = changes[begin] + _size(buffer)
            changes[end] = changes[end] - _size(buffer)
    return list(accumulate(changes[:groups]))


def _size(buffer: LiveBuffer) -> int | Dim:
    return buffer.bytes if buffer.size_expression is None else buffer.size_expression
