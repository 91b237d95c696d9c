"""MLIR's diagnostics as text that names nodes."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ...dialects.locations import location_names
from ...mlir import ir


def diagnostic_text(diagnostic: Any) -> str:
    """``at 'node': message``, and the notes that are not dumps of the op."""
    names = "+".join(location_names(diagnostic.location))
    text = f"at '{names}': {diagnostic.message}" if names else diagnostic.message
    for note in diagnostic.notes:
        if not note.message.startswith("see current operation"):
            text += f"; {note.message}"
    return text


def error_text(error: BaseException) -> str:
    """The text of an error; the diagnostics of an MLIR error."""
    texts = [diagnostic_text(diagnostic) for diagnostic in getattr(error, "error_diagnostics", ())]
    if texts:
        return "\n".join(texts)
    return str(error) or type(error).__name__


@contextmanager
def collected_errors(context: ir.Context) -> Generator[list[str]]:
    """Errors that are emitted within the block, as text, instead of on standard error."""
    errors: list[str] = []

    def handle(diagnostic: Any) -> bool:
        if diagnostic.severity != ir.DiagnosticSeverity.ERROR:
            return False
        errors.append(diagnostic_text(diagnostic))
        return True

    handler = context.attach_diagnostic_handler(handle)
    try:
        yield errors
    finally:
        handler.detach()
