"""Child processes with progress events, cancellation, timeouts and complete cleanup."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_HEARTBEAT = 0.2  # seconds between two progress events
_PAUSE = 0.02  # seconds between two looks at processes, where the system does not report their ends


@dataclass(frozen=True)
class ProgressEvent:
    """A progress event: the current stage, and the elapsed time in seconds."""

    stage: str
    elapsed: float


@dataclass(frozen=True)
class Child:
    """A process to run: its command, and the file that keeps its output.

    It has the environment of this process, with the variables in `environment`. Its standard input
    is the descriptor `stdin`, or empty.
    """

    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: int | None = None


def run_child(
    command: Sequence[str],
    log: Path,
    *,
    stage: str,
    timeout: float | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> int | None:
    """Run a `Child`; return its exit code, or ``None`` on a timeout: see `run_children`."""
    child = Child(command, log, environment or {})
    return run_children([child], stage=stage, timeout=timeout, progress=progress)[0]


def run_children(
    children: Sequence[Child],
    *,
    stage: str,
    timeout: float | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
    succeeded: Callable[[int], None] | None = None,
) -> list[int | None]:
    """Run `children` at the same time until all have ended, or one has failed.

    Returns their exit codes, ``None`` for those ended here: all that are left after a timeout or a
    failure. A code is negative if a signal ended the process. `succeeded` receives the numbers of
    children whose exit code is 0.

    However the wait ends, also by an exception of `progress` or Ctrl-C, on return all processes
    have ended and their children are killed.
    """
    start = time.monotonic()
    processes: list[subprocess.Popen] = []
    codes: list[int | None] = [None] * len(children)
    try:
        for child in children:
            process = _start(child)
            processes.append(process)
        while True:
            elapsed = time.monotonic() - start
            if timeout is not None and elapsed >= timeout:
                return codes
            if progress is not None:
                progress(ProgressEvent(stage, elapsed))
            left = _HEARTBEAT if timeout is None else min(_HEARTBEAT, timeout - elapsed)
            running = [n for n, code in enumerate(codes) if code is None]
            _wait([processes[number] for number in running], left)
            for number in running:
                codes[number] = processes[number].poll()
                if codes[number] == 0 and succeeded is not None:
                    succeeded(number)
            if None not in codes or any(codes):
                return codes
    finally:
        for process in processes:
            _end(process)


def _start(child: Child) -> subprocess.Popen:
    # Output goes to a file: a pipe could fill up, memory could run out. The process leads a process
    # group of its own, so that its children (a linker) can be killed with it.
    with child.log.open("wb") as sink:
        return subprocess.Popen(
            child.command,
            stdin=subprocess.DEVNULL if child.stdin is None else child.stdin,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **child.environment},
        )


def _wait(processes: Sequence[subprocess.Popen], seconds: float) -> None:
    """Wait until one of `processes` has ended, for at most `seconds`."""
    with contextlib.ExitStack() as stack:
        try:
            ended = select.poll()
            for process in processes:
                handle = os.pidfd_open(process.pid)  # `Popen.wait` would poll only every 50 ms
                stack.callback(os.close, handle)
                ended.register(handle, select.POLLIN)
        except (AttributeError, OSError):  # not Linux, an old one, or a sandbox that forbids it
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and all(p.poll() is None for p in processes):
                time.sleep(_PAUSE)
            return
        ended.poll(1000 * seconds)


def describe_exit(code: int) -> str:
    """Describe an exit code: ``crashed (SIGSEGV)`` or ``failed (exit code 1)``."""
    if code >= 0:
        return f"failed (exit code {code})"
    try:
        return f"crashed ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f"crashed (signal {-code})"


def _end(process: subprocess.Popen) -> None:
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
