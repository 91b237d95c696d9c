"""Runs of inputs in a supervised child process, which may crash, hang or exhaust its memory."""

import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .input_outcome import InputOutcome, outcome_of
from .kinds import quiet

MEMORY_BYTES = 6 << 30
"""Address space beyond that of a process at its start."""
CPU_SECONDS = 20.0
"""CPU time limit for one input, so that a busy machine does not look like a hang."""
WALL_SECONDS = 180.0
PER_PROCESS = 4000
"""Number of inputs per process, which limits the effect of what an input leaves behind."""

_POLL_SECONDS = 1.0

Run = Callable[[int], object]
"""A function that makes the input of a number and hands it to graphc."""


def run_all(run: Run, numbers: Sequence[int]) -> Iterator[tuple[int, InputOutcome]]:
    """Run the inputs `numbers` in order; yield the outcome of each. A new child replaces one that
    dies."""
    left = list(numbers)
    while left:
        with _Child(run, left[:PER_PROCESS]) as child:
            for number, outcome in child.outcomes():
                yield number, outcome
                left.pop(0)


def run_one(run: Callable[[], object]) -> InputOutcome:
    """Call `run` in a child process and return the outcome."""
    ((_, outcome),) = run_all(lambda number: run(), [0])
    return outcome


class _Child:
    """A process that runs the inputs `numbers` and reports the outcome of each."""

    def __init__(self, run: Run, numbers: Sequence[int]):
        context: Any = multiprocessing.get_context("fork")
        self._numbers = numbers
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(run, numbers, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def outcomes(self) -> Iterator[tuple[int, InputOutcome]]:
        """The outcomes of the inputs, up to the first that ends the process."""
        for number in self._numbers:
            outcome = self._await()
            yield number, outcome
            if outcome.name in ("Crash", "Hang"):
                return

    def _await(self) -> InputOutcome:
        began, cpu = time.monotonic(), self._cpu_seconds()
        while True:
            try:
                if self._pipe.poll(_POLL_SECONDS):
                    return self._pipe.recv()
            except EOFError:
                self._process.join()
                return InputOutcome(
                    "Crash", f"the process ended with code {self._process.exitcode}"
                )
            if self._cpu_seconds() - cpu > CPU_SECONDS or time.monotonic() - began > WALL_SECONDS:
                return InputOutcome("Hang", f"not done after {CPU_SECONDS:g} s")

    def _cpu_seconds(self) -> float:
        """CPU time used by the child; 0 if the system does not report it."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve(run: Run, numbers: Sequence[int], pipe: Connection) -> None:
    quiet()
    bound_memory()
    os.setsid()
    for number in numbers:
        pipe.send(outcome_of(lambda number=number: run(number)))
    pipe.close()


def bound_memory() -> None:
    """Limit the address space of this process to `MEMORY_BYTES` more than it has."""
    status = Path("/proc/self/statm")
    taken = int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0
    limit = taken + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
