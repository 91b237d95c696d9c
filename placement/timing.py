"""Times of calls, measured in turns."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

ROUNDS = 7
"""Timed rounds, in each of which every call has its turn; the median counts."""

ROUND_SECONDS = 0.002
"""A turn repeats calls that are shorter than this, so that the clock's resolution is negligible."""


def time_in_turns(calls: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median seconds of each call. What disturbs the machine disturbs all of them alike."""
    repeats = {name: _repeats(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            times[name].append((time.perf_counter() - start) / repeats[name])
    return {name: statistics.median(each) for name, each in times.items()}


def _repeats(call: Callable[[], Any]) -> int:
    """How often a turn makes `call`, which has run before."""
    start = time.perf_counter()
    call()
    return max(1, min(1000, int(ROUND_SECONDS / max(time.perf_counter() - start, 1e-9))))
