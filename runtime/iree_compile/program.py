"""What the backend compiler is given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ..cache.digests import digest_of, digest_of_file


class SharedKernel(Protocol):
    """A kernel of a program, for which compiled code can stand."""

    @property
    def symbol(self) -> str:
        """Says all that it does."""
        ...

    def link(self, file: str) -> None:
        """Have its code taken from the object file `file`, where it is called `symbol`."""
        ...


class Program(Protocol):
    """A program of MLIR, which may be large: it is written when it is known what of it to
    compile."""

    @property
    def kernels(self) -> Sequence[SharedKernel]:
        """The kernels that are functions of their own."""
        ...

    def digest(self) -> str:
        """The digest of the program before any of its `kernels` was linked."""
        ...

    def file(self, folder: Path) -> Path:
        """The file of the program as it stands, in `folder` if it is not one already.

        Nothing is asked of it after that but `unlink`.
        """
        ...

    def unlink(self, source: Path) -> None:
        """Make `source`, its `file`, what it was before any of its `kernels` was linked."""
        ...


class PlainProgram:
    """A `Program` that is there: MLIR bytecode or text, or the path of a file of it."""

    kernels: Sequence[SharedKernel] = ()

    def __init__(self, contents: bytes | Path):
        self._contents = contents

    def digest(self) -> str:
        if isinstance(self._contents, Path):
            return digest_of_file(self._contents)
        return digest_of(self._contents)

    def file(self, folder: Path) -> Path:
        if isinstance(self._contents, Path):
            return self._contents.absolute()
        source = folder / "module.mlir"
        source.write_bytes(self._contents)
        return source

    def unlink(self, source: Path) -> None:
        """It has no kernels."""
