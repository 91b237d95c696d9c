"""Substitutes for the halves of a trial, in workers that are killed or have other CPUs."""

import os
import signal
from concurrent.futures import Executor, Future
from typing import Any

from graphc.profiling.machine import this_machine
from graphc.tuning import trials

KILLER = "graph-direct-conv"
"""The pass without which a pipeline kills its worker, or is measured on another machine."""
WINNER = "tile=0"
"""A text of the fastest pipelines."""


def measure(contest: trials.Contest) -> trials.Measurement:
    """A measurement without a clock."""
    is_better = WINNER in contest.candidate.pipeline and WINNER not in contest.best.pipeline
    ratio = 0.8 if WINNER in contest.candidate.pipeline else 1.05
    return trials.Measurement(this_machine(contest.threads), ratio, is_better)


def confirm(contest: trials.Contest) -> trials.Measurement:
    """A confirmation without a clock, of what is faster than the default."""
    is_better = WINNER in contest.candidate.pipeline
    return trials.Measurement(this_machine(contest.threads), 0.8 if is_better else 1.0, is_better)


def measure_or_die(contest: trials.Contest) -> trials.Measurement:
    """`measure` in a process that is killed by one of the candidates."""
    _die_of(contest.candidate.pipeline)
    return measure(contest)


def compile_or_die(trial: Any, pipeline: str, *known: Any) -> trials.CompiledProgram:
    """A compilation that is killed by one of the candidates."""
    _die_of(pipeline)
    return trials.compile_candidate(trial, pipeline, *known)


def _die_of(pipeline: str) -> None:
    if KILLER not in pipeline:
        os.kill(os.getpid(), signal.SIGKILL)


def measure_elsewhere(contest: trials.Contest) -> trials.Measurement:
    """`measure`, by a worker with another CPU for one of the candidates, which it finds fast."""
    found = measure(contest)
    if KILLER in contest.candidate.pipeline:
        return found
    return trials.Measurement({**found.machine, "processor": "Z 80"}, 0.1, is_better=True)


def other_machine(threads: int) -> dict[str, Any]:
    """The description of a machine with another CPU."""
    return {**this_machine(threads), "processor": "Z 80"}


class SubstitutingExecutor(Executor):
    """Hands calls to another executor, with other functions in place of some."""

    def __init__(self, executor: Executor, functions: dict[Any, Any]):
        self._executor, self._functions = executor, functions

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit the substitute of `fn`."""
        return self._executor.submit(self._functions.get(fn, fn), *args, **kwargs)
