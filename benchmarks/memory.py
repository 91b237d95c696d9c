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
    """What a command took."""

    stdout: str
    seconds: float
    peak_bytes: int
    """Resident memory of all its processes together, at the worst sampled moment."""


def measure(command: Sequence[str]) -> Usage:
    """Run `command` to its end. Raises `CalledProcessError` where it fails."""
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
    return sum(map(_resident, _family(pid)))


def forget_peak() -> None:
    """Let `peak_bytes` of this process begin anew, where the system can."""
    marks = PROC / "self" / "clear_refs"
    if os.access(marks, os.W_OK):
        marks.write_text("5")


def peak_bytes() -> int:
    """The most resident memory that this process has had."""
    for line in (PROC / "self" / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("the system does not say how much memory a process had at most")


def _family(pid: int) -> Iterator[int]:
    """`pid` and all its descendants that are alive and have memory of their own."""
    yield pid
    command = _read(pid, "cmdline")
    try:
        tasks = list((PROC / str(pid) / "task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return  # It ended meanwhile.
    for child in map(int, children):
        # Between vfork and exec a child is in its parent's memory.
        if _read(child, "cmdline") != command:
            yield from _family(child)


def _resident(pid: int) -> int:
    """Resident bytes of `pid`; pages shared with others count in parts. 0 once it has ended."""
    lines = _read(pid, "smaps_rollup").splitlines()
    line = next((line for line in lines if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024


def _read(pid: int, name: str) -> str:
    """A file on `pid`; nothing once it has ended."""
    try:
        return (PROC / str(pid) / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
