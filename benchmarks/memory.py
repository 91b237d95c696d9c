"""Peak memory of a command and everything it starts, read from ``/proc`` (Linux)."""

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
            peak = max(peak, sum(map(_resident, _family(process.pid))))
            time.sleep(PERIOD_SECONDS)
        assert process.stdout is not None
        stdout = process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stdout)
    return Usage(stdout, time.perf_counter() - start, peak)


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
