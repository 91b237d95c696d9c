"""Peak memory of processes, read from ``/proc`` (Linux)."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD_SECONDS = 0.02
PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """Output, time and peak memory of a command."""

    stdout: str
    seconds: float
    peak_bytes: int
    """Peak of the sampled resident memory of all its processes together."""


def measure(command: Sequence[str]) -> Usage:
    """Run `command` and measure it. Raises `CalledProcessError` if it fails."""
    if not (PROC / "self" / "smaps_rollup").exists():
        raise OSError("peak memory is sampled from /proc, which this system does not have")
    start = time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, family_bytes(process.pid))
            time.sleep(PERIOD_SECONDS)
        assert process.stdout is not None
        stdout = process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stdout)
    return Usage(stdout, time.perf_counter() - start, peak)


def family_bytes(pid: int) -> int:
    """Resident bytes of `pid` and its descendants; 0 once it has ended."""
    return sum(map(_resident, family(pid)))


def forget_peak() -> None:
    """Reset `peak_bytes` of this process, if the system supports it."""
    marks = PROC / "self" / "clear_refs"
    if os.access(marks, os.W_OK):
        marks.write_text("5")


def peak_bytes() -> int:
    """The peak resident memory of this process in bytes."""
    for line in (PROC / "self" / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("the system does not say how much memory a process had at most")


def family(pid: int) -> Iterator[int]:
    """`pid` and its living descendants that have memory of their own."""
    yield pid
    command = _read(pid, "cmdline")
    try:
        tasks = list((PROC / str(pid) / "task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return  # The process has ended.
    for child in map(int, children):
        # Between vfork and exec a child shares its parent's memory.
        if _read(child, "cmdline") != command:
            yield from family(child)


def _resident(pid: int) -> int:
    """Proportional set size of `pid` in bytes, which splits shared pages; 0 once it has ended."""
    lines = _read(pid, "smaps_rollup").splitlines()
    line = next((line for line in lines if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024


def _read(pid: int, name: str) -> str:
    """The contents of a ``/proc`` file of `pid`; empty once the process has ended."""
    try:
        return (PROC / str(pid) / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
