"""Pipelines whose result alone is verified, since passes hardly ever make invalid programs.

To verify a program after each of its passes, and to keep a copy from before it, takes a fifth of
the time.
"""

from collections.abc import Sequence
from typing import Any

from ...errors import PassError, VerificationError
from ...mlir import ir
from .pipeline import Observer, Pipeline, run_pipeline, verify
from .report import Report


def run_optimistically(
    module: ir.Module,
    pipeline: str | Pipeline,
    *,
    report: Report | None = None,
    observers: Sequence[Observer] = (),
    find_changes: bool = True,
) -> ir.Module:
    """`run_pipeline`, for which programs between passes need not be valid.

    If it fails, or its result is not valid, it runs once more, on a copy of `module`, and verifies
    after each pass: the error names the pass, and has its reproducer.
    """
    copy: Any = module.operation.clone(ip=False).opview
    try:
        run_pipeline(
            module, pipeline, report=report, verify_each=False, observers=observers,
            find_changes=find_changes, keep_copies=False,
        )  # fmt: skip
        verify(module)
    except (PassError, VerificationError) as error:
        failure = error
    else:
        return module
    run_pipeline(copy, pipeline, find_changes=False)
    raise failure
