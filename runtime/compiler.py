"""Bytecode in, ``.vmfb`` out: the backend compiler as a child process.

A crash, an abort or a runaway compile of the backend is an exception here, never the death of the
caller, and nothing of it is left behind.
"""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import BackendError, BackendTimeoutError, OutputError, UsageError
from .cache_keys import is_self_contained, program_key
from .child_process import ProgressEvent, describe_exit, run_child
from .compile_cache import CompileCache
from .diagnostics import summarize
from .executables import find_executable
from .kernel_cache import KEEP_OBJECTS, SEARCH_PATH, KernelCache, SharedKernel
from .reproducer import Reproduction, keep_reproducer
from .targets import Target
from .targets.base import Flags
from .temporary_folder import temporary_folder

Link = Callable[[Sequence[SharedKernel]], int]
"""Links those kernels that are known, and counts them."""
Share = Callable[[Path, Link], bool]
"""Links the kernels of the program. Whether any is known: then it has written the program to the
path, so linked."""

_UNVERIFIED = "--verify=false"
_ROOM = 1 << 20
"""A disk with fewer bytes than that is full."""
_WORTH = 500
"""To compile a byte of a kernel's text takes as long as to write so many bytes of weights."""

logger = logging.getLogger("graphc")


def compile_module(
    bytecode: bytes | Path,
    *,
    target: Target,
    threads: int,
    opt_level: int = 3,
    data_tiling: bool = False,
    extra_flags: Sequence[str] = (),
    timeout: float | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
    save_temps: Path | None = None,
    cache: CompileCache | None = None,
    name: str = "module",
    share: Share | None = None,
) -> bytes:
    """Compiles MLIR (bytecode or text, or the path of a file of it) to the bytes of a ``.vmfb``.

    `threads` is the number of workers that the code is laid out for, `opt_level` runs from 0 to 3,
    `extra_flags` come last and so override all others, `timeout` is in seconds. `progress` is
    called about five times a second in the calling thread; an exception that it raises stops the
    compilation and reaches the caller, and so does Ctrl-C. With `save_temps` the input, the
    command, the diagnostics and the output are kept in that folder (`OutputError` if they cannot).
    What `cache` has is taken from there, unless `save_temps` asks for all that; what it has not is
    put there as `name`. It is not used with `extra_flags` that read or write files. `share` is for
    single kernels, functions of their own, what `cache` is for all: it is called where these are
    looked for.

    Raises `BackendError` where the backend fails: the message holds its first errors with the names
    of the nodes they are about, `command` repeats it, and `reproducer` is the folder that keeps the
    input. Raises `BackendTimeoutError` (the same, for a compile that did not end in time) and
    `UsageError`.
    """
    if opt_level not in range(4):
        raise UsageError(f"opt_level must be 0, 1, 2 or 3, not {opt_level!r}")
    if threads < 1:
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    flags = target.flags(threads=threads, opt_level=opt_level, data_tiling=data_tiling)
    flags += extra_flags
    compiler = find_compiler()
    try:
        with temporary_folder() as folder:
            if isinstance(bytecode, Path):
                source = bytecode.absolute()
            else:
                source = folder / "module.mlir"
                source.write_bytes(bytecode)
            run = Reproduction(compiler, source, tuple(flags), folder / "diagnostics.txt")
            output = folder / "module.vmfb"
            if cache is not None:
                cache.taken = ""
            if cache is None or not is_self_contained(extra_flags):
                return _compile(
                    run, output, timeout, progress, save_temps, fallback=target.fallback
                )
            key = program_key(source, flags)
            contents = cache.read(key) if save_temps is None else None
            if contents is None:
                started, has_failed = time.monotonic(), False
                if share is not None and save_temps is None:
                    kernels = KernelCache(cache, flags, name=name, target=target.spelling)
                    contents = _compile_shared(run, output, timeout, progress, share, kernels)
                    has_failed = kernels.linked == 0  # where it is None: of the same program
                    if contents is not None:
                        cache.taken = kernels.taken
                if contents is None:
                    left = None if timeout is None else timeout - (time.monotonic() - started)
                    contents = _compile(
                        run, output, timeout, progress, save_temps, left, has_failed,
                        target.fallback,
                    )  # fmt: skip
                cache.put(key, contents, kind="program", name=name, target=target.spelling)
            else:
                cache.taken = " (from the cache)"
            return contents
    except OSError as error:
        raise BackendError(f"the backend compiler cannot be run: {error}") from error


