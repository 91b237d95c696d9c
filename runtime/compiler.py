"""Bytecode in, ``.vmfb`` out: the backend compiler as a child process.

A crash, an abort or a runaway compile of the backend is an exception here, never the death of the
caller, and nothing of it is left behind.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import BackendError, BackendTimeoutError, UsageError
from .diagnostics import summarize
from .reproducer import command_line, keep_reproducer
from .targets import Target

_HEARTBEAT = 0.2  # seconds between two progress events
_OPT_LEVELS = range(4)


@dataclass(frozen=True)
class ProgressEvent:
    """A sign of life: what is being done, and for how long (in seconds)."""

    stage: str
    elapsed: float


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
) -> bytes:
    """Compiles MLIR (bytecode or text, or the path of a file of it) to the bytes of a ``.vmfb``.

    `threads` is the number of workers that the code is laid out for, `opt_level` runs from 0 to 3,
    `extra_flags` come last and so override all others, `timeout` is in seconds. `progress` is
    called about five times a second in the calling thread; an exception that it raises stops the
    compilation and reaches the caller, and so does Ctrl-C. With `save_temps` the input, the command
    and the output are kept in that folder.

    Raises `BackendError` where the backend fails: the message holds its first errors with the names
    of the nodes they are about, `command` reproduces it, and `reproducer` is the folder that keeps
    the input. Raises `BackendTimeoutError` (the same, for a compile that did not end in time) and
    `UsageError`.
    """
    if opt_level not in _OPT_LEVELS:
        raise UsageError(f"opt_level must be 0, 1, 2 or 3, not {opt_level!r}")
    if threads < 1:
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    compiler = find_compiler()
    flags = target.flags(threads=threads, opt_level=opt_level, data_tiling=data_tiling)
    flags += extra_flags
    with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
        source, output, log = (Path(folder, name) for name in ("module.mlir", "module.vmfb", "log"))
        if isinstance(bytecode, Path):
            source = bytecode.absolute()
        else:
            source.write_bytes(bytecode)
        command = [str(compiler), str(source), *flags, "-o", str(output)]
        reason, failure = _run(command, Path(folder), log, timeout, progress), BackendError
        if reason == "timeout":
            reason, failure = f"did not finish within {timeout:g} s", BackendTimeoutError
        elif reason is None and not output.exists():
            reason = "ended well but wrote no module"
        if reason is not None or save_temps is not None:
            repro = keep_reproducer(source, compiler, flags, log, save_temps)
            if reason is None:
                (save_temps / "module.vmfb").write_bytes(output.read_bytes())
            else:
                shown = command_line(compiler, repro.source, flags)
                message = f"the backend compiler {reason}{summarize(log)}\n{repro.note}"
                raise failure(message, command=shown, reproducer=repro.folder)
        return output.read_bytes()


def find_compiler() -> Path:
    """The ``iree-compile`` of the installed compiler package, which is not imported.

    Raises `BackendError` where there is none.
    """
    spec = importlib.util.find_spec("iree.compiler") if importlib.util.find_spec("iree") else None
    if spec is not None:
        name = "iree-compile.exe" if sys.platform == "win32" else "iree-compile"
        for folder in spec.submodule_search_locations or ():
            if (path := Path(folder, "_mlir_libs", name)).exists():
                return path
    raise BackendError(
        "compiling needs the package iree-base-compiler, which is not installed "
        "(running a compiled module does not need it)"
    )


def _run(
    command: list[str],
    folder: Path,
    log: Path,
    timeout: float | None,
    progress: Callable[[ProgressEvent], None] | None,
) -> str | None:
    """Runs `command`. Answers with why it failed, ``"timeout"``, or ``None`` if it did not."""
    start = time.monotonic()
    # Diagnostics go to a file: no pipe that can fill up, no memory that can run out. The process
    # leads a group of its own, so that its linker can be ended with it.
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while True:
            elapsed = time.monotonic() - start
            if timeout is not None and elapsed >= timeout:
                return "timeout"
            if progress is not None:
                progress(ProgressEvent("backend", elapsed))
            left = _HEARTBEAT if timeout is None else min(_HEARTBEAT, timeout - elapsed)
            try:
                return _describe_exit(process.wait(max(left, 0.001)))
            except subprocess.TimeoutExpired:
                continue
    finally:
        _end(process)


def _describe_exit(code: int) -> str | None:
    if code == 0:
        return None
    if code < 0:
        return f"crashed ({signal.Signals(-code).name})"
    if code > 128 and os.name == "posix":  # a shell's way to say the same
        return f"crashed (exit code {code})"
    return f"failed (exit code {code})"


def _end(process: subprocess.Popen) -> None:
    """Ends the process and its children, and waits until it is gone."""
    if process.poll() is None:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
