"""Calls of the backend compiler as a child process: bytecode in, ``.vmfb`` out.

A crash, an abort or a hang of the backend raises an exception in the caller instead of ending it,
and leaves no files or processes behind.
"""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import BackendError, BackendTimeoutError, OutputError, UsageError
from ..cache.compile_cache import CompileCache
from ..cache.keys import is_self_contained, program_key
from ..launch_plan.listed_plan import LISTING_FLAGS, LISTING_FOLDER, add_plan
from ..targets import Target
from ..targets.base import Flags
from .backend_environment import backend_environment
from .child_process import Child, ProgressEvent, describe_exit, run_child, run_children
from .diagnostics import summarize
from .executables import find_executable
from .input_program import InputProgram, PlainProgram
from .kernel_cache import KEEP_OBJECTS, SEARCH_PATH, KernelCache
from .kernel_groups import KernelGroups, divide
from .reproducer import Reproduction, keep_reproducer
from .temporary_folder import temporary_folder

_UNVERIFIED = "--verify=false"
_DOES_NOT_VERIFY = b"explicit execution regions must only contain explicit ops"
"""The error of IREE 3.13 for programs that get the memory of their transients from the caller: the
canonicalization of dispatches adds up their offsets inside of the region, before it moves the sums
out."""
_ROOM = 1 << 20
"""Number of free bytes below which a disk counts as full."""

logger = logging.getLogger("graphc")


def compile_module(
    program: bytes | Path | InputProgram,
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
) -> bytes:
    """Compile MLIR (bytecode or text, or the path of a file of it) to the bytes of a ``.vmfb``.

    `threads` is the number of workers that the code is optimized for, `opt_level` runs from 0 to 3,
    `extra_flags` come last and so override all others, `timeout` is in seconds. `progress` is
    called about five times a second in the calling thread; an exception that it raises stops the
    compilation and reaches the caller, and so does Ctrl-C. With `save_temps` the input, the
    command, the diagnostics and the output are kept in that folder (`OutputError` if that fails).

    `cache` is looked up first, unless `save_temps` is given. New programs are stored in it under
    the listing `name`, and so are kernels that are functions of their own. The cache is not used
    with `extra_flags` that read or write files.

    Raises `BackendError` if the backend fails: the message holds its first errors with the names of
    the nodes concerned, `command` repeats the compilation, and `reproducer` is the folder that
    keeps the input. Raises `BackendTimeoutError` (with the same attributes) if the compilation did
    not end in time, and `UsageError` for invalid `opt_level` or `threads`.
    """
    if opt_level not in range(4):
        raise UsageError(f"opt_level must be 0, 1, 2 or 3, not {opt_level!r}")
    if threads < 1:
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    flags = target.flags(threads=threads, opt_level=opt_level, data_tiling=data_tiling)
    flags += extra_flags
    if isinstance(program, bytes | Path):
        program = PlainProgram(program)
    compiler = find_compiler()
    try:
        with temporary_folder() as folder:
            call = _Call(
                compiler, tuple(flags), target.fallback, folder, save_temps, timeout, progress,
                target.has_launch_plans,
            )  # fmt: skip
            if cache is not None:
                cache.taken = ""
            if cache is None or not is_self_contained(extra_flags):
                return call.compile_with(program, None)
            key = program_key(program.digest(), flags)
            contents = cache.read(key) if save_temps is None else None
            if contents is None:
                kernels = KernelCache(cache, flags, name=name, target=target.spelling)
                contents = call.compile_with(program, kernels)
                cache.taken = kernels.taken
                cache.put(key, contents, kind="program", name=name, target=target.spelling)
            else:
                cache.taken = " (from the cache)"
            return contents
    except OSError as error:
        raise BackendError(f"the backend compiler cannot be run: {error}") from error


def find_compiler() -> Path:
    """The path of ``iree-compile`` in the installed compiler package, which is not imported.

    Raises `BackendError` if there is none.
    """
    path = find_executable("iree.compiler", "_mlir_libs", "iree-compile")
    if path is None:
        raise BackendError(
            "compiling needs the package iree-base-compiler, which is not installed "
            "(running a compiled module does not need it)"
        )
    return path


