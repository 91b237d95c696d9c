"""Executors that trials run on: this process, processes that are replaced when lost, and Ray.

Any other `concurrent.futures.Executor` works as well: ``Client.get_executor(pure=False)`` of Dask,
or ``mpi4py.futures.MPIPoolExecutor``.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from queue import SimpleQueue
from typing import Any, TypeVar

from ..distributed.executor_engine import start_worker
from ..errors import MissingPackageError, UsageError

T = TypeVar("T")
PROCESSES = "processes"
_CLUSTERS = ("distributed", "ray")
"""Packages whose errors, raised in place of a result, mean that a worker was lost."""


class InlineExecutor(Executor):
    """Runs calls at once, in this thread. KeyboardInterrupt leaves `submit`."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """The result of a call, or its error."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class WorkerProcesses(Executor):
    """Processes of this machine. If one is killed, its call fails, and a new one replaces it."""

    def __init__(self, workers: int):
        self._threads = ThreadPoolExecutor(workers)
        self._idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        self._pools: list[ProcessPoolExecutor] = []
        for _ in range(workers):
            self._idle.put(self._start())

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run a call on an idle process. Its error is a `BrokenExecutor` if that is killed."""
        return self._threads.submit(self._run, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after the calls that run."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for pool in self._pools:
            pool.shutdown(wait, cancel_futures=cancel_futures)

    def _run(self, fn: Callable[..., T], args: Any, kwargs: Any) -> T:
        pool = self._idle.get()
        try:
            return pool.submit(fn, *args, **kwargs).result()
        except BrokenExecutor:
            self._pools.remove(pool)
            pool.shutdown()
            pool = self._start()
            raise
        finally:
            self._idle.put(pool)

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # IREE's threads do not survive a fork
        pool = ProcessPoolExecutor(1, context, initializer=start_worker)
        self._pools.append(pool)
        return pool


class RayExecutor(Executor):
    """Runs calls as tasks of Ray, on the cluster that it is connected to.

    `options` are those of a task, such as ``num_cpus=2`` or ``resources={"zen3": 1}``, which choose
    the machine. A task is not repeated when its worker is lost.
    """

    def __init__(self, **options: Any):
        try:
            import ray  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingPackageError("the executor for Ray", "ray", "ray") from error
        self._ray, self._options = ray, {"max_retries": 0, **options}

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call as a task."""
        return self._ray.remote(fn).options(**self._options).remote(*args, **kwargs).future()


def open_executor(executor: "Executor | str | None", workers: int) -> tuple[Executor, bool]:
    """The executor that is meant, and whether it was made here. Raises `UsageError`."""
    if executor is None:
        return InlineExecutor(), True
    if executor == PROCESSES:
        return WorkerProcesses(workers), True
    if isinstance(executor, str) or not hasattr(executor, "submit"):
        raise UsageError(f"executor is '{PROCESSES}' or an Executor, not {executor!r}")
    return executor, False


def is_lost(error: BaseException) -> bool:
    """True if `error`, of a future, says that its worker was lost."""
    package = type(error).__module__.partition(".")[0]
    return isinstance(error, BrokenExecutor | CancelledError) or package in _CLUSTERS
