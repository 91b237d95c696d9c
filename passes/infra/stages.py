"""Snapshots of the program between passes, kept as text for later inspection."""

import zlib
from typing import Any

from ...mlir import ir
from .report import Report, Stage

ELIDED = 16
"""Constants of more elements are kept without them."""


class StageRecorder:
    """An observer that adds the program to `report`: as it comes in, and after each change.

    `program` names it, where the report is about several.
    """

    def __init__(self, report: Report, program: str):
        self._report = report
        self._program = program

    def record(self, name: str, module: ir.Module) -> None:
        """Keep `module` as the stage called `name`."""
        text = module.operation.get_asm(
            large_elements_limit=ELIDED,
            enable_debug_info=True,
            print_generic_op_form=True,
            use_local_scope=True,  # at local scope MLIR leaves the data of blobs alone
        )
        self._report.stages.append(Stage(self._program, name, zlib.compress(text.encode(), 1)))

    def before(self, step: Any, module: ir.Module) -> None:
        pass

    def after(self, step: Any, module: ir.Module, changed: bool) -> None:
        if changed:
            self.record(step.pass_.name, module)
