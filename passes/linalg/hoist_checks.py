"""Checks of sizes, before anything is computed."""

from dataclasses import dataclass
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register

CHECK = "cf.assert"
"""The op that fails unless its condition holds."""
_SCALAR_DIALECTS = ("arith.", "affine.apply", "affine.min", "affine.max")
_MAY_TRAP = ("arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv")


@register
@dataclass(frozen=True)
class HoistChecks(Pass):
    """Check sizes at the beginning of a block, and each only once.

    %1 = flow.dispatch @a(%0) : (tensor<..>) -> tensor<..>
    %2 = arith.cmpi sge, %size, %c0 : index
    cf.assert %2, "the size .. is negative"
    %3 = flow.dispatch @b(%1) : (tensor<..>) -> tensor<..>
    -->
    %2 = arith.cmpi sge, %size, %c0 : index
    cf.assert %2, "the size .. is negative"
    %1 = flow.dispatch @a(%0) : (tensor<..>) -> tensor<..>
    %3 = flow.dispatch @b(%1) : (tensor<..>) -> tensor<..>

    The backend moves nothing across a check. What is computed before it goes to the device in a
    command buffer of its own, with transients and fences of its own, which costs some
    microseconds. Checks of what is computed from data come right behind the data that they need,
    in their order; behind them stays what divides, since they may be what keeps the divisor from
    being 0.
    """

    name = "hoist-checks"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        checks = [each for each in ops_within(op.operation) if each.name == CHECK]
        for block in dict.fromkeys(check.block for check in checks):
            _Hoisting(block).run()


class _Hoisting:
    """Moves the checks of `block`, in order: those of sizes before the first op that is no scalar
    computation, those of data behind the last op that gives them data."""

    def __init__(self, block: ir.Block):
        self._ops = [each.operation for each in block.operations]
        self._places = {each: (number, 0) for number, each in enumerate(self._ops)}
        """Places in the block: an op that was moved is behind that of its number."""
        rest = (each for each in self._ops if not (is_scalar(each) or each.name == CHECK))
        self._front = next(rest)
        self._holding: set[ir.Value] = set()
        """The conditions that are checked by now."""
        self._last: ir.Operation | None = None
        """The last check of data."""
        self._behind: dict[int, list[ir.Operation]] = {}
        """The ops that were moved, by the number of the one that they are behind."""

    def run(self) -> None:
        """Move the checks."""
        for check in [each for each in self._ops if each.name == CHECK]:
            condition = check.operands[0]
            if condition in self._holding:
                check.erase()
                continue
            self._holding.add(condition)
            needed = self._needed(check)
            data = [each for each in needed if not (is_scalar(each) or each.name == CHECK)]
            moved = [each for each in needed if each not in data]
            if not data and not (self._last and any(map(may_trap, moved))):
                self._move_to_front(moved)
                continue
            anchors = [*data, self._last] if self._last else data
            self._move_behind(max(anchors, key=self._places.__getitem__), moved)
            self._last = check

    def _needed(self, check: ir.Operation) -> list[ir.Operation]:
        """`check`, the scalar computations of the block that it depends on, and the ops that give
        these data, in order."""
        needed, waiting = {check}, [check]
        while waiting:
            for x in waiting.pop().operands:
                owner = x.owner
                if isinstance(owner, ir.Block) or owner.operation not in self._places:
                    continue
                if owner.operation not in needed:
                    needed.add(owner.operation)
                    if is_scalar(owner.operation):
                        waiting.append(owner.operation)
        return sorted(needed, key=self._places.__getitem__)

    def _move_to_front(self, ops: list[ir.Operation]) -> None:
        """Move those of `ops` that are behind the front before it."""
        front, _ = self._places[self._front]
        for op in ops:
            if self._places[op] > (front, 0):
                op.move_before(self._front)
                self._places[op] = (front, -1)

    def _move_behind(self, anchor: ir.Operation, ops: list[ir.Operation]) -> None:
        """Move those of `ops` that are not before the op behind `anchor` there."""
        number, _ = self._places[anchor]
        behind = self._behind.setdefault(number, [self._ops[number]])
        for op in ops:
            if self._places[op] >= (number + 1, 0):
                op.move_after(behind[-1])
                self._places[op] = (number, len(behind))
                behind.append(op)


def is_scalar(op: ir.Operation) -> bool:
    """Return whether `op` computes numbers on the host, without any effect."""
    return op.name == "tensor.dim" or op.name.startswith(_SCALAR_DIALECTS)


def may_trap(op: ir.Operation) -> bool:
    """Return whether `op` divides."""
    return op.name.startswith(_MAY_TRAP)
