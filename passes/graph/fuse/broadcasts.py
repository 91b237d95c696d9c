"""Groups of elementwise ops around operands that are repeated, or broadcast at run time."""

from typing import Any

from ....dialects import graph
from ....dialects.locations import node_name
from ....dialects.symbolic import Dim
from ....mlir import ir
from ...infra.base import PassState
from ...infra.query import has_one_use
from ...kernels.broadcast_shape import LANES
from .groups import replace_by_fused

Members = dict[ir.Value, graph.GraphOp]
"""Ops of a group by their results."""


def fuse_broadcasts(function: Any, max_operands: int, state: PassState) -> None:
    """Replace ops that read repeated elements, or are broadcast at run time, with their neighbours
    by a `graph.fused`, then the repeats that remain."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    statistics = state.statistics("fuse-broadcasts")
    grower = _Grower(operations, max_operands)
    for kind in (graph.ElementwiseOp, graph.RepeatOp):
        for operation in operations:
            op = graph.graph_op(operation)
            if not isinstance(op, kind) or not grower.is_for_group(op):
                continue
            reason = _reason_against(op)
            if reason is not None:
                statistics.record_declined(node_name(operation), reason)
                continue
            grower.replace(grower.group(op))
            statistics.record_fired(node_name(operation))
    grower.erase(operations)


class _Grower:
    """The positions of all values of a block, and the ops that have joined a group.

    A group takes what is computed for each element of its result, not for a few that are broadcast,
    and no value that is used elsewhere, but for repeats.
    """

    def __init__(self, operations: list[Any], max_operands: int):
        self.max_operands = max_operands
        self.taken = set[ir.Value]()
        self.position = {op.results[0]: at for at, op in enumerate(operations) if len(op.results)}

    def group(self, op: graph.GraphOp) -> Members:
        """The group around `op`."""
        members: Members = {_result(op): op}
        if isinstance(op, graph.RepeatOp):
            return members
        shape = graph.type_of(_result(op)).shape
        self._take_operands(op, shape, members)
        while (user := self._user(op, shape)) is not None and self._fits(user, members):
            op = user
            members[_result(op)] = op
            self._take_operands(op, shape, members)
        return members

    def replace(self, members: Members) -> None:
        """Build the group in place of its last op."""
        ops = [members[value] for value in sorted(members, key=self.position.__getitem__)]
        grouped = replace_by_fused(ops, "broadcast")
        self.position[grouped] = self.position[_result(ops[-1])]
        self.taken |= {v for v, op in members.items() if isinstance(op, graph.ElementwiseOp)}
        self.taken.add(_result(ops[-1]))

    def erase(self, operations: list[Any]) -> None:
        """Erase what has joined a group."""
        for operation in reversed(operations):
            op = graph.graph_op(operation)
            is_taken = len(operation.results) and operation.results[0] in self.taken
            if is_taken or (isinstance(op, graph.RepeatOp) and not self._is_used(op)):
                operation.erase()

    def is_for_group(self, op: graph.GraphOp) -> bool:
        """Return whether `op` begins a group: a repeat that is used, or what has an operand that is
        repeated, broadcast at run time, or broadcast along the pixels of images of named size."""
        if _result(op) in self.taken:
            return False
        if isinstance(op, graph.RepeatOp):
            return self._is_used(op)
        wanted = graph.type_of(_result(op)).shape
        return any(
            _is_repeated(value)
            or _is_broadcast_at_run_time(graph.type_of(value).shape, wanted)
            or _is_broadcast_along_pixels(graph.type_of(value).shape, wanted)
            for value in op.operation.operands
        )

    def _is_used(self, op: graph.GraphOp) -> bool:
        """Return whether something that is in no group uses `op`."""
        results = (use.owner.operation.results for use in _result(op).uses)
        return any(not len(found) or found[0] not in self.taken for found in results)

    def _take_operands(self, op: graph.GraphOp, shape: graph.Shape, members: Members) -> None:
        """Add the ops before `op` that can join."""
        for value in op.operation.operands:
            before = None if isinstance(value.owner, ir.Block) else graph.graph_op(value.owner)
            if value not in self.position or before is None or value in members:
                continue
            if not self._fits(before, members):
                continue
            if isinstance(before, graph.RepeatOp):
                if _reason_against(before) is None:
                    members[value] = before
            elif self._may_join(before, shape) and has_one_use(value):
                members[value] = before
                self._take_operands(before, shape, members)

    def _user(self, op: graph.GraphOp, shape: graph.Shape) -> graph.GraphOp | None:
        """The op after `op`, if it is the only one and can join."""
        if not has_one_use(_result(op)):
            return None
        user = graph.graph_op(next(iter(_result(op).uses)).owner)
        if user is None or not len(user.operation.results) or _result(user) not in self.position:
            return None
        same = graph.type_of(_result(user)).shape == shape
        return user if same and self._may_join(user, shape) else None

    def _may_join(self, op: graph.GraphOp, shape: graph.Shape) -> bool:
        if not isinstance(op, graph.ElementwiseOp) or _result(op) in self.taken:
            return False
        own = graph.type_of(_result(op)).shape
        covers = len(own) == len(shape) and all(
            size == wanted or 1 not in (size, wanted)
            for size, wanted in zip(own, shape, strict=True)
        )
        return covers and _reason_against(op) is None

    def _fits(self, op: graph.GraphOp, members: Members) -> bool:
        ops = [*members.values(), op]
        used = {value for each in ops for value in each.operation.operands}
        return len(used - members.keys() - {_result(op)}) <= self.max_operands


def _is_repeated(value: ir.Value) -> bool:
    return isinstance(graph.graph_op(value.owner), graph.RepeatOp)


def _is_broadcast_at_run_time(shape: graph.Shape, wanted: graph.Shape) -> bool:
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return any(size not in (1, other) for size, other in pairs)


def _is_broadcast_along_pixels(shape: graph.Shape, wanted: graph.Shape) -> bool:
    """Return whether an operand of `shape` has a row for each image of `wanted`, of named size,
    that all its pixels share, as the gate of a squeeze-and-excitation block has. The backend does
    not merge the axes of such images, and writes to memory that it reuses less."""
    if len(shape) != len(wanted) or len(shape) < 3 or not any(isinstance(n, Dim) for n in wanted):
        return False
    (images, *pixels, features), (_, *among, last) = shape, wanted
    return (
        images != 1
        and features == last != 1
        and any(size == 1 != of for size, of in zip(pixels, among, strict=True))
    )


def _reason_against(op: graph.GraphOp) -> str | None:
    """The reason why no kernel computes `op`."""
    if isinstance(op, graph.RepeatOp) and LANES % op.repeats[-1]:
        return "the elements of rows are not repeated as often as divides a vector"
    return None


def _result(op: graph.GraphOp) -> ir.Value:
    return op.operation.results[0]
