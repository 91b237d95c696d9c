"""Time every operator beside ONNX Runtime, and print the ratios, worst first.

::

    python -m graphc.benchmarks.operators                       # all of them
    python -m graphc.benchmarks.operators '^TopK' 'axis 0'      # those whose titles match
    python -m graphc.benchmarks.operators --threads 2 --json build/operators.json

A model of one node has fixed sizes, or named ones. Both runtimes run it in turns, in short bursts,
and the fastest run of each counts, so that other work on the machine changes little. Inputs are
aligned to 64 bytes, as both runtimes use such in place. Differences are relative to the largest
element of a result. ``--missing`` lists operators with a converter that have no case.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx

import graphc
from graphc.errors import GraphcError
from graphc.frontend.onnx.importing.registry import converters

from ..measure import largest_difference
from ..peers import PeerError, Terms, load_graphc, load_onnxruntime
from ..table import format_table
from . import (
    contraction,
    contributed,
    elementwise,
    indexing,
    layers,
    movement,
    quantized,
    reduction,
    spatial,
)
from .case import OperatorCase

CASES: tuple[OperatorCase, ...] = tuple(
    case
    for module in (
        indexing, movement, spatial, reduction, contraction, elementwise, contributed, layers,
        quantized,
    )
    for case in module.CASES
)  # fmt: skip
HEADER = ("case", "/onnxruntime", "graphc us", "onnxruntime us", "difference")
BURSTS, BURST_SECONDS, BURST_RUNS = 6, 0.01, 3
PAUSE_SECONDS = 0.03
"""In which threads of ONNX Runtime fall asleep, if there are several."""


@dataclass(frozen=True)
class OperatorTiming:
    """Fastest runs in microseconds, and the relative difference of results."""

    case: str
    ours: float
    theirs: float | None
    """None if ONNX Runtime has no such operator."""
    difference: float
    fault: str = ""

    @property
    def ratio(self) -> float:
        """Time over that of ONNX Runtime: infinite if graphc cannot run the case, 0 if ONNX Runtime
        cannot."""
        if self.fault:
            return float("inf")
        return self.ours / self.theirs if self.theirs else 0.0

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        if self.fault:
            return (self.case, self.fault[:70], "", "", "")
        if self.theirs is None:
            return (self.case, "", f"{self.ours:.1f}", "", "")
        times = (f"{self.ours:.1f}", f"{self.theirs:.1f}")
        return (self.case, f"{self.ratio:.2f}", *times, f"{self.difference:.0e}")


def measure(case: OperatorCase, threads: int) -> OperatorTiming:
    """The row of a case."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.onnx")
        onnx.save(case.model(), path)
        feed = {name: _aligned(array) for name, array in case.feed().items()}
        try:
            ours = load_graphc(path, Terms(threads))
            results = ours.run(feed)
        except (PeerError, GraphcError) as error:
            return OperatorTiming(case.title, 0, 0, 0, str(error).replace("\n", " "))
        try:
            theirs = load_onnxruntime(path, Terms(threads))
            expected = theirs.run(feed)
        except Exception as error:  # onnxruntime's exceptions have no common class
            print(f"{case.title}: onnxruntime: {str(error)[:150]}", file=sys.stderr)
            (alone,) = _fastest([partial(ours.run, feed)], threads)
            return OperatorTiming(case.title, alone, None, 0)
        difference = max(map(largest_difference, results, expected))
        times = _fastest([partial(peer.run, feed) for peer in (ours, theirs)], threads)
    return OperatorTiming(case.title, *times, difference)


def _fastest(runs: Sequence[Callable[[], object]], threads: int) -> list[float]:
    """The fastest of the runs of each, in turns, in microseconds."""
    best = [float("inf")] * len(runs)
    for _ in range(BURSTS):
        for number, run in enumerate(runs):
            if threads > 1:
                time.sleep(PAUSE_SECONDS)
            best[number] = min(best[number], _burst(run))
    return [seconds * 1e6 for seconds in best]


def _burst(run: Callable[[], object]) -> float:
    run()
    best, count, end = float("inf"), 0, time.perf_counter() + BURST_SECONDS
    while count < BURST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best, count = min(best, time.perf_counter() - start), count + 1
    return best


def _aligned(array: np.ndarray) -> np.ndarray:
    copy = graphc.aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def missing() -> list[str]:
    """Operators with a converter and without a case."""
    known = {(case.domain, case.operator) for case in CASES}
    return sorted(
        {
            f"{entry.domain or 'ai.onnx'}.{entry.op_type}"
            for entry in converters()
            if (entry.domain, entry.op_type) not in known
        }
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time every operator beside ONNX Runtime.")
    parser.add_argument("cases", nargs="*", help="regular expressions of titles")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worst", type=int, help="print this number of rows")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--missing", action="store_true", help="list operators without a case")
    options = parser.parse_args(arguments)
    if options.missing:
        print("\n".join(missing()))
        return 0
    rows = []
    for case in CASES:
        if options.cases and not any(re.search(part, case.title) for part in options.cases):
            continue
        row = measure(case, options.threads)
        rows.append(row)
        print(*row.cells(), file=sys.stderr, flush=True)
    rows.sort(key=lambda row: -row.ratio)
    print(format_table(HEADER, [row.cells() for row in rows[: options.worst]]))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