def find_compiler() -> Path:
    """The ``iree-compile`` of the installed compiler package, which is not imported.

    Raises `BackendError` where there is none.
    """
    path = find_executable("iree.compiler", "_mlir_libs", "iree-compile")
    if path is None:
        raise BackendError(
            "compiling needs the package iree-base-compiler, which is not installed "
            "(running a compiled module does not need it)"
        )
    return path


def _compile(
    run: Reproduction,
    output: Path,
    timeout: float | None,
    progress: Callable[[ProgressEvent], None] | None,
    save_temps: Path | None,
    left: float | None = None,
    has_failed: bool = False,
    fallback: Flags = (),
) -> bytes:
    """What comes of `run`, which `has_failed` unverified, with so much `left` of `timeout`; of it
    with the `fallback` where it fails without."""
    left = timeout if left is None else left
    started = time.monotonic()
    code = _run(run, output, left, progress, has_failed)
    if code and fallback:
        log = output.parent / "fallback.txt"
        again = Reproduction(run.compiler, run.source, (*fallback, *run.flags), log)
        rest = None if left is None else left - (time.monotonic() - started)
        if _run(again, output, rest, progress, has_failed=False) == 0 and output.exists():
            logger.warning("compiled with %s, as the backend failed without", " ".join(fallback))
            run, code = again, 0
    if code == 0 and output.exists():
        if save_temps is not None:
            kept = keep_reproducer(run, save_temps, output)
            if kept.folder is None:
                raise OutputError(f"cannot write to {save_temps} {kept.note}")
        return output.read_bytes()
    failure, reason = BackendError, "wrote no module"
    if code is None:
        failure, reason = BackendTimeoutError, f"did not finish within {timeout:g} s"
    elif code != 0:
        reason = describe_exit(code)
    full = _full_disk(output.parent)
    kept = keep_reproducer(run, save_temps)
    message = f"the backend compiler {reason}{summarize(run.log)}{full}\n{kept.note}"
    raise failure(message, command=kept.command, reproducer=kept.folder)


def _compile_shared(
    run: Reproduction,
    output: Path,
    timeout: float | None,
    progress: Callable[[ProgressEvent], None] | None,
    share: Share,
    kernels: KernelCache,
) -> bytes | None:
    """What comes of the program of `run` with kernels from `kernels`, where its others are put.

    None where that fails: the program alone says why.
    """
    folder, linked = output.parent, output.parent / "linked.mlir"
    new: list[str] = []

    def link(handed: Sequence[SharedKernel]) -> int:
        work = _WORTH * sum(kernel.size for kernel in handed)
        if work >= run.source.stat().st_size:
            new.extend(kernels.link(handed, folder))
        else:  # the program need not be written again
            new.extend(kernel.symbol for kernel in handed)
        return len(handed) - len(new)

    is_linked = share(linked, link)
    objects = folder / "objects"
    objects.mkdir()
    flags = (*run.flags, KEEP_OBJECTS, f"{SEARCH_PATH}{folder}")
    shared = Reproduction(run.compiler, linked if is_linked else run.source, flags, run.log)
    compiler, *arguments = shared.command(shared.source, output)
    code = run_child(
        [compiler, _UNVERIFIED, *arguments], run.log, stage="backend", timeout=timeout,
        progress=progress, temporary=objects,
    )  # fmt: skip
    if code == 0 and output.exists():
        kernels.keep(new, objects)
        return output.read_bytes()
    if code is not None:
        reason = f"{describe_exit(code)}{summarize(run.log)}" if code else "wrote no module"
        level = logging.WARNING if is_linked else logging.INFO
        logger.log(level, "compiling without shared kernels, as the backend compiler %s", reason)
    output.unlink(missing_ok=True)
    return None


def _run(
    run: Reproduction,
    output: Path,
    timeout: float | None,
    progress: Callable[[ProgressEvent], None] | None,
    has_failed: bool,
) -> int | None:
    """The exit status, None where the time is over.

    To verify the program after each of the backend's passes takes a third of the time, and changes
    nothing of what it makes. So that is done where it fails without: for a message that says more.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    compiler, *arguments = run.command(run.source, output)
    code = None
    for first in [[]] if has_failed else [[_UNVERIFIED], []]:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        code = run_child(
            [compiler, *first, *arguments], run.log, stage="backend", timeout=left,
            progress=progress, temporary=output.parent,
        )  # fmt: skip
        if code is None or (code == 0 and output.exists()):
            break
    return code


def _full_disk(folder: Path) -> str:
    """A line that says so where there is no room left in `folder`: the backend does not always."""
    if shutil.disk_usage(folder).free >= _ROOM:
        return ""
    return f"\n  no space is left in {folder.parent}, where temporary files lie (see TMPDIR)"
