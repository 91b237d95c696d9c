"""Memory layout of a program's buffers, and the bytes that a run allocates.

The backend allocates one arena for all intermediate results and packs it greedily, so that it may
be larger than the largest live set. `place_buffers` uses the same algorithm.
"""

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from .dispatches import dispatched_buffers
from .liveness import LiveBuffer, Liveness, liveness
from .size_classes import LARGE, USUAL, size_classes

ALIGNMENT = 64
"""The alignment of every address and size on CPUs, in bytes."""


def allocation(function: Any, found: Liveness, side_by_side: bool = True) -> int:
    """The bytes that a run of `function` allocates at once, for outputs and intermediate results.
    `found` is its liveness. Dispatches run `side_by_side` (concurrently) unless the backend was
    told to keep their order."""
    return place_buffers(dispatched_buffers(function, found, side_by_side))[1]


LARGE_SIZE = 1 << 20
"""A symbolic size for which a program that may need much memory does: some samples of sound."""


def transient_bytes(function: Any, cpu: CpuModel) -> int:
    """The bytes that a run of `function` on `cpu` allocates at once for intermediate results, with
    `LARGE_SIZE` for symbolic sizes. 0 if their sizes depend on more than the shapes of arguments,
    or ops are of other dialects."""
    body = [op.operation for op in function.regions[0].blocks[0].operations]
    if any(_hides_sizes(op) for op in body[:-1]):
        return 0
    buffers = dispatched_buffers(function, liveness(function, assumed=LARGE_SIZE, cpu=cpu))
    return place_buffers([each for each in buffers if each.kind != "output"])[1]


def _hides_sizes(op: ir.Operation) -> bool:
    """Return whether intermediate results of `op` may have sizes that nothing outside tells."""
    view = graph.graph_op(op)
    if view is None:
        return True
    if isinstance(view, graph.BindSizesOp):
        return not isinstance(graph.graph_op(view.x.owner), graph.SizesOp)
    return bool(len(op.regions)) and not isinstance(view, graph.GroupOp)


def place_buffers(buffers: Sequence[LiveBuffer]) -> tuple[list[int], int]:
    """The address of each buffer, and the size of the arena in bytes.

    Outputs come first and share memory with nothing. The others follow in their order; no two
    overlap while both are alive. Inputs, which the caller holds, have address 0 and take no memory.
    """
    offsets = [0] * len(buffers)
    size = 0
    for number, buffer in enumerate(buffers):
        if buffer.kind == "output":
            offsets[number] = size
            size += _aligned(buffer.bytes)
    rest = [n for n, buffer in enumerate(buffers) if buffer.kind not in ("input", "output")]
    static = [number for number in rest if buffers[number].size_expression is None]
    size = _pack_best_fit(buffers, static, offsets, size)
    dynamic = {
        number: expression
        for number in rest
        if (expression := buffers[number].size_expression) is not None
    }
    numbers = list(dynamic)
    for members in size_classes(_samples(list(dynamic.values()))):
        size = _pack_alike(buffers, [numbers[n] for n in sorted(members)], offsets, size)
    return offsets, size


def _samples(expressions: Sequence[Dim]) -> list[list[int]]:
    """The values of size `expressions` if all names are usual, and if each is large."""
    names = sorted(set().union(*(expression.symbols() for expression in expressions)))
    usual = dict.fromkeys(names, USUAL)
    points = [usual, *(usual | {name: LARGE} for name in names)]
    return [[_sample(expression, point) for point in points] for expression in expressions]


def _sample(expression: Dim, point: Mapping[str, int]) -> int:
    """The value of `expression` at `point`; `LARGE` where sizes do not broadcast there."""
    try:
        return graph.static_size(expression.evaluate(point))
    except ValueError:
        return LARGE


def _pack_best_fit(
    buffers: Sequence[LiveBuffer], numbers: Sequence[int], offsets: list[int], base: int
) -> int:
    """Best fit: place buffers one by one, each in the smallest gap that holds it; returns the end
    of the last."""
    placed: list[int] = []  # in the order of their addresses
    end = base
    for number in numbers:
        size = _aligned(buffers[number].bytes)
        address, gaps = base, []
        for other in placed:
            if not _meet(buffers[number], buffers[other]):
                continue
            gaps.append((offsets[other] - address, address))
            address = max(address, offsets[other] + _aligned(buffers[other].bytes))
        fitting = [gap for gap in gaps if gap[0] >= size]
        offsets[number] = min(fitting)[1] if fitting else address
        bisect.insort(placed, number, key=offsets.__getitem__)
        end = max(end, offsets[number] + size)
    return end


def _pack_alike(
    buffers: Sequence[LiveBuffer], numbers: Sequence[int], offsets: list[int], base: int
) -> int:
    """Place buffers of one size class: they share slots of the largest size with each other alone.
    Returns the end of the last slot."""
    size = _aligned(max(buffers[number].bytes for number in numbers))
    ends: list[int] = []  # the last step of the buffer in each slot
    for number in sorted(numbers, key=lambda number: buffers[number].begin):
        free = (slot for slot, end in enumerate(ends) if end < buffers[number].begin)
        slot = next(free, len(ends))
        ends[slot : slot + 1] = [buffers[number].end]
        offsets[number] = base + slot * size
    return base + len(ends) * size


def _meet(first: LiveBuffer, second: LiveBuffer) -> bool:
    """Return whether the live ranges of both overlap."""
    return first.begin <= second.end and second.begin <= first.end


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
