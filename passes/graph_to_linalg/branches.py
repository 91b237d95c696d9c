"""Loops and conditions outside of kernels, as branches between blocks."""

from typing import Any

from ...mlir import passmanager

KERNELS = ("flow.dispatch.region", "linalg.generic")
"""Ops whose regions become kernels."""


def branches_from_loops(function: Any) -> None:
    """Turn the ``scf`` ops of `function` into branches, unless there are some in its kernels.

    The backend places what an iteration computes in one piece of memory. Where in it a tensor
    lies it hands on right between blocks, and not always between iterations of ``scf.while``.
    """
    outside, within = _structured(function.operation, False)
    if outside and not within:
        passmanager.PassManager.parse("func.func(convert-scf-to-cf)").run(function.operation)


def _structured(operation: Any, in_kernel: bool) -> tuple[bool, bool]:
    """Whether there are ``scf`` ops within `operation`: outside of kernels, and in kernels."""
    outside = within = False
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                name = inner.operation.name
                if name.startswith("scf."):
                    outside, within = outside or not in_kernel, within or in_kernel
                kernel = in_kernel or name in KERNELS
                below = _structured(inner.operation, kernel) if len(inner.operation.regions) else ()
                if below:
                    outside, within = outside or below[0], within or below[1]
    return outside, within
