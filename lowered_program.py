"""A lowered module, as the backend compiler asks for it."""

import ctypes
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from .bytecode import digest_bytecode, write_bytecode
from .dialects import iree
from .dialects.iree.outlining import OutlinedKernel, define_kernels
from .mlir import ir


class LoweredProgram:
    """`module` with its outlined `kernels`: a `runtime.program.Program`.

    Its weights are freed as soon as it is written: the backend takes as much again.
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
        _give_memory_back()

    def end(self) -> None:
        """Let go of the module."""
        self._module = None
        self.kernels.clear()  # they would keep it
        _give_memory_back()


def _give_memory_back() -> None:
    """Free what reference cycles hold, and with glibc the memory it keeps for later: packed
    weights, hundreds of megabytes."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
