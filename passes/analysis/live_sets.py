"""The largest live sets of a program: the steps at which a run may take the most memory."""

import contextlib
import functools
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import ComplexityError, Dim
from .dispatches import dispatched_buffers
from .liveness import LiveBuffer, liveness

SIZES = (1, 2, 5, 16, 49, 224, 1000)
"""Values of named sizes in examples."""
DRAWN = 25
"""Examples of sizes that differ."""

LiveSet = list[tuple[str, int | Dim]]
"""Tensors, by the nodes that compute them, and their bytes."""


def largest_live_sets(function: Any, cpu: CpuModel) -> list[LiveSet]:
    """The live sets of a run of `function` (a ``func.func`` of graph ops) on `cpu`, without those
    at which it takes less memory than at another for all examples of named sizes.

    There are none where the formulas of sizes are too long to be added up, nor of a program that
    is written in other dialects.
    """
    if any(graph.graph_op(op.operation) is None for op in _body(function)):
        return []
    buffers = dispatched_buffers(function, liveness(function, cpu=cpu))
    try:
        greatest = _greatest(buffers)
    except ComplexityError:
        return []
    alive = [[b for b in buffers if b.begin <= at <= b.end] for at in greatest]
    return [[(b.name, _size(b)) for b in live_set] for live_set in alive if live_set]


def _body(function: Any) -> list[Any]:
    """The ops of `function` but for its return."""
    return list(function.regions[0].blocks[0].operations)[:-1]


def _greatest(buffers: Sequence[LiveBuffer]) -> list[int]:
    """The groups at which a run takes the most memory: at each other one it takes no more than at
    one of these, at all examples of sizes. To prove it for all sizes would take minutes where
    there are hundreds of groups and named heights and widths are divided by strides."""
    values = np.array(_examples(buffers), dtype=object).T
    kept: list[int] = []

    def covers(a: int, b: int) -> bool:
        return bool((values[a] >= values[b]).all())

    for number in sorted(range(len(values)), key=lambda number: -values[number].max()):
        if not any(covers(other, number) for other in kept):
            kept.append(number)
    return sorted(kept)


def _examples(buffers: Sequence[LiveBuffer]) -> list[list[int | Dim]]:
    """The totals of `buffers` at values of the named sizes that a run may have: equal ones, then
    others."""
    names = sorted({name for buffer in buffers for name in _symbols(_size(buffer))})
    draw, found = random.Random(0), []
    equal = [dict.fromkeys(names, size) for size in SIZES]
    drawn = [{name: draw.choice(SIZES) for name in names} for _ in range(DRAWN)]
    for sizes in [*equal, *drawn]:
        value = functools.cache(functools.partial(_value, sizes=sizes))
        # no run has sizes that do not broadcast, or divides by one that is 0
        with contextlib.suppress(ValueError, ZeroDivisionError):
            found.append(_totals(buffers, lambda buffer, value=value: value(_size(buffer))))
    return found


def _value(size: int | Dim, sizes: Mapping[str, int]) -> int | Dim:
    return size.evaluate(sizes) if isinstance(size, Dim) else size


def _symbols(size: int | Dim) -> set[str]:
    return size.symbols() if isinstance(size, Dim) else set()


def _totals(
    buffers: Sequence[LiveBuffer], size: Callable[[LiveBuffer], int | Dim]
) -> list[int | Dim]:
    """The bytes of all `buffers` that are alive, by group; a buffer has those that `size` gives.

    Each group's are those of the one before and the difference: there may be thousands of outputs,
    all alive from the beginning to the end.
    """
    groups = 1 + max((buffer.end for buffer in buffers), default=0)
    changes: list[int | Dim] = [0] * (groups + 1)
    for buffer in buffers:
        begin, end = max(buffer.begin, 0), buffer.end + 1
        if begin < end:
            changes[begin] = changes[begin] + size(buffer)
            changes[end] = changes[end] - size(buffer)
    return list(accumulate(changes[:groups]))


def _size(buffer: LiveBuffer) -> int | Dim:
    return buffer.bytes if buffer.size_expression is None else buffer.size_expression
