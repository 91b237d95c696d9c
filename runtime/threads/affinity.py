"""Workers on processors: one each where there are as many, and never outside what we may use.

The runtime lets its workers run anywhere, beyond the affinity mask of the process, too. Left to
themselves two of them often share a processor for a while, for a scheduler takes threads that
sleep between dispatches for light ones: a model then runs as fast as on one thread.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")
_NAME = "iree-worker-"
_PATIENCE = 0.5
"""Seconds within which a new thread must have come to rest."""


@contextmanager
def placed_workers(count: int) -> Iterator[None]:
    """Gives each of the `count` workers created inside its place.

    Where the system does not say what threads there are, or lets nobody place them, the scheduler
    goes on to choose.
    """
    if not hasattr(os, "sched_setaffinity") or not _TASKS.is_dir():
        yield
        return
    before = set(_threads())
    yield
    workers = _await_rest(before, count)
    places = [{cpu} for cpu in own_processors(count)] or [os.sched_getaffinity(0)] * count
    for tid, cpus in zip(workers, places, strict=False):
        with suppress(PermissionError):
            os.sched_setaffinity(tid, cpus)


def own_processors(workers: int) -> list[int]:
    """A processor for each of `workers` threads; none where there are not as many.

    Fewer workers are left to the scheduler: another process would choose the same processors, and
    leave the rest idle. So are all of them on systems that have no affinity masks.
    """
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return cpus if workers == len(cpus) else []


def _threads() -> list[int]:
    return [int(task.name) for task in _TASKS.iterdir()]


def _await_rest(before: set[int], count: int) -> list[int]:
    """The `count` workers that are not among `before`, once all of them sleep.

    On its way to its first sleep each sets its affinity itself, to all processors. Those that take
    longer than `_PATIENCE` are left where they are.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        resting = [tid for tid in _threads() if tid not in before and _rests(tid)]
        if len(resting) == count or time.monotonic() > deadline:
            return sorted(resting)
        time.sleep(0.0002)


def _rests(tid: int) -> bool:
    """Whether a thread is a worker, and asleep (`proc(5)`)."""
    try:
        name, _, fields = (_TASKS / str(tid) / "stat").read_text().rpartition(")")
    except OSError:  # the thread has ended: no worker does
        return False
    return f"({_NAME}" in name and fields.split()[0] == "S"
