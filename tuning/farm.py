"""The workers of a search: those that compile candidates, and those that measure them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ClusterError, UsageError, WorkerError
from ..profiling.machine import this_machine
from ..runtime.threads.usable_cpus import usable_cpus
from .database import same_cpu
from .executors import PROCESSES, InlineExecutor, is_lost, open_executor
from .trials import (
    CompiledProgram,
    Contest,
    Measurement,
    TrialModel,
    close_models,
    compile_candidate,
    measure_candidate,
)

T = TypeVar("T")
LOST = "its worker was lost"


@dataclass(frozen=True)
class FarmSetup:
    """Who compiles and who measures: executors, or None for this process.

    `executor` compiles `workers` candidates at a time. `measuring` measures, one candidate at a
    time; by default the first does both.
    """

    executor: Executor | str | None = None
    measuring: Executor | str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and (isinstance(self.workers, bool) or self.workers < 1):
            raise UsageError(f"workers must be a positive number, not {self.workers}")


class Farm:
    """The workers of one search. Compilations end before measurements begin, and measurements run
    one after the other, so that workers of one machine do not disturb each other.
    """

    def __init__(self, setup: FarmSetup, trial: TrialModel, threads: int):
        self._threads, self._closing = threads, ExitStack()
        self.width = (setup.workers or usable_cpus()) if setup.executor is not None else 1
        """The number of candidates that are compiled at a time."""
        self._compiling = self._open(setup.executor, self.width)
        measuring = setup.executor if setup.measuring is None else setup.measuring
        shared = measuring is setup.executor and measuring != PROCESSES
        self._measuring = self._compiling if shared else self._open(measuring, 1)
        local = isinstance(self._compiling, InlineExecutor)
        self._trial = trial if local else trial.portable()

    def machine(self) -> dict[str, Any]:
        """The machine that measures. Raises `ClusterError`."""
        return self._only(self._submit(self._measuring, this_machine, self._threads))

    def compile_default(self, pipeline: str, machine: Mapping[str, Any]) -> CompiledProgram:
        """The program that candidates are compared with.

        Raises `WorkerError` if it was compiled for the CPU of its worker, and `machine`, which
        measures, has another one; and `ClusterError`.
        """
        made = self._only(self._submit(self._compiling, compile_candidate, self._trial, pipeline))
        if self._trial.target == "cpu:host" and not same_cpu(made.machine, machine):
            raise WorkerError(
                f"workers that compile have the CPU '{made.machine.get('processor')}', those that "
                f"measure '{machine.get('processor')}': name the target"
            )
        return made

    def compile(self, pipelines: Sequence[str], known: frozenset[str]) -> list[CompiledProgram]:
        """The programs of several pipelines; those that are `known` without contents."""
        futures = [
            self._submit(self._compiling, compile_candidate, self._trial, each, known)
            for each in pipelines
        ]
        lost = [CompiledProgram(each, {}, error=LOST) for each in pipelines]
        return [_result(future, other) for future, other in zip(futures, lost, strict=True)]

    def measure(
        self, contest: Contest, how: Callable[[Contest], Measurement] = measure_candidate
    ) -> Measurement:
        """The outcome of a contest; without a ratio if its worker was lost."""
        future = self._submit(self._measuring, how, contest)
        return _result(future, Measurement({}, None, error=LOST))

    def close(self) -> None:
        """End the workers that were started for this farm, and free what this process keeps."""
        self._closing.close()
        close_models()

    def _open(self, executor: Executor | str | None, workers: int) -> Executor:
        found, is_ours = open_executor(executor, workers)
        return self._closing.enter_context(found) if is_ours else found

    def _submit(self, executor: Executor, function: Callable[..., T], *args: Any) -> "Future[T]":
        try:
            return executor.submit(function, *args)
        except (BrokenExecutor, RuntimeError) as error:
            raise ClusterError(f"the executor takes no more trials: {error}") from error

    def _only(self, future: "Future[T]") -> T:
        try:
            return future.result()
        except Exception as error:
            if is_lost(error):
                raise ClusterError(f"a worker was lost before the first trial: {error}") from error
            raise


def _result(future: "Future[T]", if_lost: T) -> T:
    try:
        return future.result()
    except Exception as error:
        if is_lost(error):
            return if_lost
        raise
