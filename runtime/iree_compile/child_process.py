"""Child processes with progress events, cancellation, timeouts and complete cleanup."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_HEARTBEAT = 0.2  # seconds between two progress events


@dataclass(frozen=True)
class ProgressEvent:
    """A progress event: the current stage, and the elapsed time in seconds."""

    stage: str
    elapsed: float


def run_child(
    command: Sequence[str],
    log: Path,
    *,
    stage: str,
    timeout: float | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
    temporary: Path | None = None,
) -> int | None:
    """Run `command` with its output in `log`; return its exit code, or ``None`` on a timeout.

    The process keeps its temporary files in the folder `temporary`, where those of a killed process
    remain.

    The code is negative if a signal ended the process. However the wait ends, also by an exception
    of `progress` or Ctrl-C, on return the process has ended and its children are killed.
    """
    start, environment = time.monotonic(), dict(os.environ)
    if temporary is not None:
        environment |= dict.fromkeys(_TEMPORARY, str(temporary))
    # Output goes to a file: a pipe could fill up, memory could run out. The process leads a process
    # group of its own, so that its children (a linker) can be killed with it.
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )
    try:
        while True:
            elapsed = time.monotonic() - start
            if timeout is not None and elapsed >= timeout:
                return None
            if progress is not None:
                progress(ProgressEvent(stage, elapsed))
            left = _HEARTBEAT if timeout is None else min(_HEARTBEAT, timeout - elapsed)
            code = _wait(process, left)
            if code is not None:
                return code
    finally:
        _end(process)


def _wait(process: subprocess.Popen, seconds: float) -> int | None:
    """The exit code of `process`; None if it has not ended within `seconds`."""
    try:
        handle = os.pidfd_open(process.pid)  # `Popen.wait` would poll only every 50 ms
    except (AttributeError, OSError):  # not Linux, an old one, or a sandbox that forbids it
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
        return None
    try:
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        ended.poll(1000 * seconds)
    finally:
        os.close(handle)
    return process.poll()


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
