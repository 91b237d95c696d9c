"""Affinity of workers: one core each if there are enough, and never outside the affinity mask.

The runtime lets its workers run anywhere, even outside the affinity mask of the process. Unpinned,
two workers often share a core for a while, as the scheduler takes threads that sleep between
dispatches for light ones: a model then runs no faster than on one thread.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")
_NAME = "iree-worker-"
_PATIENCE = 0.5
"""Maximum time in seconds to wait for new threads to sleep."""


@contextmanager
def placed_workers(count: int) -> Iterator[None]:
    """A context that pins each of the `count` workers created inside it.

    If the system does not list threads, or forbids pinning, placement is left to the scheduler.
    """
    if not hasattr(os, "sched_setaffinity") or not _TASKS.is_dir():
        yield
        return
    before = set(_threads())
    yield
    workers = _await_rest(before, count)
    cpu_sets = [{cpu} for cpu in own_cpus(count)] or [os.sched_getaffinity(0)] * count
    for tid, cpus in zip(workers, cpu_sets, strict=False):
        with suppress(PermissionError):
            os.sched_setaffinity(tid, cpus)


def own_cpus(workers: int) -> list[int]:
    """A CPU for each of `workers` threads; empty unless there are exactly as many CPUs.

    Fewer workers are left to the scheduler: another process would choose the same CPUs, and leave
    the others idle. On systems without affinity masks all workers are left to it.
    """
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return cpus if workers == len(cpus) else []


def _threads() -> list[int]:
    return [int(task.name) for task in _TASKS.iterdir()]


def _await_rest(before: set[int], count: int) -> list[int]:
    """The `count` workers that are not among `before`, once all of them sleep.

    Before its first sleep each worker resets its own affinity to all CPUs. Workers that are not
    asleep after `_PATIENCE` are left out.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        resting = [tid for tid in _threads() if tid not in before and _rests(tid)]
        if len(resting) == count or time.monotonic() > deadline:
            return sorted(resting)
        time.sleep(0.0002)


def _rests(tid: int) -> bool:
    """Return whether a thread is a sleeping worker (`proc(5)`)."""
    try:
        name, _, fields = (_TASKS / str(tid) / "stat").read_text().rpartition(")")
    except OSError:  # the thread has ended, so it is no worker
        return False
    return f"({_NAME}" in name and fields.split()[0] == "S"
