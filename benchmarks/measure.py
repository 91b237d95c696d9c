"""Fair timing on a machine that is never quite idle.

Contestants run interleaved: in rounds of short bursts, one burst for each contestant per round, in
an order that rotates from round to round. Ratios are computed within a round, so that a temporary
slowdown of the machine affects all contestants alike.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class MeasurementPlan:
    """The extent of a measurement: rounds, bursts and warm-up."""

    rounds: int = 10
    burst_seconds: float = 0.5
    burst_runs: int = 3
    warmup_runs: int = 3
    clock: Callable[[], float] | None = None
    """`time.process_time` where contestants share this process and have no threads;
    `time.perf_counter` if None."""


@dataclass(frozen=True)
class Timing:
    """Times of all runs in milliseconds, grouped by round."""

    rounds: tuple[tuple[float, ...], ...]

    @property
    def median(self) -> float:
        """The median of all runs."""
        return median(self._all)

    @property
    def best(self) -> float:
        """The fastest run."""
        return min(self._all)

    @property
    def spread(self) -> tuple[float, float]:
        """The 10th and the 90th percentile of all runs."""
        low, high = np.percentile(self._all, (10, 90))
        return float(low), float(high)

    def ratio(self, other: "Timing") -> float:
        """This time over that of `other`: the median over rounds of the ratio of medians."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return median(median(mine) / median(theirs) for mine, theirs in pairs)

    @property
    def _all(self) -> tuple[float, ...]:
        return tuple(run for runs in self.rounds for run in runs)


def in_turns(
    contestants: Mapping[str, Callable[[], object]],
    plan: MeasurementPlan,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Timing]:
    """Time functions in this process against each other, after a warm-up."""
    for run in contestants.values():
        warm_up(run, plan)
    bursts = {name: partial(burst, run, plan) for name, run in contestants.items()}
    return interleave(bursts, plan.rounds, progress)


def interleave(
    contestants: Mapping[str, Callable[[], tuple[float, ...]]],
    rounds: int,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Timing]:
    """Time all `contestants` against each other; `progress` is called after each round.

    Each is a function that runs one burst and returns the times of its runs in milliseconds.
    """
    names = list(contestants)
    bursts: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for round_number in range(rounds):
        turn = round_number % max(len(names), 1)
        for name in names[turn:] + names[:turn]:
            # Let the worker threads of the previous contestant fall asleep.
            time.sleep(PAUSE_SECONDS)
            bursts[name].append(contestants[name]())
        progress(round_number + 1)
    return {name: Timing(tuple(runs)) for name, runs in bursts.items()}


def warm_up(run: Callable[[], object], plan: MeasurementPlan) -> None:
    """Run the function several times, so that first-time effects are not measured."""
    for _ in range(plan.warmup_runs):
        run()


def burst(run: Callable[[], object], plan: MeasurementPlan) -> tuple[float, ...]:
    """Run one burst; return times in milliseconds, without the first run, whose caches are cold."""
    run()
    times: list[float] = []
    clock = plan.clock or time.perf_counter
    end = clock() + plan.burst_seconds
    while len(times) < plan.burst_runs or clock() < end:
        start = clock()
        run()
        times.append((clock() - start) * 1e3)
    return tuple(times)


def cpu_seconds() -> float:
    """CPU time of this process, and of those that it has waited for, such as backend compilers."""
    return sum(os.times()[:4])


def largest_difference(result: np.ndarray, reference: np.ndarray) -> float:
    """Largest difference, relative to the largest value of `reference`.

    Infinite if shapes differ, or if non-finite elements differ.
    """
    if result.shape != reference.shape:
        return float("inf")
    if reference.size == 0:
        return 0.0
    kind = np.complex128 if np.iscomplexobj(reference) else np.float64
    ours, theirs = np.asarray(result, kind), np.asarray(reference, kind)
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(ours[finite]).all():
        return float("inf")
    difference = np.abs(ours[finite] - theirs[finite]).max(initial=0.0)
    scale = np.abs(theirs[finite]).max(initial=0.0)
    return float(difference / scale) if scale else float(difference)
