"""A lowered module as an input program of the backend compiler."""

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..dialects import iree
from ..dialects.iree.kernel_executable import kernel_executable
from ..dialects.iree.outlining import OutlinedKernel, define_kernels
from ..mlir import create_context, ir
from ..passes.infra.pipeline import run_pipeline
from .bytecode import digest_bytecode, write_bytecode

_LARGE = 16 << 20


class LoweredProgram:
    """`module` with its outlined `kernels`: a `runtime.iree_compile.input_program.InputProgram`.

    Large weights are freed as soon as it is written: the backend needs the same amount again.
    """

    def __init__(self, module: ir.Module, kernels: Sequence[OutlinedKernel] = ()):
        self._module: ir.Module | None = module
        self._texts = {kernel.symbol: kernel.text for kernel in kernels}
        self.kernels = list(kernels)
        self.size = 0
        """Size of the bytecode, set by `file` and `digest`."""

    def digest(self) -> str:
        assert self._module is not None
        digest, self.size = digest_bytecode(self._module)
        return digest

    def write_kernels(self, symbols: Sequence[str], file: Path) -> None:
        """Write the kernels of `symbols` as a program of their own. Raises `OutputError`."""
        kernels = {kernel.symbol: kernel for kernel in self.kernels}
        write_bytecode(kernel_executable([kernels[symbol] for symbol in symbols]), file)

    def file(self, folder: Path) -> Path:
        """Write the program to a file, and free the module. Raises `OutputError`."""
        assert self._module is not None
        source = folder / "module.mlir"
        size = write_bytecode(self._module, source)
        self.size = self.size or size
        self.end()
        return source

    def unlink(self, source: Path) -> None:
        """Rewrite `source` with all kernels defined in place. Raises `OutputError`."""
        _rewrite(source, source, lambda module: define_kernels(module, self._texts))

    def separate(self, source: Path) -> Path:
        """Write the program in `source`, each op in a dispatch of its own. Raises `OutputError`."""
        separated = source.with_stem(f"{source.stem}_separated")
        _rewrite(source, separated, lambda module: run_pipeline(module, "separate-dispatches"))
        return separated

    def end(self) -> None:
        """Free the module."""
        self._module = None
        self.kernels.clear()  # they hold references to it
        _give_memory_back(self.size)


def _rewrite(source: Path, to: Path, change: Callable[[ir.Module], object]) -> None:
    """Write the program in `source` to the file `to`, after a change. Raises `OutputError`."""
    context = create_context()
    context.allow_unregistered_dialects = True
    with context:
        iree.load()
        module = ir.Module.parse(source.read_bytes())
        change(module)
        write_bytecode(module, to)
    del module
    _give_memory_back(to.stat().st_size)


def _give_memory_back(size: int) -> None:
    """Return memory to the system after a program of `size` bytes, unless that is small.

    Collects reference cycles, and with glibc trims the heap, which retains hundreds of megabytes of
    packed weights. This takes 30 ms, or 150 ms in a process with a million objects: more than all
    passes over a small program.
    """
    if size < _LARGE:
        return
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
