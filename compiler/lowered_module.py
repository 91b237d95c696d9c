"""A lowered module, as the backend compiler asks for it."""

import ctypes
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from ..dialects import iree
from ..dialects.iree.outlining import OutlinedKernel, define_kernels
from ..mlir import ir
from .bytecode import digest_bytecode, write_bytecode

_LARGE = 16 << 20


class LoweredProgram:
    """`module` with its outlined `kernels`: a `runtime.iree_compile.program.Program`.

    Weights of some size are freed as soon as it is written: the backend takes as much again.
    """

    def __init__(self, module: ir.Module, kernels: Sequence[OutlinedKernel] = ()):
        self._module: ir.Module | None = module
        self._texts = {kernel.symbol: kernel.text for kernel in kernels}
        self.kernels = list(kernels)
        self.size = 0
        """Bytes of its bytecode, once that was written or its digest asked for."""

    def digest(self) -> str:
        assert self._module is not None
        digest, self.size = digest_bytecode(self._module)
        return digest

    def file(self, folder: Path) -> Path:
        """Raises `OutputError`."""
        assert self._module is not None
        source = folder / "module.mlir"
        size = write_bytecode(self._module, source)
        self.size = self.size or size
        self.end()
        return source

    def unlink(self, source: Path) -> None:
        """Raises `OutputError`."""
        context = ir.Context()
        context.allow_unregistered_dialects = True
        with context:
            iree.load()
            module = ir.Module.parse(source.read_bytes())
            define_kernels(module, self._texts)
            write_bytecode(module, source)
        del module
        _give_memory_back(source.stat().st_size)

    def end(self) -> None:
        """Let go of the module."""
        self._module = None
        self.kernels.clear()  # they would keep it
        _give_memory_back(self.size)


def _give_memory_back(size: int) -> None:
    """After a program of so many bytes: free what reference cycles hold, and with glibc the memory
    it keeps for later, packed weights, hundreds of megabytes. It takes 30 ms, in a process that
    holds a million objects 150: more than all passes do with a small program."""
    if size < _LARGE:
        return
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
