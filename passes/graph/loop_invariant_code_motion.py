"""The pass `graph-loop-invariant-code-motion`."""

from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import at_least
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import ops_within, producer
from ..infra.registry import register

REWRITE = "hoist-loop-invariants"

_COMPUTE = (
    *graph.op_classes_of(graph.Contraction),
    *graph.op_classes_of(graph.Reduction),
    *graph.op_classes_of(graph.Pool),
    graph.ConcatOp,
    graph.LayerNormOp,
    graph.LogSoftmaxOp,
    graph.RmsNormOp,
    graph.SoftmaxOp,
    graph.TransposeOp,
)
"""Ops that are worth a result in memory, whatever its size."""

_ELEMENTWISE = graph.op_classes_of(graph.ElementwiseOp)

_MOVE = (graph.ExpandOp, graph.PadOp, graph.RepeatOp, graph.ReshapeOp, graph.SliceOp)
"""Ops that are moved with what reads them, and stay with what remains in the loop."""


@register
@dataclass(frozen=True)
class LoopInvariantCodeMotion(Pass):
    """Compute before a loop what is the same in all of its iterations.

    "graph.while"({            ^bb0(%i, %h):
      %1 = "graph.matmul"(%x, %w)
      %2 = "graph.add"(%1, %h)
    -->
    %1 = "graph.matmul"(%x, %w)
    "graph.while"({            ^bb0(%i, %h):
      %2 = "graph.add"(%1, %h)

    Such as the keys of an additive attention in the loop of a decoder. It is computed even if there
    is no iteration, and so are only ops that read nothing by computed positions. Elementwise ops
    move if their result is no larger than an operand: one that must be read from memory in each
    iteration is not to be larger than what it is computed from.
    """

    name = "graph-loop-invariant-code-motion"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(REWRITE)
        for loop in ops_within(op, graph.LoopOp):  # inner loops first: an outer one goes on
            for moved in _Invariants(loop).move():
                statistics.record_fired(moved)


class _Invariants:
    """The ops in the body of a loop whose results are the same in all iterations."""

    def __init__(self, loop: graph.LoopOp):
        self._loop = loop
        self._names = {loop.attrs["index"], *loop.own_names, *graph.bound_names(loop.body)}
        """Names of sizes that mean nothing before the loop."""
        self._found: set[ir.Operation] = set()
        self._constants: dict[ir.Operation, ir.Operation] = {}
        """Copies before the loop of constants in it."""

    def move(self) -> list[str]:
        """Move those that are worth it, and what they need; return the names of their nodes."""
        roots = list[ir.Operation]()
        for operation in self._loop.body.operations:
            op = graph.graph_op(operation)
            if op is None or not self._is_invariant(op):
                continue
            self._found.add(op.operation)
            if isinstance(op, _COMPUTE) or (isinstance(op, _ELEMENTWISE) and _is_no_larger(op)):
                roots.append(op.operation)
        names = [node_name(root) for root in roots]
        for root in roots:
            self._move(root)
        return names

    def _is_invariant(self, op: graph.GraphOp) -> bool:
        if not isinstance(op, _COMPUTE + _ELEMENTWISE + _MOVE) or not _is_safe(op):
            return False
        if not all(map(self._is_known_before, op.operation.operands)):
            return False
        return self._names.isdisjoint(graph.names_in(op.operation))

    def _is_known_before(self, value: ir.Value) -> bool:
        """Return whether `value` is a constant, or does not depend on the iteration."""
        if not self._is_inside(value) or producer(value, graph.ConstantOp) is not None:
            return True
        return isinstance(value, ir.OpResult) and _owner(value) in self._found

    def _is_inside(self, value: ir.Value) -> bool:
        """Return whether an op of the body, or an iteration, has the result or argument `value`."""
        owner = value.owner
        return (owner if isinstance(owner, ir.Block) else owner.operation.block) == self._loop.body

    def _move(self, operation: ir.Operation) -> None:
        """Move `operation`, and what it needs, before the loop."""
        waiting = [operation]
        while waiting:
            each = waiting[-1]
            needed = [_owner(value) for value in each.operands if self._is_inside(value)]
            needed = [owner for owner in needed if owner in self._found]
            if needed:
                waiting += needed
                continue
            waiting.pop()
            if each in self._found:
                self._found.remove(each)
                self._read_constants_before(each)
                each.move_before(self._loop.operation)

    def _read_constants_before(self, operation: ir.Operation) -> None:
        for number, value in enumerate(operation.operands):
            if self._is_inside(value):
                owner = _owner(value)
                if owner not in self._constants:
                    with ir.InsertionPoint(self._loop.operation):
                        self._constants[owner] = owner.clone().operation
                operation.operands[number] = self._constants[owner].results[0]


def _owner(result: ir.Value) -> ir.Operation:
    return ir.OpResult(result).owner.operation


def _is_no_larger(op: graph.GraphOp) -> bool:
    """Return whether the result takes no more memory than one of the operands."""
    result = graph.type_of(op.operation.results[0])
    for operand in map(graph.type_of, op.operation.operands):
        if operand.shape == result.shape and operand.dtype.itemsize >= result.dtype.itemsize:
            return True
    return False


def _is_safe(op: graph.GraphOp) -> bool:
    """Return whether no check in the loop has to show first that `op` stays within its operand."""
    if isinstance(op, graph.ReshapeOp):
        have, want = graph.type_of(op.x).shape, graph.type_of(op.result).shape
        return graph.element_count(have) == graph.element_count(want)
    if not isinstance(op, graph.SliceOp):
        return op.pure
    extents = graph.type_of(op.x).shape
    attrs = zip(*(op.attrs[name] for name in ("starts", "sizes", "steps")), extents, strict=True)
    return all(
        at_least(start, 0) and at_least(extent, start + (size - 1) * step + 1)
        for start, size, step, extent in attrs
    )
