"""The engines that run blocks: processes, Ray, Dask, and any executor."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..runtime.threads.usable_cpus import usable_cpus
from .artifacts import ArtifactSource
from .blocks import RowBlock
from .executor_engine import BLOCKS_PER_WORKER, run_on_executor, run_on_processes
from .manifest import BlockRecord
from .worker import MapJob

ENGINES = ("processes", "ray", "dask")


@dataclass(frozen=True)
class Setup:
    """Who works, with how many threads."""

    engine: str
    executor: Executor | None
    cluster: str | None
    """Address of the scheduler of Ray or Dask; None for a local one."""
    workers: int | None
    """Number of workers; None for as many as the CPUs of the cluster have room for."""
    threads: int

    @classmethod
    def of(
        cls,
        engine: str,
        executor: Executor | None,
        cluster: str | None,
        workers: int | None,
        threads: int | None,
    ) -> "Setup":
        """The setup from arguments of `map`. Raises `UsageError`."""
        if engine not in ENGINES:
            raise UsageError(f"no engine is named '{engine}' (known: {', '.join(ENGINES)})")
        for name, number in (("workers", workers), ("threads", threads)):
            if number is not None and number < 1:
                raise UsageError(f"{name} must be a positive number, not {number}")
        if cluster is not None and (engine == "processes" or executor is not None):
            raise UsageError(f"{executor or engine} has no cluster: choose the engine ray or dask")
        if threads is None:
            shared = workers if engine == "processes" and executor is None else None
            threads = max(1, usable_cpus() // shared) if shared else 1
        return cls(engine, executor, cluster, workers, threads)

    @property
    def local_workers(self) -> int:
        """The number of workers on this machine."""
        return self.workers or max(1, usable_cpus() // self.threads)


def run(job: MapJob, blocks: Iterable[RowBlock], setup: Setup) -> Iterator[BlockRecord]:
    """Process `blocks`; yield records as they come, in any order."""
    if setup.executor is not None:
        in_flight = BLOCKS_PER_WORKER * setup.local_workers
        return run_on_executor(job, blocks, setup.executor, in_flight)
    if setup.engine == "processes":
        return run_on_processes(job, blocks, setup.local_workers)
    if setup.engine == "ray":
        from .ray_engine import run_on_ray

        return run_on_ray(job, blocks, setup.cluster, setup.workers)
    from .dask_engine import run_on_dask

    return run_on_dask(job, blocks, setup.cluster, setup.local_workers)


def is_collection(dataset: Any) -> bool:
    """Return whether `dataset` is a lazy collection of Ray or Dask, or arrays of Dask by name."""
    return _library(dataset) in ("ray", "dask")


def _library(dataset: Any) -> str:
    """The package that `dataset` belongs to, without importing it."""
    values = list(dataset.values()) if isinstance(dataset, Mapping) and dataset else [dataset]
    packages = {type(each).__module__.partition(".")[0] for each in values}
    return packages.pop() if len(packages) == 1 else ""


def map_collection(
    source: ArtifactSource, dataset: Any, setup: Setup, batch_size: int | None,
    columns: Mapping[str, str],
) -> Any:  # fmt: skip
    """`dataset` with the outputs of the model, as a collection of the same library."""
    if _library(dataset) == "ray":
        from .ray_engine import map_dataset

        return map_dataset(source, dataset, setup.threads, setup.workers, batch_size, columns)
    from .dask_engine import map_dask

    return map_dask(source, dataset, setup.threads, batch_size, columns)
