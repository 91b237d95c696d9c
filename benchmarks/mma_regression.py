"""Costs of tiles (`passes.kernels.mma_tiles.TileCost`) from times that `mma_device` has written.

::

    python -m graphc.benchmarks.mma_regression times.json
"""

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..passes.kernels.mma_tiles import SUM_COST, TileCost

Sample = tuple[int, int, float]
"""Workgroups, steps along K of each, and microseconds."""

_RESIDENT = range(1, 9)
_STEPS = (1.3, 1.1, 1.03, 1.01)
"""Factors by which a parameter is changed, the coarsest first."""


def samples_of(times: Mapping[str, Any]) -> dict[str, list[Sample]]:
    """The samples of each tile, of kernels whose results were right."""
    found: dict[str, list[Sample]] = {}
    for problem in times["problems"]:
        for number, kernel in enumerate(problem["kernels"]):
            result = times["results"].get(f"{problem['name']}:{number}", {})
            if "time" in result and "failed" not in result:
                sample = kernel["workgroups"], kernel["steps"], result["time"]
                found.setdefault(kernel["tile"], []).append(sample)
    return found


def error(cost: TileCost, samples: Sequence[Sample]) -> float:
    """The mean square of the logarithm of what the model misses the times by."""
    logs = (math.log(cost.time(groups, steps) / time) for groups, steps, time in samples)
    return sum(log * log for log in logs) / len(samples)


def fitted(samples: Sequence[Sample]) -> TileCost:
    """The cost of a tile with the least error: parameters are changed one by one."""
    starts = (_descend(TileCost(3.0, 0.4, 0.4, resident), samples) for resident in _RESIDENT)
    return min(starts, key=lambda cost: error(cost, samples))


def _descend(cost: TileCost, samples: Sequence[Sample]) -> TileCost:
    values, resident = [cost.fixed, cost.latency, cost.work], cost.resident
    least = error(cost, samples)
    for factor in _STEPS:
        improved = True
        while improved:
            improved = False
            for index, change in itertools.product(range(3), (factor, 1 / factor)):
                changed = [*values]
                changed[index] *= change
                found = error(TileCost(*changed, resident), samples)
                if found < least * (1 - 1e-6):
                    values, least, improved = changed, found, True
    return TileCost(*values, resident)


def lost(times: Mapping[str, Any], costs: Mapping[str, TileCost]) -> float:
    """The factor by which the tiles that the model chooses are slower than the best, on average."""
    factors: list[float] = []
    for problem in times["problems"]:
        measured: list[tuple[float, float]] = []
        for number, kernel in enumerate(problem["kernels"]):
            result = times["results"].get(f"{problem['name']}:{number}", {})
            if "time" in result:
                extra = SUM_COST if kernel["parts"] > 1 else 0.0
                told = costs[kernel["tile"]].time(kernel["workgroups"], kernel["steps"])
                measured.append((told + extra, result["time"] + extra))
        if measured:
            factors.append(min(measured)[1] / min(time for _, time in measured))
    return math.exp(sum(map(math.log, factors)) / len(factors))


def report(times: Mapping[str, Any]) -> Iterator[str]:
    """The costs of all tiles, as in the tables."""
    costs: dict[str, TileCost] = {}
    for tile, samples in samples_of(times).items():
        costs[tile] = cost = fitted(samples)
        values = f"{cost.fixed:.1f}, {cost.latency:.2f}, {cost.work:.2f}, {cost.resident}"
        off = math.sqrt(error(cost, samples))
        yield f"{tile}: TileCost({values}),  # {len(samples)} kernels, {100 * off:.0f} %"
    yield f"the chosen tile is {100 * lost(times, costs) - 100:.1f} % slower than the best one"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Fit the costs of tiles to their times.")
    parser.add_argument("times", type=Path, metavar="FILE.json")
    options = parser.parse_args(arguments)
    print(*report(json.loads(options.times.read_text())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
