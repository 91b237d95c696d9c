"""Checks of sizes, before anything is computed."""

from dataclasses import dataclass
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register

_CHECK = "cf.assert"
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
    microseconds. Checks of what is computed from data stay where they are; behind them, so does
    what divides, since they may be what keeps the divisor from being 0.
    """

    name = "hoist-checks"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        checks = [each for each in ops_within(op.operation) if each.name == _CHECK]
        for block in dict.fromkeys(check.block for check in checks):
            _Hoisting(block).run()


class _Hoisting:
    """Moves the checks of `block`, in order, before the first op that is no scalar computation."""

    def __init__(self, block: ir.Block):
        self._ops = [each.operation for each in block.operations]
        self._places = {each: number for number, each in enumerate(self._ops)}
        rest = (each for each in self._ops if not (_is_scalar(each) or each.name == _CHECK))
        self._front = next(rest)
        self._holding: set[ir.Value] = set()
        """The conditions that are checked by now."""
        self._behind_data = False
        """True behind a check that stays."""

    def run(self) -> None:
        """Move the checks."""
        for check in [each for each in self._ops if each.name == _CHECK]:
            condition = check.operands[0]
            if condition in self._holding:
                check.erase()
                continue
            self._holding.add(condition)
            needed = self._needed(check)
            if needed is None or (self._behind_data and any(map(_may_trap, needed))):
                self._behind_data = True
                continue
            for each in needed:
                self._move(each)

    def _needed(self, check: ir.Operation) -> list[ir.Operation] | None:
        """`check` and the ops of the block that it depends on, in order; None if it depends on
        others than scalar computations."""
        needed, waiting = {check}, [check]
        while waiting:
            for x in waiting.pop().operands:
                owner = x.owner
                if isinstance(owner, ir.Block) or owner.operation not in self._places:
                    continue
                if not _is_scalar(owner.operation):
                    return None
                if owner.operation not in needed:
                    needed.add(owner.operation)
                    waiting.append(owner.operation)
        return sorted(needed, key=self._places.__getitem__)

    def _move(self, op: ir.Operation) -> None:
        """Move `op` before the front, unless it is there."""
        if self._places[op] > self._places[self._front]:
            op.move_before(self._front)
            self._places[op] = self._places[self._front]


def _is_scalar(op: ir.Operation) -> bool:
    """Return whether `op` computes numbers on the host, without any effect."""
    return op.name == "tensor.dim" or op.name.startswith(_SCALAR_DIALECTS)


def _may_trap(op: ir.Operation) -> bool:
    return op.name.startswith(_MAY_TRAP)
