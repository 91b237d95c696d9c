"""Input programs of the backend compiler."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ..cache.digests import digest_of, digest_of_file


class SharedKernel(Protocol):
    """A kernel of a program that can be replaced by compiled code."""

    @property
    def symbol(self) -> str:
        """Name of the function, which includes a digest of the kernel's contents."""
        ...

    @property
    def ops(self) -> int:
        """The number of ops of the kernel."""
        ...

    def link(self, file: str) -> None:
        """Replace the kernel by the function `symbol` in the object file `file`."""
        ...


class InputProgram(Protocol):
    """An MLIR program, which may be large: it is written once the kernels to link are known."""

    @property
    def kernels(self) -> Sequence[SharedKernel]:
        """The kernels that are functions of their own."""
        ...

    def digest(self) -> str:
        """The digest of the program before any of its `kernels` was linked."""
        ...

    def write_kernels(self, symbols: Sequence[str], file: Path) -> None:
        """Write those of `kernels`, none of them linked, as a program of one executable."""
        ...

    def file(self, folder: Path) -> Path:
        """Write the program in its current state to a file in `folder`, unless it is a file.

        Afterwards only `unlink` and `separate` may be called.
        """
        ...

    def unlink(self, source: Path) -> None:
        """Rewrite `source`, the result of `file`, without linked kernels."""
        ...

    def separate(self, source: Path) -> Path | None:
        """Write the program in `source`, the result of `file`, to a file beside it, with each op
        in a dispatch of its own. None if the program stays as it is."""
        ...


class PlainProgram:
    """A fixed `InputProgram`: MLIR bytecode or text, or the path of a file of it."""

    kernels: Sequence[SharedKernel] = ()

    def __init__(self, contents: bytes | Path):
        self._contents = contents

    def digest(self) -> str:
        if isinstance(self._contents, Path):
            return digest_of_file(self._contents)
        return digest_of(self._contents)

    def write_kernels(self, symbols: Sequence[str], file: Path) -> None:
        """Do nothing: there are no kernels."""

    def file(self, folder: Path) -> Path:
        if isinstance(self._contents, Path):
            return self._contents.absolute()
        source = folder / "module.mlir"
        source.write_bytes(self._contents)
        return source

    def unlink(self, source: Path) -> None:
        """Do nothing: there are no shared kernels."""

    def separate(self, source: Path) -> None:
        """Do nothing: a program that was given as it is stays so."""
