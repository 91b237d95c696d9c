"""Results of kernels in caller-allocated buffers, where the backend would copy them there."""

from collections.abc import Sequence
from typing import Any

from ...dialects.iree.dispatches import Dispatch
from ...dialects.iree.hal import import_tensor
from ...mlir import ir
from ..graph_to_linalg.dispatch import SAME_MEMORY


def place_results(entry: ir.Operation, buffers: Sequence[ir.Value]) -> list[int]:
    """Compute results of the function `entry`, by number, in `buffers`; return which.

    They are those of kernels that also update an argument, such as the counters of
    `work-stealing-dispatch`: IREE 3.13 lets no other result of such a dispatch take the place of a
    copy (`tryEmplaceDispatchOp` of EmplaceAllocations.cpp; remove this when it does).
    """
    *_, end = entry.regions[0].blocks[0].operations
    placed = []
    for number, value in enumerate(list(end.operands)):
        dispatch = _dispatch_of(value)
        if dispatch is not None:
            _place(dispatch, buffers[number])
            placed.append(number)
    return placed


def _place(dispatch: Dispatch, buffer: ir.Value) -> None:
    number = dispatch.own_result
    assert number is not None
    with ir.InsertionPoint(dispatch.op), dispatch.op.location:
        type_ = dispatch.op.results[number].type
        dispatch.place(import_tensor(buffer, type_, dispatch.sizes_of(number)))


def _dispatch_of(value: ir.Value) -> Dispatch | None:
    """The dispatch that computes `value` as its only result with memory of its own, for nothing
    else; None if there is none."""
    owner: Any = value.owner
    if sum(1 for _ in value.uses) != 1 or isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name in SAME_MEMORY:
        return _dispatch_of(op.operands[0])
    if op.name != "flow.dispatch":
        return None
    dispatch = Dispatch(op)
    own = dispatch.own_result
    return dispatch if own is not None and op.results[own] == value else None
