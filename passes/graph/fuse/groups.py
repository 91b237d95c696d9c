"""Groups of ops that grow from a root along its uses.

Ops are identified by their results: an op of a group has exactly one, and the Python objects of ops
are not unique in the bindings.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ....dialects import graph
from ....dialects.locations import fuse_locations, node_name
from ....mlir import ir
from ...infra.base import PassState
from ...infra.query import constant_scalar, has_one_use, producer

Group = list[graph.GraphOp]


def fuse_groups(
    function: Any,
    roots: type[graph.GraphOp],
    kind: str,
    max_operands: int,
    state: PassState,
) -> None:
    """Replace each root and the elementwise ops that can join it by a `graph.fused`."""
    _dequantize_for_each_use(function)
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    grower = _Grower(operations, max_operands)
    statistics = state.statistics(f"fuse-{kind}")
    for operation in operations:
        root = graph.graph_op(operation)
        if not isinstance(root, roots) or _result(root) in grower.taken:
            continue
        group = grower.group(root)
        if len(group) > 1:
            grower.replace(group, _replace(group, kind))
            statistics.record_fired(node_name(operation))
    for operation in reversed(operations):
        if any(result in grower.taken for result in operation.results):
            operation.erase()


def _dequantize_for_each_use(function: Any) -> None:
    """Give every user of a dequantized value an op of its own, so that it can join their groups."""
    for op in list(function.regions[0].blocks[0].operations):
        view = graph.graph_op(op)
        if not isinstance(view, graph.DequantizeOp):
            continue
        for use in list(_result(view).uses)[1:]:
            with ir.InsertionPoint(op):
                copy = op.operation.clone()
            use.owner.operands[use.operand_number] = copy.results[0]


class _Grower:
    """The positions of all values of a block, and the ops that have joined a group."""

    def __init__(self, operations: Iterable[Any], max_operands: int):
        self.max_operands = max_operands
        self.taken: set[ir.Value] = set()
        self.position: dict[ir.Value, int] = {}
        for index, operation in enumerate(operations):
            for result in operation.results:
                self.position[result] = index

    def group(self, root: graph.GraphOp) -> Group:
        """The root and the longest run of elementwise ops on its result with a single live-out."""
        return _trim(self._grow(root))

    def replace(self, group: Group, fused: ir.Value) -> None:
        self.taken |= {_result(op) for op in group}
        self.position[fused] = self.position[_result(group[-1])]

    def _grow(self, root: graph.GraphOp) -> Group:
        shape = graph.type_of(_result(root)).shape
        start = self.position[_result(root)]
        members = {_result(root): root}
        waiting = self._candidates(root, shape)
        while waiting:
            value = min(waiting, key=self.position.__getitem__)
            op = waiting.pop(value)
            joining = {**self._expansions(op, members, shape), value: op}
            outside = _captured({**members, **joining})
            if not all(self._is_before(v, start) for v in outside):
                continue
            if sum(constant_scalar(v) is None for v in outside) > self.max_operands:
                continue
            members |= joining
            waiting |= {v: o for v, o in self._candidates(op, shape).items() if v not in members}
        return list(members.values())  # each after its operands, as users were taken in order

    def _candidates(self, op: graph.GraphOp, shape: Any) -> dict[ir.Value, graph.GraphOp]:
        """Elementwise ops of `shape` that use `op` and belong to no group yet."""
        found = {}
        for user in _users(op):
            view = graph.graph_op(user)
            if not isinstance(view, graph.ElementwiseOp) or _result(view) in self.taken:
                continue
            if graph.type_of(_result(view)).shape == shape:
                found[_result(view)] = view
        return found

    def _expansions(
        self, op: graph.GraphOp, members: Mapping[ir.Value, graph.GraphOp], shape: Any
    ) -> dict[ir.Value, graph.GraphOp]:
        """The ops that dequantize an operand of `op`, for it alone: a group reads fewer bytes with
        them."""
        found = {}
        for value in op.operation.operands:
            inner = producer(value, graph.DequantizeOp)
            if inner is None or value in members or value in self.taken:
                continue
            if has_one_use(value) and graph.type_of(value).shape == shape:
                found[value] = inner
        return found

    def _is_before(self, value: ir.Value, start: int) -> bool:
        """Return whether `value` is available at the root, or is a constant."""
        if isinstance(value.owner, ir.Block):
            return True
        return value.owner.name == "graph.constant" or self.position.get(value, start) < start


def _result(op: graph.GraphOp) -> ir.Value:
    return op.operation.results[0]


def _users(op: graph.GraphOp) -> list[Any]:
    """The ops in the block of `op` that use it, directly or in their regions."""
    level = op.operation.parent
    return [_enclosing(use.owner.operation, level) for use in _result(op).uses]


def _enclosing(operation: Any, level: Any) -> Any:
    while operation.parent != level:
        operation = operation.parent.operation
    return operation


def _captured(members: dict[ir.Value, graph.GraphOp]) -> set[ir.Value]:
    used = {value for op in members.values() for value in op.operation.operands}
    return used - members.keys()


def _trim(group: Group) -> Group:
    """The longest prefix of `group` of which only the last value is used outside, and that does not
    end with the expansion of a quantized value."""
    for length in range(len(group), 1, -1):
        if isinstance(group[length - 1], graph.DequantizeOp):
            continue
        members = {_result(op) for op in group[:length]}
        inner = group[: length - 1]
        if all(
            result in members for op in inner for user in _users(op) for result in _results(user)
        ):
            return group[:length]
    return group[:1]


def _results(user: Any) -> list[ir.Value | None]:
    return list(user.results) or [None]  # None: a terminator, which is in no group


def _replace(group: Group, kind: str) -> ir.Value:
    """Build the fused op in place of the last op of `group`; the members are erased later."""
    last = group[-1].operation
    with ir.InsertionPoint(last), fuse_locations([op.operation.location for op in group]):
        fused = graph.fuse(group, kind=kind)
    last.results[0].replace_all_uses_with(fused)
    return fused
