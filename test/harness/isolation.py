"""Calls in processes that may crash or hang without harm to the others."""

import gc
import multiprocessing
import os
import resource
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import TimeoutError, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

K = TypeVar("K", bound=Hashable)

MEMORY_BYTES = 8 << 30
"""Of address space, for each process that is bounded: some compiles of the backend know no end."""


@dataclass(frozen=True)
class Lost:
    """A call that came to no end of its own."""

    crashed: bool
    """Whether the process ended; else the time did."""
    detail: str


def call_each(
    function: Callable[[K], Any],
    items: Iterable[K],
    *,
    jobs: int,
    timeout: float,
    bounded: bool = True,
) -> Iterator[tuple[K, Any]]:
    """`function` of each of `items`, in `jobs` processes; items with results, or `Lost`, as they
    come.

    The processes are forked. What a call starts ends with it, after `timeout` seconds at the
    latest. Each has `MEMORY_BYTES` of address space where it is `bounded`.
    """
    gc.freeze()  # or every collection in a process would look through all there is, and copy it
    pool = _pool(jobs, _bound_memory if bounded else None)
    try:
        futures: dict[Any, K] = {
            pool.schedule(function, args=[item], timeout=timeout): item for item in items
        }
        for future in as_completed(futures):
            yield futures[future], _result(future.result, timeout)
    finally:  # where all is done there is nothing to stop
        pool.stop()
        pool.join()
        gc.unfreeze()


def in_child(function: Callable[..., Any], *args: Any) -> Any:
    """What `function` gives in a process of its own, so that this one never opens a device: what
    drivers hold does not survive the forks that follow."""
    pool = _pool(1, None)
    try:
        return pool.schedule(function, args=args).result()
    finally:
        pool.stop()
        pool.join()


def default_jobs() -> int:
    """A process for each processor."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _result(result: Callable[[], Any], timeout: float) -> Any:
    try:
        return result()
    except TimeoutError:
        return Lost(False, f"not done after {timeout:g} s")
    except ProcessExpired as error:
        return Lost(True, f"the process ended with code {error.exitcode}")


def _pool(jobs: int, initializer: Callable[[], None] | None) -> ProcessPool:
    context: Any = multiprocessing.get_context("fork")
    return ProcessPool(max_workers=jobs, context=context, initializer=initializer)  # type: ignore[arg-type]


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