@dataclass
class _Call:
    """One compilation: the settings of the backend, and a timeout that covers all of its runs."""

    compiler: Path
    flags: tuple[str, ...]
    fallback: Flags
    """Flags to retry with after a failure."""
    folder: Path
    save_temps: Path | None
    timeout: float | None
    progress: Callable[[ProgressEvent], None] | None
    has_plan: bool = False
    """True if the module gets a launch plan."""
    _deadline: float | None = None

    @property
    def _output(self) -> Path:
        return self.folder / "module.vmfb"

    def compile_with(self, program: InputProgram, cached: KernelCache | None) -> bytes:
        """Compile `program` with kernels from `cached`, and store its new kernels there."""
        if self.save_temps is not None or not program.kernels:
            return self.compile(program, program.file(self.folder))
        new = program.kernels if cached is None else cached.link(program.kernels, self.folder)
        symbols = [kernel.symbol for kernel in new]
        is_linked = cached is not None and cached.linked > 0
        with KernelGroups(divide(new, self.flags), self.folder) as groups:
            del new
            groups.write(program)
            source, is_linked = program.file(self.folder), is_linked or len(groups) > 0
            contents = self._compile_linked(source, groups, is_linked)
        if contents is not None:
            if cached is not None:
                _store(cached, groups, symbols, self._objects)
            return contents
        if cached is not None:
            cached.forget()
        if is_linked:
            program.unlink(source)
        return self.compile(program, source, has_failed=not is_linked)

    def compile(self, program: InputProgram, source: Path, has_failed: bool = False) -> bytes:
        """Compile `program`, which is in `source`; after a failure again in slower forms.

        `has_failed` says that an unverified compilation of it has failed already.
        """
        run, code = self._run(self._reproduction(source, self.flags), has_failed)
        if code:
            again = self._compile_slower(program, source)
            run, code = (run, code) if again is None else (again, 0)
        if code == 0 and self._output.exists():
            if self.save_temps is not None:
                kept = keep_reproducer(run, self.save_temps, self._output)
                if kept.folder is None:
                    raise OutputError(f"cannot write to {self.save_temps} {kept.note}")
            contents = self._output.read_bytes()
            return add_plan(contents, self._listing) if self.has_plan else contents
        raise self._failure(run, code)

    def _compile_slower(self, program: InputProgram, source: Path) -> Reproduction | None:
        """Compile the program in `source` with the `fallback` flags, then with each op in a
        dispatch of its own; the run that succeeds, or None if both fail."""
        flags = (_UNVERIFIED, *self.fallback, *self.flags)
        run = self._reproduction(source, flags, "fallback.txt")
        if self.fallback and self._succeeds(run):
            logger.warning(
                "compiled with %s, as the backend failed without", " ".join(self.fallback)
            )
            return run
        separated = None if _full_disk(self.folder) else program.separate(source)
        if separated is None:
            return None
        flags = (_UNVERIFIED, *self.flags)
        run = self._reproduction(separated, flags, "separated.txt")
        if not self._succeeds(run):
            return None
        logger.warning(
            "compiled with each op in a dispatch of its own, as the backend failed otherwise"
        )
        return run

    def _succeeds(self, run: Reproduction) -> bool:
        return self._run_once(run, [], self.folder) == 0 and self._output.exists()

    def _compile_linked(self, source: Path, groups: KernelGroups, is_linked: bool) -> bytes | None:
        """Compile the program in `source` and its `groups`, and keep object files with kernels.

        None if that fails: compiling the program as a whole gives the diagnosis.
        """
        self._objects.mkdir()
        search = f"{SEARCH_PATH}{self.folder}"
        if groups:
            log, code = self._run_groups(self._reproduction(source, (*self.flags, search)), groups)
        else:
            run = self._reproduction(source, (*self.flags, KEEP_OBJECTS, search))
            log, code = run.log, self._run_once(run, [_UNVERIFIED], self._objects)
        if code == 0 and self._output.exists():
            return self._output.read_bytes()
        if code is not None:
            reason = f"{describe_exit(code)}{summarize(log)}" if code else "wrote no module"
            level = logging.WARNING if is_linked else logging.INFO
            logger.log(
                level, "compiling without shared kernels, as the backend compiler %s", reason
            )
        self._output.unlink(missing_ok=True)
        return None

    def _run_groups(self, run: Reproduction, groups: KernelGroups) -> tuple[Path, int | None]:
        """Run the backend on a program and its `groups`; return the log and the exit status of the
        run that failed first, or of the program."""
        compiler, *arguments = run.command(run.source, self._output)
        command = [compiler, _UNVERIFIED, *arguments, *groups.flags]
        children = [
            *groups.children(self.compiler, (_UNVERIFIED, *self.flags)),
            Child(command, run.log, backend_environment(self.folder), groups.stdin),
        ]
        codes = run_children(
            children, stage="backend", timeout=self._seconds_left(), progress=self.progress,
            succeeded=groups.succeeded,
        )  # fmt: skip
        failed = next((number for number, code in enumerate(codes) if code), len(groups))
        return children[failed].log, codes[failed]

    @property
    def _objects(self) -> Path:
        return self.folder / "objects"

    def _reproduction(
        self, source: Path, flags: tuple[str, ...], log: str = "diagnostics.txt"
    ) -> Reproduction:
        return Reproduction(self.compiler, source, flags, self.folder / log)

    def _run(self, run: Reproduction, has_failed: bool = False) -> tuple[Reproduction, int | None]:
        """Run the backend; return the run that tells what happened, and its exit status, None on a
        timeout.

        Verifying the program after each of the backend's passes takes a third of the time, and does
        not affect the output. So it is done only after a failure, for a better message. That of a
        program that is right and does not verify, for a while, is none.
        """
        unverified = replace(run, flags=(_UNVERIFIED, *run.flags))
        if not has_failed:
            code = self._run_once(run, [_UNVERIFIED], self.folder)
            if code is None or (code == 0 and self._output.exists()):
                return unverified, code
        said = run.log.read_bytes()
        code = self._run_once(run, [], self.folder)
        if code and _DOES_NOT_VERIFY in run.log.read_bytes():
            run.log.write_bytes(said)
            return unverified, code
        return run, code

    @property
    def _listing(self) -> Path:
        return self.folder / "listing"

    def _run_once(self, run: Reproduction, first: list[str], temporary: Path) -> int | None:
        compiler, *arguments = run.command(run.source, self._output)
        if self.has_plan:
            shutil.rmtree(self._listing, ignore_errors=True)
            first = [*first, *LISTING_FLAGS, f"{LISTING_FOLDER}{self._listing}"]
        return run_child(
            [compiler, *first, *arguments], run.log, stage="backend", timeout=self._seconds_left(),
            progress=self.progress, environment=backend_environment(temporary),
        )  # fmt: skip

    def _seconds_left(self) -> float | None:
        if self.timeout is not None and self._deadline is None:
            self._deadline = time.monotonic() + self.timeout
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _failure(self, run: Reproduction, code: int | None) -> BackendError:
        failure, reason = BackendError, "wrote no module"
        if code is None:
            failure, reason = BackendTimeoutError, f"did not finish within {self.timeout:g} s"
        elif code != 0:
            reason = describe_exit(code)
        kept = keep_reproducer(run, self.save_temps)
        message = (
            f"the backend compiler {reason}{summarize(run.log)}{_full_disk(self.folder)}\n"
            f"{kept.note}"
        )
        return failure(message, command=kept.command, reproducer=kept.folder)


def _store(
    cached: KernelCache, groups: KernelGroups, symbols: Sequence[str], objects: Path
) -> None:
    """Store the kernels of `symbols`: those of `groups`, or those in the folder `objects`."""
    for contents, exported in groups.objects:
        cached.store(contents, exported)
    if not groups:
        cached.keep(symbols, objects)


def _full_disk(folder: Path) -> str:
    """A line that reports a full disk for `folder`, else empty: the backend often omits this."""
    if shutil.disk_usage(folder).free >= _ROOM:
        return ""
    return f"\n  no space is left in {folder.parent}, where temporary files lie (see TMPDIR)"
