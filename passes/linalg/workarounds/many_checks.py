"""Workaround for IREE 3.13 LiveIntervals: compile time that grows with the number of values times
the number of blocks, where each check of a function is two of these. Neighbouring checks become a
function of their own. Remove when ``many_checks`` (`test_faults.py`) compiles as fast without the
pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....mlir import func, ir
from ...graph_to_linalg.aliasing import ops_within
from ...infra.base import Pass, PassState, functions
from ...infra.registry import register
from ..hoist_checks import CHECK, is_scalar, may_trap

_NO_INLINING = "noinline"


@register
@dataclass(frozen=True)
class WorkaroundManyChecks(Pass):
    """Outline neighbouring checks of a function that has many.

    cf.assert %0, "size .. is negative"
    cf.assert %1, "a tensor .. is too large"
    -->
    call @checks_0(%0, %1) : (i1, i1) -> ()

    For each value of a function, the backend visits what is live at the beginning of each block: at
    that of a failed check are all buffers of the run, which are freed there. The checks move to the
    last of them, and nothing between them has an effect or traps.
    """

    name = "workaround-many-checks"
    most: int = 256
    """Checks up to which a function stays as it is: 1,513 cost the backend 142 s."""

    def run(self, op: Any, state: PassState) -> None:
        del state
        outlined = list[list[ir.Operation]]()
        for function in functions(op):
            checks = [each for each in ops_within(function.operation) if each.name == CHECK]
            if len(checks) > self.most:
                blocks = dict.fromkeys(check.block for check in checks)
                outlined += [run for block in blocks for run in _neighbours(block)]
        for number, run in enumerate(outlined):
            _outline(op, f"checks_{number}", run)


def _neighbours(block: ir.Block) -> Iterator[list[ir.Operation]]:
    """Two or more checks with nothing but scalar computations between them that cannot trap."""
    checks = list[ir.Operation]()
    for each in [op.operation for op in block.operations]:
        if each.name == CHECK:
            checks.append(each)
        elif not is_scalar(each) or may_trap(each):
            if len(checks) > 1:
                yield checks
            checks = []


def _outline(module: ir.Module, name: str, checks: list[ir.Operation]) -> None:
    """Move `checks` into a function `name` of `module`, which is called in place of the last."""
    flag, last = ir.IntegerType.get_signless(1), checks[-1]
    with ir.InsertionPoint(module.body), last.location:
        function = func.FuncOp(name, ([flag] * len(checks), []), visibility="private")
        function.attributes[_NO_INLINING] = ir.UnitAttr.get()
        block = function.add_entry_block()
    with ir.InsertionPoint(last), last.location:
        func.CallOp([], name, [each.operands[0] for each in checks])
    with ir.InsertionPoint(block), last.location:
        end = func.ReturnOp([])
    for check, condition in zip(checks, block.arguments, strict=True):
        check.operands[0] = condition
        check.move_before(end)
