"""Workaround for IREE 3.13 CollapseDimensions: a dynamic value that a dispatch both returns and
broadcasts over several axes gets wrong sizes. A compute barrier separates the two. Remove when
``collapsed_broadcasts`` (`test_faults.py`) computes the right values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import has_reduction
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import insert_barrier, readings
from .loops import extents_of, loops_along


@register
@dataclass(frozen=True)
class WorkaroundCollapsedBroadcasts(Pass):
    """Materialize dynamic values that one op broadcasts over several axes, and another does not.

    %mean = linalg.generic ... -> tensor<?xf32>
    %1 = linalg.generic {(i, j, k) -> (i, j, k), (i, j, k) -> (i)} ins(%x, %mean)
    return %mean, %1
    -->
    %mean = linalg.generic ... -> tensor<?xf32>
    %0 = iree_tensor_ext.compute_barrier.end %mean
    %1 = linalg.generic {(i, j, k) -> (i, j, k), (i, j, k) -> (i)} ins(%x, %0)
    return %0, %1

    The backend would compute both in one dispatch, and collapse the adjacent axes j and k. For the
    size of the collapsed axis it takes the sizes of its first result for those of the second, and
    writes out of bounds (IREE 3.13, ``CollapseDimensions.cpp``, which moves reshapes out of a
    dispatch). There is no error if both results have the same sizes.
    """

    name = "workaround-collapsed-broadcasts"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if each.name.startswith("linalg.") and kernel_of(each) is None:
                for result in each.results:
                    if _is_of_unknown_size(result) and _is_spread_by_some(result, each.results):
                        insert_barrier(result)


def _is_of_unknown_size(x: ir.Value) -> bool:
    return isinstance(x.type, ir.RankedTensorType) and not x.type.has_static_shape


def _is_spread_by_some(x: ir.Value, together: Sequence[ir.Value]) -> bool:
    """Return whether an elementwise op broadcasts `x` over several axes, and a value computed
    `together` with it, or from one of these without such a broadcast, may be a result of the same
    dispatch."""
    return (
        sum(1 for each in together for _ in readings(each)) > 1
        and any(spread for _, spread in _coming_of([x], with_reductions=False))
        and any(not spread and _may_be_result(each) for each, spread in _coming_of(together))
    )


def _coming_of(
    values: Sequence[ir.Value], *, with_reductions: bool = True
) -> Iterator[tuple[ir.Value, bool]]:
    """`values`, and what generic ops compute from them, each with whether it is broadcast over
    several axes."""
    waiting, seen = [(x, False) for x in values], set()
    while waiting:
        value, spread = found = waiting.pop()
        if found in seen:
            continue
        seen.add(found)
        yield found
        for use in readings(value):
            reader = use.owner.operation
            if reader.name != "linalg.generic":
                continue
            is_reduction = has_reduction(reader)
            if with_reductions or not is_reduction:
                wide = not is_reduction and (spread or _may_spread(use))
                waiting += [(result, wide) for result in reader.results]


def _may_be_result(x: ir.Value) -> bool:
    """Return whether a reader of `x` may be outside of its dispatch."""
    return any(
        use.owner.operation.name != "linalg.generic" or not (_is_in_step(use) or _spreads(use))
        for use in readings(x)
    )


def _is_in_step(use: ir.OpOperand) -> bool:
    """Return whether the reader is elementwise and reads the operand along all its loops, in
    order."""
    reader = use.owner.operation
    own, extents = loops_along(use), extents_of(reader)
    long = [loop for loop, extent in enumerate(extents) if extent != 1]
    return not has_reduction(reader) and [loop for loop in own if extents[loop] != 1] == long


def _spreads(use: ir.OpOperand) -> bool:
    """Return whether the reader broadcasts the operand along two adjacent loops, not counting loops
    of one iteration, and has dynamic sizes that are not the operand's."""
    own, extents = loops_along(use), extents_of(use.owner.operation)
    long = [loop for loop, extent in enumerate(extents) if extent != 1]
    together = any(first not in own and second not in own for first, second in pairwise(long))
    return together and _may_spread(use)


def _may_spread(use: ir.OpOperand) -> bool:
    """As `_spreads`, for any two loops: a transpose of the result may make them adjacent."""
    own, extents = loops_along(use), extents_of(use.owner.operation)
    broadcast = [loop for loop, extent in enumerate(extents) if extent != 1 and loop not in own]
    unknown = [loop for loop, extent in enumerate(extents) if extent is None]
    return len(broadcast) > 1 and unknown != [loop for loop in own if extents[loop] is None]
