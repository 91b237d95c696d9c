"""Equal programs of tests are compiled by the backend once.

A call of the backend is a function of the program and the flags, and takes half of a second and
more. Many tests compile the same program: a tiny model that others compile, too, or a model whose
results they compare with those of a faulty one. From one run of the tests to the next, only the
programs change that a change of graphc concerns.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphc.runtime.cache.digests import digest_of_file
from graphc.runtime.cache.keys import is_self_contained, program_key
from graphc.runtime.iree_compile.kernel_cache import KEEP_OBJECTS

_KEPT_BYTES = 8 << 20
"""Maximum size of a compiled module that is kept."""
_KEPT_FOR_ALL_BYTES = 2 << 30
"""Size of all modules that are kept for the next run."""
_LONG = 30.0
"""Timeout in seconds that no test sets to see a compilation stopped."""

Run = Callable[..., int | None]


class CompileOnce:
    """`run_child` for the backend, `compiler`, with the compiled modules of earlier calls in
    `folder`.

    Other processes may use the folder at the same time. Only silent successes are kept, for the
    same versions of all packages, and the same CPU.
    """

    def __init__(self, folder: Path, run: Run, compiler: str):
        self._folder, self._run, self._compiler = folder, run, compiler

    def __call__(self, command: Sequence[str], log: Path, **options: Any) -> int | None:
        kept = self._kept(command, **options)
        if kept is None:
            return self._run(command, log, **options)
        output = Path(command[-1])
        if kept.exists():
            log.touch()
            shutil.copyfile(kept, output)
            kept.touch()  # it was of use
            return 0
        code = self._run(command, log, **options)
        if code == 0 and _is_silent(log) and output.stat().st_size <= _KEPT_BYTES:
            complete = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(output, complete)
            complete.replace(kept)
        return code

    def _kept(
        self, command: Sequence[str], *, timeout: float | None = None, progress: Any = None,
        **_: Any,
    ) -> Path | None:  # fmt: skip
        """The file of the compiled module; None for a call with other effects than that file."""
        compiler, *arguments, flag, _output = command
        (source,) = (each for each in arguments if not each.startswith("-"))
        flags = [each for each in arguments if each != source]
        is_own = compiler == self._compiler  # and no substitute of a test
        is_stopped = progress is not None or (timeout is not None and timeout < _LONG)
        if (
            flag != "-o"
            or is_stopped
            or not is_own
            or KEEP_OBJECTS in flags
            or not is_self_contained(flags)
        ):
            return None
        return self._folder / program_key(digest_of_file(Path(source)), flags)


def prune(folder: Path, most: int = _KEPT_FOR_ALL_BYTES) -> None:
    """Remove the modules in `folder` that were not used for the longest time, until the others take
    at most `most` bytes."""
    total = 0
    for _, size, path in sorted(_modules(folder), reverse=True):
        total += size
        if total > most:
            path.unlink(missing_ok=True)


def _modules(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Time of the last use, size and path of each module."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another run may remove it
            status = path.stat()
            yield status.st_mtime_ns, status.st_size, path


def _is_silent(log: Path) -> bool:
    return log.stat().st_size == 0
