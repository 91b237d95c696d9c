"""Peak memory of a command and everything it starts, read from ``/proc`` (Linux)."""

import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
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
            peak = max(peak, _resident(_family(process.pid)))
            time.sleep(PERIOD_SECONDS)
        assert process.stdout is not None
        stdout = process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stdout)
    return Usage(stdout, time.perf_counter() - start, peak)


def _family(pid: int) -> Iterator[int]:
    """`pid` and all its descendants that are alive."""
    yield pid
    try:
        tasks = list((PROC / str(pid) / "task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return  # It ended meanwhile.
    for child in children:
        yield from _family(int(child))


def _resident(pids: Iterable[int]) -> int:
    """Resident bytes of all `pids`; pages that several have count once."""
    # Between vfork and exec a child has its parent's own memory, and so the very same figures.
    return sum(_proportional(figures) for figures in {_figures(pid) for pid in pids})


def _figures(pid: int) -> str:
    """What the system says of the memory of `pid`; nothing once it has ended."""
    try:
        return (PROC / str(pid) / "smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _proportional(figures: str) -> int:
    """Resident bytes; pages shared with others count in parts."""
    line = next((line for line in figures.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024
