"""Calls in child processes, which may crash or hang without harm to the others."""

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
"""Address space of each bounded process; some compilations of the backend would take unlimited
memory."""


@dataclass(frozen=True)
class Lost:
    """A call that did not complete."""

    crashed: bool
    """True if the process ended; False if the call ran out of time."""
    detail: str


def call_each(
    function: Callable[[K], Any],
    items: Iterable[K],
    *,
    jobs: int,
    timeout: float,
    bounded: bool = True,
) -> Iterator[tuple[K, Any]]:
    """Call `function` with each of `items` in `jobs` processes; yield items with results, or
    `Lost`, as they arrive.

    The processes are forked. Processes that a call starts end with it, after `timeout` seconds at
    the latest. Each process has `MEMORY_BYTES` of address space if it is `bounded`.
    """
    gc.freeze()  # otherwise each collection in a child would visit, and copy, all objects
    pool = _pool(jobs, _bound_memory if bounded else None)
    try:
        futures: dict[Any, K] = {
            pool.schedule(function, args=[item], timeout=timeout): item for item in items
        }
        for future in as_completed(futures):
            yield futures[future], _result(future.result, timeout)
    finally:  # if all calls are done there is nothing to stop
        pool.stop()
        pool.join()
        gc.unfreeze()


def in_child(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function` in a child process and return its result.

    This process then never opens a device; driver state does not survive later forks.
    """
    pool = _pool(1, None)
    try:
        return pool.schedule(function, args=args).result()
    finally:
        pool.stop()
        pool.join()


def default_jobs() -> int:
    """The default number of processes: one per core."""
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
