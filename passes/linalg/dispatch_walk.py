"""A walk over the ops in kernels, as opposed to host code."""

from typing import Any

from ...mlir import ir

_KERNELS = ("linalg.", "iree_linalg_ext.", "flow.dispatch.", "stream.executable")
"""Prefixes of the ops that hold kernel code; code in any other op runs on the host."""


def each_in_kernels(module: Any, op_class: type) -> list[ir.Operation]:
    """The ops of `op_class` in the kernels of `module`, to change or erase."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, op_class=op_class)
    return [op for op in found if _is_in_kernel(op)]


def _is_in_kernel(op: ir.Operation | None) -> bool:
    while op is not None and not op.name.startswith(_KERNELS):
        op = op.parent
    return op is not None
