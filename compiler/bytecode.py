"""MLIR bytecode of modules, for the backend; weights are written from memory without a copy."""

from pathlib import Path
from typing import Protocol

from ..errors import OutputError
from ..mlir import ir
from ..runtime.cache.digests import StreamDigest

BYTECODE_VERSION = 4
"""Last bytecode version that stores op properties by name. Later versions store them in definition
order, which differs between the MLIR of the bindings and that of the backend."""


class _Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


def write_bytecode(module: ir.Module, path: Path) -> int:
    """Write `module` to the file; return its size in bytes. Raises `OutputError`."""
    try:
        with path.open("wb") as file:
            return _write(module, file)
    except OSError as error:
        raise OutputError(f"cannot write the program to '{path}': {error}") from error


def digest_bytecode(module: ir.Module) -> tuple[str, int]:
    """The digest and the size in bytes of the output of `write_bytecode`. Raises `OutputError`."""
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
    """The file object that MLIR writes to. `error` keeps the first exception, as exceptions cannot
    pass through MLIR; if MLIR wrote to a file itself, a full disk would end the process."""

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
