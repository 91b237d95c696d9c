"""The engines that run blocks: processes, and any executor."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

from ..errors import UsageError
from ..runtime.threads.usable_cpus import usable_cpus
from .blocks import RowBlock
from .executor_engine import BLOCKS_PER_WORKER, run_on_executor, run_on_processes
from .manifest import BlockRecord
from .worker import MapJob

ENGINES = ("processes",)


@dataclass(frozen=True)
class Setup:
    """Who works, with how many threads."""

    engine: str
    executor: Executor | None
    workers: int | None
    """Number of workers; None for as many as the CPUs have room for."""
    threads: int

    @classmethod
    def of(
        cls,
        engine: str,
        executor: Executor | None,
        workers: int | None,
        threads: int | None,
    ) -> "Setup":
        """The setup from arguments of `map`. Raises `UsageError`."""
        if engine not in ENGINES:
            raise UsageError(f"no engine is named '{engine}' (known: {', '.join(ENGINES)})")
        for name, number in (("workers", workers), ("threads", threads)):
            if number is not None and number < 1:
                raise UsageError(f"{name} must be a positive number, not {number}")
        if threads is None:
            shared = workers if engine == "processes" and executor is None else None
            threads = max(1, usable_cpus() // shared) if shared else 1
        return cls(engine, executor, workers, threads)

    @property
    def local_workers(self) -> int:
        """The number of workers on this machine."""
        return self.workers or max(1, usable_cpus() // self.threads)


def run(job: MapJob, blocks: Iterable[RowBlock], setup: Setup) -> Iterator[BlockRecord]:
    """Process `blocks`; yield records as they come, in any order."""
    if setup.executor is not None:
        in_flight = BLOCKS_PER_WORKER * setup.local_workers
        return run_on_executor(job, blocks, setup.executor, in_flight)
    return run_on_processes(job, blocks, setup.local_workers)
