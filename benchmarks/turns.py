"""Files and runtimes that are timed in turns."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .contestant import Contestant
from .measure import MeasurementPlan, Timing, interleave
from .peers import PeerError, Terms


@dataclass(frozen=True)
class Turns:
    """The timings of those that could run, and the outputs of their first runs."""

    timings: Mapping[str, Timing]
    results: Mapping[str, Sequence[np.ndarray]]

    def best(self, names: Sequence[str]) -> str | None:
        """The fastest of `names`, of those that ran."""
        ran = [name for name in names if name in self.timings]
        return min(ran, key=lambda name: self.timings[name].median, default=None)


def take_turns(
    entrants: Mapping[str, tuple[str, Path]],
    feed: Mapping[str, np.ndarray],
    terms: Terms,
    plan: MeasurementPlan,
    required: str,
) -> Turns:
    """Time `entrants`, each a runtime and a file, on `feed` in turns, each in a process of its own.

    Those that fail are left out, with a line on standard error. Raises `PeerError` if `required`
    fails.
    """
    contestants: dict[str, Contestant] = {}
    with ExitStack() as stack:
        for name, (runtime, path) in entrants.items():
            try:
                contestants[name] = Contestant(runtime, path, terms, feed, plan)
            except PeerError as error:
                if name == required:
                    raise
                print(f"{path.stem}: {name}: {error}", file=sys.stderr)
                continue
            stack.callback(contestants[name].close)
        bursts = {name: contestant.burst for name, contestant in contestants.items()}
        timings = interleave(bursts, plan.rounds)
        results = {name: contestant.loaded.results for name, contestant in contestants.items()}
    return Turns(timings, results)
