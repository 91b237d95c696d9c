"""Rules of contractions that one kernel computes together with the ops that follow.

A rule receives the context, the op and its epilogue, and returns the lowered result.

    @lowers_with_epilogue(graph.WinogradConvOp)
    def winograd_conv(ctx, op, epilogue):
        return compute(ctx, WinogradEmitter, "winograd", shape, op, epilogue)
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from .lowering import Lowering, lowers

KernelRule = Callable[[Lowering, Any, VectorEpilogue], ir.Value]


def _never(op: Any, cpu: CpuModel) -> bool:
    del op, cpu
    return False


def always(op: Any, cpu: CpuModel) -> bool:
    """For kernels whose accumulators are in registers until they are done."""
    del op, cpu
    return True


@dataclass(frozen=True)
class ContractionKernel:
    """The rule of a contraction, and what its kernel can do."""

    rule: KernelRule
    narrows: Callable[[Any, CpuModel], bool]
    """Tells of an op and a CPU whether the kernel may store results of another type than its
    accumulators, since it stores nothing else."""


_kernels: dict[str, ContractionKernel] = {}


def lowers_with_epilogue(
    op_class: type[graph.KernelContraction],
    narrows: Callable[[Any, CpuModel], bool] = _never,
) -> Callable[[KernelRule], KernelRule]:
    """Register the decorated function as the rule of `op_class`, alone or with an epilogue."""

    def register(rule: KernelRule) -> KernelRule:
        _kernels[op_class.OPERATION_NAME] = ContractionKernel(rule, narrows)

        @lowers(op_class)
        @functools.wraps(rule)
        def alone(ctx: Lowering, op: graph.GraphOp, *operands: ir.Value) -> ir.Value:
            del operands
            return rule(ctx, op, VectorEpilogue.nothing(op.operation.results[0]))

        return rule

    return register


def kernel_of(op_class: type[graph.GraphOp]) -> ContractionKernel | None:
    """The kernel that computes `op_class` together with an epilogue, or None."""
    return _kernels.get(op_class.OPERATION_NAME)
