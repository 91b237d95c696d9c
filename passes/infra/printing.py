"""Printing of programs between passes."""

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from ...mlir import ir


class IrPrinter:
    """An observer that prints the program before and after passes, under a heading.

    `before` and `after` are names of passes, or True for all; `only_changes` leaves out what a
    pass did not change.
    """

    def __init__(
        self,
        before: Iterable[str] | bool = (),
        after: Iterable[str] | bool = (),
        *,
        only_changes: bool = False,
        stream: TextIO | None = None,
        **asm_options: Any,
    ):
        self._before, self._after = _selection(before), _selection(after)
        self._only_changes = only_changes
        self._stream = stream
        self._asm_options = asm_options

    def before(self, step: Any, module: ir.Module) -> None:
        if self._before is None or step.pass_.name in self._before:
            self._print(f"before {step.pass_.name}", module)

    def after(self, step: Any, module: ir.Module, changed: bool) -> None:
        wanted = self._after is None or step.pass_.name in self._after
        if wanted and (changed or not self._only_changes):
            self._print(f"after {step.pass_.name}", module)

    def _print(self, title: str, module: ir.Module) -> None:
        text = module.operation.get_asm(**self._asm_options)
        print(f"// -----// IR Dump {title} //----- //\n{text}", file=self._stream or sys.stderr)


def _selection(names: Iterable[str] | bool) -> frozenset[str] | None:
    """A set of names, or None for all."""
    if isinstance(names, bool):
        return None if names else frozenset()
    return frozenset(names)
