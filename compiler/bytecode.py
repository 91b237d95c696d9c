"""Modules as MLIR bytecode, for the backend: weights straight from where they lie in memory."""

from pathlib import Path
from typing import Protocol

from ..errors import OutputError
from ..mlir import ir
from ..runtime.cache.digests import StreamDigest

BYTECODE_VERSION = 4
"""The last in which properties of ops go by name: later ones have them in the order of the ops'
definitions, which differs between the MLIR of the bindings and that of the backend."""


class _Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


def write_bytecode(module: ir.Module, path: Path) -> int:
    """Write `module` to the file, and count its bytes. Raises `OutputError`."""
    try:
        with path.open("wb") as file:
            return _write(module, file)
    except OSError as error:
        raise OutputError(f"cannot write the program to '{path}': {error}") from error


def digest_bytecode(module: ir.Module) -> tuple[str, int]:
    """The digest of what `write_bytecode` would write, and how many bytes that are. Raises
    `OutputError`."""
    digest = StreamDigest()
    size = _write(module, digest)
    return digest.hexdigest(), size


def _write(module: ir.Module, target: _Writable) -> int:
    sink = _Sink(target)
    try:
        module.operation.write_bytecode(sink, BYTECODE_VERSION)
    except (ValueError, RuntimeError) as error:
        raise OutputError(f"the program cannot be written as bytecode: {error}") from error
    if sink.error is not None:
        raise sink.error
    return sink.size


class _Sink:
    """What MLIR writes to. Left to write to a file by itself, MLIR ends the process when the disk
    is full, and an exception cannot pass it: `error` keeps the first one."""

    def __init__(self, target: _Writable):
        self._target = target
        self.size = 0
        self.error: OSError | None = None

    def write(self, data: bytes) -> None:
        if self.error is None:
            try:
                self._target.write(data)
                self.size += len(data)
            except OSError as error:
                self.error = error
