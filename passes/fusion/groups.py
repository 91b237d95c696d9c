"""Growing groups of ops from a root along its uses."""

from typing import Any

from ...dialects import graph
from ...dialects.locations import fuse_locations, node_name
from ...mlir import ir
from ..base import PassState


def fuse_groups(
    function: Any,
    roots: tuple[type[graph.GraphOp], ...],
    kind: str,
    max_operands: int,
    state: PassState,
) -> None:
    """Replace each root and the elementwise ops that can join it by a `graph.fused`."""
    block = function.regions[0].blocks[0]
    operations = [op.operation for op in block.operations]
    position = {op: index for index, op in enumerate(operations)}
    statistics = state.statistics(f"fuse-{kind}")
    taken: set[Any] = set()
    for operation in operations:
        root = graph.graph_op(operation)
        if operation in taken or not isinstance(root, roots):
            continue
        group = _trim(_grow(root, position, max_operands, taken))
        if len(group) > 1:
            taken |= {op.operation for op in group}
            position[_replace(group, kind)] = position[group[-1].operation]
            statistics.record_fired(node_name(operation))
    for operation in reversed(operations):
        if operation in taken:
            operation.erase()


def _grow(
    root: graph.GraphOp, position: dict[Any, int], max_operands: int, taken: set[Any]
) -> list[graph.GraphOp]:
    """The root and, in order, every elementwise op that can be computed where the root is."""
    shape = graph.type_of(root.operation.results[0]).shape
    start = position[root.operation]
    group = [root]
    inside = {root.operation.results[0]}
    candidates = _users(root)
    while candidates:
        operation = min(candidates, key=position.__getitem__)
        candidates.remove(operation)
        op = graph.graph_op(operation)
        if op is None or operation in taken or not _joins(op, shape):
            continue
        outside = [v for v in operation.operands if v not in inside]
        if not all(_is_before(value, start, position) for value in outside):
            continue
        if len(_captured([*group, op])) > max_operands:
            continue
        group.append(op)
        inside.add(operation.results[0])
        candidates |= {user for user in _users(op) if user not in {g.operation for g in group}}
    return sorted(group, key=lambda op: position[op.operation])


def _joins(op: graph.GraphOp, shape: Any) -> bool:
    return (
        isinstance(op, graph.ELEMENTWISE) and graph.type_of(op.operation.results[0]).shape == shape
    )


def _users(op: graph.GraphOp) -> set[Any]:
    """The ops beside `op` that use it, themselves or in their regions."""
    level = op.operation.parent
    users = {use.owner.operation for result in op.operation.results for use in result.uses}
    return {_enclosing(user, level) for user in users}


def _enclosing(operation: Any, level: Any) -> Any:
    while operation.parent != level:
        operation = operation.parent.operation
    return operation


def _is_before(value: ir.Value, start: int, position: dict[Any, int]) -> bool:
    """Whether `value` is there when the root runs, or is a constant."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return True
    operation = owner.operation
    index = position.get(operation)
    return operation.name == "graph.constant" or (index is not None and index < start)


def _captured(group: list[graph.GraphOp]) -> set[ir.Value]:
    inside = {op.operation.results[0] for op in group}
    return {v for op in group for v in op.operation.operands if v not in inside}


def _trim(group: list[graph.GraphOp]) -> list[graph.GraphOp]:
    """The longest beginning of `group` of which only the last value is used outside."""
    for length in range(len(group), 1, -1):
        members = {op.operation for op in group[:length]}
        inner = group[: length - 1]
        if all(_users(op) <= members for op in inner):
            return group[:length]
    return group[:1]


def _replace(group: list[graph.GraphOp], kind: str) -> Any:
    """Build the fused op where the last op of `group` stands; the members are erased later."""
    last = group[-1].operation
    location = fuse_locations([op.operation.location for op in group])
    with ir.InsertionPoint(last), location:
        fused = graph.fuse(group, kind=kind)
    last.results[0].replace_all_uses_with(fused)
    return fused.owner.operation
