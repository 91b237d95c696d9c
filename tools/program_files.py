"""Input and output of programs: MLIR text or bytecode, and ONNX models."""

import io
import re
import sys
from pathlib import Path

from ..dialects import graph, iree
from ..errors import InvalidModelError, OutputError
from ..mlir import create_context, ir
from ..passes.infra.diagnostics import diagnostic_text

BYTECODE_MAGIC = b"ML\xefR"
SEPARATOR = "// -----"


def read_input(path: str) -> bytes:
    """The bytes of a file, or of standard input for ``-``."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def decode(data: bytes, path: str) -> str:
    """Decode MLIR text. Raises InvalidModelError if `data` is not text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidModelError(f"{path} is neither MLIR text nor MLIR bytecode") from error


def split(text: str) -> list[str]:
    """The parts between ``// -----`` lines, padded with newlines to preserve line numbers."""
    parts: list[str] = []
    lines_before = 0
    for part in re.split(rf"^{SEPARATOR}[^\S\n]*$\n?", text, flags=re.MULTILINE):
        parts.append("\n" * lines_before + part)
        lines_before += part.count("\n") + 1
    return parts


def new_context(allow_unregistered: bool = False) -> ir.Context:
    """A context with graphc's dialects loaded."""
    context = create_context()
    context.allow_unregistered_dialects = allow_unregistered
    with context:
        graph.Graph.load()
        iree.load()
    return context


def parse(source: str | bytes, path: str, context: ir.Context) -> ir.Module:
    """Parse MLIR. InvalidModelError has one line per problem: ``path:line:column: message``."""
    try:
        return ir.Module.parse(source, context=context)
    except ir.MLIRError as error:
        texts = [_located(diagnostic, path) for diagnostic in error.error_diagnostics]
        raise InvalidModelError("\n".join(texts) or f"{path} does not parse") from error


def import_model(path: str, data: bytes, context: ir.Context) -> ir.Module:
    """Import an ONNX model; for a file, with the external data next to it."""
    from ..frontend.onnx import import_onnx

    return import_onnx(data if path == "-" else path, context=context)


def bytecode(module: ir.Module) -> bytes:
    """`module` as MLIR bytecode."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def normal_form(module: ir.Module) -> str:
    """The text of `module` in generic form, with everything except locations."""
    return module.operation.get_asm(print_generic_op_form=True)


def write_output(data: str | bytes, path: str) -> None:
    """Write to a file, or to standard output for ``-``."""
    if path == "-":
        stream = sys.stdout if isinstance(data, str) else sys.stdout.buffer
        if isinstance(data, bytes) and sys.stdout.isatty():
            raise OutputError("bytecode does not go to a terminal; name a file with -o")
        stream.write(data)  # type: ignore[arg-type]
        return
    try:
        if isinstance(data, str):
            Path(path).write_text(data, encoding="utf-8")
        else:
            Path(path).write_bytes(data)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _located(diagnostic: object, path: str) -> str:
    text = diagnostic_text(diagnostic)
    position = re.match(r"at '-:(\d+:\d+)': ", text)
    return (
        f"{path}:{position.group(1)}: {text[position.end() :]}" if position else f"{path}: {text}"
    )
