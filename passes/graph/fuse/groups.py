"""Groups of ops that grow from a root along its uses.

Ops are identified by their results: an op of a group has exactly one, and the Python objects of ops
are not unique in the bindings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ....dialects import graph
from ....dialects.locations import fuse_locations, node_name
from ....mlir import ir
from ...infra.base import PassState
from ...infra.query import constant_scalar, has_one_use, producer
from ...infra.report import RewriteStatistics

Group = list[graph.GraphOp]

MAX_BETWEEN = 16
"""Ops behind a root that are looked at, whether the group can be computed behind them."""


def fuse_groups(
    function: Any,
    roots: type[graph.GraphOp],
    kind: str,
    max_operands: int,
    state: PassState,
) -> None:
    """Replace each root and the elementwise ops that can join it by a `graph.fused`, also in the
    regions of loops and branches."""
    statistics = state.statistics(f"fuse-{kind}")
    for block in _blocks(function):
        _fuse_in_block(block, roots, kind, max_operands, statistics)


def _blocks(operation: Any) -> Iterator[ir.Block]:
    """The blocks in the regions of `operation`, and in those of the control flow in them."""
    for region in operation.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                if isinstance(graph.graph_op(inner), graph.RegionOp):
                    yield from _blocks(inner.operation)


def _fuse_in_block(
    block: ir.Block,
    roots: type[graph.GraphOp],
    kind: str,
    max_operands: int,
    statistics: RewriteStatistics,
) -> None:
    _dequantize_for_each_use(block)
    operations = [op.operation for op in block.operations]
    grower = _Grower(operations, max_operands)
    for operation in operations:
        root = graph.graph_op(operation)
        if not isinstance(root, roots) or _result(root) in grower.taken:
            continue
        group = grower.group(root)
        if len(group) > 1:
            early = grower.is_known_at_root(group)
            grower.replace(group, replace_by_fused(group, kind, at_root=early), early)
            statistics.record_fired(node_name(operation))
    for operation in reversed(operations):
        if any(result in grower.taken for result in operation.results):
            operation.erase()


def _dequantize_for_each_use(block: ir.Block) -> None:
    """Give every user of a dequantized value an op of its own, so that it can join their groups."""
    for op in list(block.operations):
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
        self.expansions: set[ir.Value] = set()
        """Results of ops that joined a group for an operand of another one."""
        self.position: dict[ir.Value, int] = {}
        for index, operation in enumerate(operations):
            for result in operation.results:
                self.position[result] = index

    def group(self, root: graph.GraphOp) -> Group:
        """The root and the longest run of elementwise ops on its result with a single live-out."""
        return self._trim(self._grow(root))

    def is_known_at_root(self, group: Group) -> bool:
        """Return whether all that `group` reads is there where its root is. Computed there, it can
        be an operand of the group of a root that follows."""
        start = self.position[_result(group[0])]
        members = {_result(op): op for op in group}
        return all(self._is_before(value, start) for value in _captured(members))

    def replace(self, group: Group, fused: ir.Value, early: bool) -> None:
        self.taken |= {_result(op) for op in group}
        self.position[fused] = self.position[_result(group[0 if early else -1])]

    def _grow(self, root: graph.GraphOp) -> Group:
        shape = graph.type_of(_result(root)).shape
        start = self.position[_result(root)]
        members = {_result(root): root}
        waiting = self._candidates(root, shape)
        while waiting:
            value = min(waiting, key=self.position.__getitem__)
            op = waiting.pop(value)
            joining = {**self._expansions(op, members, shape), value: op}
            together = {**members, **joining}
            outside = _captured(together)
            if sum(constant_scalar(v) is None for v in outside) > self.max_operands:
                continue
            if not self._can_wait_for(outside, together, start):
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
        """The ops that dequantize an operand of `op`, or broadcast smaller ones, for it alone: a
        group reads fewer bytes with them."""
        found = {}
        for value in op.operation.operands:
            inner = producer(value, graph.GraphOp)
            if not isinstance(inner, graph.ElementwiseOp) or value in members:
                continue
            if value in self.taken or not has_one_use(value):
                continue
            if graph.type_of(value).shape == shape and _reads_less(inner):
                found[value] = inner
        self.expansions |= found.keys()
        return found

    def _trim(self, group: Group) -> Group:
        """The longest prefix of `group` of which only the last value is used outside, and that does
        not end with an expansion, or with floats that users can compute from bytes."""
        for length in range(len(group), 1, -1):
            last = group[length - 1]
            if _result(last) in self.expansions or _is_better_stored_narrow(last, group):
                continue
            members = {_result(op) for op in group[:length]}
            inner = group[: length - 1]
            if all(
                result in members
                for op in inner
                for user in _users(op)
                for result in _results(user)
            ):
                return group[:length]
        return group[:1]

    def _can_wait_for(
        self, values: Iterable[ir.Value], members: Mapping[ir.Value, graph.GraphOp], start: int
    ) -> bool:
        """Return whether the group, whose root is at `start`, may be computed behind `values`: what
        computes them behind the root neither depends on the group, nor is a contraction, which
        takes the op itself."""
        seen: set[ir.Value] = set()
        waiting = [value for value in values if not self._is_before(value, start)]
        while waiting:
            value = waiting.pop()
            op = graph.graph_op(value.owner)
            if op is None or value in members or not _is_simple(op) or len(seen) == MAX_BETWEEN:
                return False
            seen.add(value)
            waiting += {v for v in op.operation.operands if not self._is_before(v, start)} - seen
        return True

    def _is_before(self, value: ir.Value, start: int) -> bool:
        """Return whether `value` is available at the root, or is a constant."""
        if isinstance(value.owner, ir.Block):
            return True
        return value.owner.name == "graph.constant" or self.position.get(value, -1) < start


def _result(op: graph.GraphOp) -> ir.Value:
    return op.operation.results[0]


def _is_simple(op: graph.GraphOp) -> bool:
    """Return whether `op` is neither a contraction nor a group or control flow."""
    return not isinstance(op, graph.Contraction) and not len(op.operation.regions)


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


def _reads_less(op: graph.ElementwiseOp) -> bool:
    """Return whether `op` dequantizes, or has a larger result than each of its operands."""
    shape = graph.type_of(_result(op)).shape
    if isinstance(op, graph.DequantizeOp):
        return True
    return all(graph.type_of(value).shape != shape for value in op.operation.operands)


def _is_better_stored_narrow(op: graph.GraphOp, group: Group) -> bool:
    """Return whether `op` dequantizes what `group`, of a contraction of integers, computes, for
    elementwise users: they read a quarter of the bytes if they dequantize it themselves."""
    total = graph.type_of(_result(group[0]))
    if not isinstance(op, graph.DequantizeOp) or graph.is_float(total.dtype):
        return False
    is_own = any(_result(member) == op.x for member in group)
    users = map(graph.graph_op, _users(op))
    return is_own and all(isinstance(user, graph.ElementwiseOp) for user in users)


def _results(user: Any) -> list[ir.Value | None]:
    return list(user.results) or [None]  # None: a terminator, which is in no group


def replace_by_fused(ops: Sequence[graph.GraphOp], kind: str, *, at_root: bool = False) -> ir.Value:
    """Build the fused op of `ops` in place of the last one, or of the first one if what they read
    but constants is there; they are left to be erased."""
    first, last = ops[0].operation, ops[-1].operation
    if at_root:
        _hoist_constants(ops)
    place = ir.InsertionPoint(first if at_root else last)
    with place, fuse_locations([op.operation.location for op in ops]):
        fused = graph.fuse(ops, kind=kind)
    last.results[0].replace_all_uses_with(fused)
    return fused


def _hoist_constants(ops: Sequence[graph.GraphOp]) -> None:
    """Move the constants that `ops` read to the start of their block."""
    block = ops[0].operation.block
    for owner in (value.owner for op in ops for value in op.operation.operands):
        if isinstance(owner, ir.Block) or owner.name != "graph.constant":
            continue
        first = block.operations[0].operation
        if owner.operation.block == block and owner.operation != first:
            owner.operation.move_before(first)
