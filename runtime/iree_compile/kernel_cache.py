"""Cache of compiled kernels, shared by programs with equal kernels.

Compiling a program whose kernels are functions of their own produces an object file with these
functions. The file is stored once, under the cache keys of all its kernels; the linker extracts the
functions that a program needs.
"""

import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from ..cache.compile_cache import CompileCache
from ..cache.keys import kernel_key
from .input_program import SharedKernel
from .object_file import export_functions

KEEP_OBJECTS = "--iree-llvmcpu-keep-linker-artifacts"
"""Flag that makes the backend keep its object files in its folder for temporary files."""
SEARCH_PATH = "--iree-hal-executable-object-search-path="

logger = logging.getLogger("graphc")


class KernelCache:
    """The kernels in `cache` compiled with `flags`; new ones get `name` and `target`."""

    def __init__(self, cache: CompileCache, flags: Sequence[str], *, name: str, target: str):
        self._cache, self._flags = cache, flags
        self._name, self._target = name, target
        self.linked = 0
        """Number of kernels that were linked from the cache."""
        self.taken = ""
        """The same as text for a report."""

    def link(self, kernels: Sequence[SharedKernel], folder: Path) -> list[SharedKernel]:
        """Link the cached ones of `kernels`, from object files copied to `folder`; return the
        others. Raises `OSError`."""
        files: dict[str, str] = {}
        new: list[SharedKernel] = []
        for kernel in kernels:
            found = self._cache.find(self._key(kernel.symbol))
            contents = None if found is None else _read(found.path)
            if found is None or contents is None:
                new.append(kernel)
                continue
            digest = found.entry.contents
            if digest not in files:
                # A copy, as other processes may evict the file, and the linker splits paths at
                # spaces.
                files[digest] = f"kernels_{len(files)}.o"
                (folder / files[digest]).write_bytes(contents)
            kernel.link(files[digest])
            self.linked += 1
        if self.linked:
            self.taken = f" ({self.linked} of {len(kernels)} kernels from the cache)"
        return new

    def keep(self, symbols: Collection[str], folder: Path) -> None:
        """Store the kernels of `symbols` that are in object files in `folder`."""
        wanted = set(symbols)
        for path in sorted(folder.glob("*.o")):
            if not wanted:
                return
            try:
                contents, names = export_functions(path.read_bytes(), wanted.__contains__)
            except (OSError, ValueError) as error:
                logger.info("kernels of '%s' are not kept: %s", self._name, error)
                continue
            self.store(contents, names)
            wanted -= set(names)

    def store(self, contents: bytes, symbols: Sequence[str]) -> None:
        """Store an object file that exports the kernels of `symbols`."""
        keys = [self._key(symbol) for symbol in symbols]
        self._cache.put_all(keys, contents, kind="kernel", name=self._name, target=self._target)

    def forget(self) -> None:
        """Reset the counts, after linking failed."""
        self.linked, self.taken = 0, ""

    def _key(self, symbol: str) -> str:
        return kernel_key(symbol, self._flags)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:  # another process has just removed it
        return None
