"""Caller-allocated memory for intermediate results."""

from dataclasses import dataclass
from typing import Any

from ...mlir import ir
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from .abi_arguments import TRANSIENTS, append_buffers

POOL_BYTES = 64 << 20
"""The size up to which the backend's CPU runtime keeps the memory of a call for the next one
(``IREE_HAL_TASK_DEVICE_DEFAULT_POOL_RANGE_LENGTH_DEFAULT``)."""


@register
@dataclass(frozen=True)
class ExternalizeTransients(Pass):
    """Take memory for a large program's intermediate results from the caller.

    func.func @main(%x: tensor<8x3x224x224xf32>) -> tensor<8x1000xf32>
    -->
    func.func @main(%x: tensor<8x3x224x224xf32>, %0: !hal.buffer {iree.abi.transients})
        -> tensor<8x1000xf32>

    Memory that the runtime does not keep is allocated by the OS in each call, which zeroes it page
    by page. The caller keeps its memory from call to call. The backend finds no common place for
    allocations in several blocks, so a program that branches between kernels keeps its own.
    """

    name = "externalize-transients"
    anchor = MODULE
    bytes: int = 0
    """Peak bytes of the intermediate results, as far as sizes are known."""

    def run(self, op: Any, state: PassState) -> None:
        if self.bytes <= POOL_BYTES:
            return
        for function in op.body.operations:
            if function.operation.name == "func.func" and function.sym_name.value == "main":
                if len(function.regions[0].blocks) > 1:
                    statistics = state.statistics(self.name)
                    statistics.record_declined("main", "it branches between kernels")
                    continue
                append_buffers(function, [{TRANSIENTS: ir.UnitAttr.get()}])
