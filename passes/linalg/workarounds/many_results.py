"""Workaround for IREE 3.13 ScheduleExecution: compile time that grows with the third power of the
number of results. A function of many results waits for all at once. Remove when ``many_results``
(`test_faults.py`) compiles as fast without the pass.
"""

from dataclasses import dataclass
from typing import Any

from ....dialects.iree.hal import wait_for
from ....mlir import ir
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from ..abi_arguments import OUTPUT

MOST_AWAITED = 128
"""Results that the backend may await one by one: 128 cost it 20 ms, 1,000 cost it 9 s."""


@register
@dataclass(frozen=True)
class WorkaroundManyResults(Pass):
    """Await the results of a function together if there are many.

    return %0, %1, .. : tensor<4xf32>, tensor<4xf32>, ..
    -->
    %fence = hal.fence.create
    %2:1000 = hal.tensor.barrier join(%0, %1, ..) => %fence
    hal.fence.await until([%fence])
    return %2#0, %2#1, .. : tensor<4xf32>, tensor<4xf32>, ..

    The backend would await each result on its own, merge these waits one by one, and each time
    compare the exports of all results so far with each other. The code becomes the same. Entries
    that write to buffers of the caller stay as they are: the backend would copy what lies behind a
    barrier, and `dps-entry` adds none to programs of so many results.
    """

    name = "workaround-many-results"
    anchor = FUNCTION
    most: int = MOST_AWAITED
    """Results that the backend may await one by one."""

    def run(self, op: Any, state: PassState) -> None:
        del state
        if _writes_to_caller(op.operation):
            return
        for block in op.operation.regions[0].blocks:
            *_, end = block.operations
            if end.operation.name == "func.return" and len(end.operation.operands) > self.most:
                _await_together(end.operation)


def _writes_to_caller(function: ir.Operation) -> bool:
    marks = function.attributes
    if "arg_attrs" not in marks:
        return False
    return any(OUTPUT in ir.DictAttr(each) for each in ir.ArrayAttr(marks["arg_attrs"]))


def _await_together(end: ir.Operation) -> None:
    with ir.InsertionPoint(end), end.location:
        for number, value in enumerate(wait_for(list(end.operands))):
            end.operands[number] = value
