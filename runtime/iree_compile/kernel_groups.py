"""Kernels of large programs, compiled by several processes at the same time.

The backend makes one object file of all code of a program, on one thread: half of its time where
kernels are large. Here the kernels are divided into groups, each of which a process of its own
compiles, while another compiles the program that calls them. That one waits for the groups when it
has come to linking.

On one CPU there is one group, as the work is less, too: passes over all of a program, of which some
come a dozen times, do not see the kernels, and a kernel that several merged dispatches run is
compiled once.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from .backend_environment import backend_environment
from .child_process import Child
from .executables import find_executable
from .input_program import InputProgram, SharedKernel
from .kernel_cache import KEEP_OBJECTS
from .object_file import export_functions

_ONLY_KERNELS = "--compile-mode=hal-executable"
_LEAST_OPS = 4000
"""Ops for which a process of its own pays: a second of the backend's time, of which the start of a
process takes a sixth."""

_LINKS = 1 << 10
"""Lines for the process of the program: it links once for itself, and before that once for each
time that it computes constants."""


def count_groups(ops: int, flags: Sequence[str] = ()) -> int:
    """The number of groups for kernels of so many `ops`, compiled with extra `flags`; 0 if these do
    without."""
    is_linked_otherwise = any("link" in flag for flag in flags)
    if os.name != "posix" or is_linked_otherwise or _find_linker() is None:
        return 0
    return min(ops // _LEAST_OPS, _count_cpus())


def _count_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _find_linker() -> Path | None:
    return find_executable("iree.compiler", "_mlir_libs", "iree-lld")


def divide(kernels: Sequence[SharedKernel], flags: Sequence[str]) -> list[list[SharedKernel]]:
    """`kernels` in groups of about as many ops; none if they are too small for that."""
    distinct = {kernel.symbol: kernel for kernel in kernels}.values()
    groups: list[list[SharedKernel]] = [
        [] for _ in range(count_groups(sum(kernel.ops for kernel in distinct), flags))
    ]
    loads = [0] * len(groups)
    for kernel in sorted(distinct, key=lambda kernel: -kernel.ops) if groups else ():
        lightest = loads.index(min(loads))
        groups[lightest].append(kernel)
        loads[lightest] += kernel.ops
    return groups


class KernelGroups:
    """The `groups` of kernels of a program: their files in `folder`, and their processes.

    A context; at its end the process of the program no longer waits.
    """

    def __init__(self, groups: Sequence[Sequence[SharedKernel]], folder: Path):
        self._folder = folder
        self._groups = [[kernel.symbol for kernel in group] for group in groups]
        self._gate: tuple[int, int] | None = None
        self.objects: list[tuple[bytes, list[str]]] = []
        """The object files that are complete, each with the kernels that it exports."""

    def __len__(self) -> int:
        return len(self._groups)

    def __enter__(self) -> "KernelGroups":
        self._gate = os.pipe() if self._groups else None
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._gate or ():
            os.close(end)

    def write(self, program: InputProgram) -> None:
        """Write the groups to files, and link them to `program`."""
        numbers = {symbol: n for n, group in enumerate(self._groups) for symbol in group}
        for number, symbols in enumerate(self._groups):
            program.write_kernels(symbols, self._file(number, "mlir"))
            self._file(number, "o").touch()  # the backend looks for it before it waits
            self._temporary(number).mkdir()
        for kernel in program.kernels:
            if kernel.symbol in numbers:
                kernel.link(self._file(numbers[kernel.symbol], "o").name)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags with which the process of the program waits before it links, for a line that its
        standard input gets when the groups are there, or ends."""
        linker = _find_linker()
        if self._gate is None or linker is None:
            return ()
        script = f'read -r _ && exec {shlex.quote(str(linker))} "$@"'
        return (f"--iree-llvmcpu-embedded-linker-path=sh -c {shlex.quote(script)} sh",)

    @property
    def stdin(self) -> int | None:
        """The standard input of the process of the program."""
        return None if self._gate is None else self._gate[0]

    def children(self, compiler: Path, flags: Sequence[str]) -> list[Child]:
        """The processes of the groups: the backend with `flags`."""
        return [
            Child(
                [
                    *(str(compiler), str(self._file(number, "mlir"))),
                    *(*flags, KEEP_OBJECTS, _ONLY_KERNELS),
                    *("-o", str(self._file(number, "so"))),
                ],
                self._file(number, "txt"),
                backend_environment(self._temporary(number)),
            )
            for number in range(len(self))
        ]

    def succeeded(self, number: int) -> None:
        """Prepare what child `number` has made for linking. Raises `ValueError`, `OSError`."""
        if number >= len(self):
            return
        symbols = self._groups[number]
        (made,) = self._temporary(number).glob("*.o")
        contents, exported = export_functions(made.read_bytes(), set(symbols).__contains__)
        if set(exported) != set(symbols):
            raise ValueError(f"{made.name} lacks kernels")
        self._file(number, "o").write_bytes(contents)
        self.objects.append((contents, exported))
        if len(self.objects) == len(self) and self._gate is not None:
            os.write(self._gate[1], _LINKS * b"\n")

    def _file(self, number: int, suffix: str) -> Path:
        return self._folder / f"group_{number}.{suffix}"

    def _temporary(self, number: int) -> Path:
        return self._folder / f"group_{number}"
