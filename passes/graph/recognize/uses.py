"""Uses of the intermediate values that a composite would replace."""

from collections.abc import Collection
from typing import Any

from ....dialects import graph
from ....dialects.locations import node_name
from ....mlir import ir


def used_elsewhere(
    root: Any, leaves: Collection[ir.Value], start: ir.Value | None = None
) -> str | None:
    """A reason if a value between `leaves` and the op `root` has other users; else None.

    Such a value would be computed twice: inside the composite and for the other users. With
    `start`, only values computed from it count, because the others are cheap.
    """
    inside = _inside(root.operation, leaves)
    if start is not None:
        inside = _downstream(start, inside)
    for operation in inside:
        for result in operation.results if operation != root.operation else ():
            if any(use.owner.operation not in inside for use in result.uses):
                return f"'{node_name(operation)}' is used elsewhere"
    return None


def _inside(root: Any, leaves: Collection[ir.Value]) -> dict[Any, None]:
    """`root` and the ops before it back to `leaves`, without constants (an ordered set)."""
    found: dict[Any, None] = {}
    stack = [root]
    while stack:
        operation = stack.pop()
        if operation in found or isinstance(operation.opview, graph.ConstantOp):
            continue
        found[operation] = None
        stack += [
            value.owner.operation
            for value in operation.operands
            if value not in leaves and not isinstance(value.owner, ir.Block)
        ]
    return found


def _downstream(start: ir.Value, inside: dict[Any, None]) -> dict[Any, None]:
    """The ops of `inside` that are computed from `start`, including its own op."""
    found: dict[Any, None] = {ir.OpResult(start).owner.operation: None}
    stack = [start]
    while stack:
        for use in stack.pop().uses:
            operation = use.owner.operation
            if operation in inside and operation not in found:
                found[operation] = None
                stack += list(operation.results)
    return found
