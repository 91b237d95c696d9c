"""Time one operator of each family, at a realistic size, beside ONNX Runtime.

::

    python -m graphc.benchmarks.families            # all of them, worst first
    python -m graphc.benchmarks.families resize lstm

Cases run with two threads or ``--threads``, in single precision unless the operator requires
another. Ratios are time over time, so values below 1 are faster. The runtimes take turns.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx

import graphc

from .family_cases import CASES, FamilyCase
from .measure import MeasurementPlan, in_turns, largest_difference
from .peers import PeerError, Terms, load_graphc, load_onnxruntime
from .table import format_table

HEADER = ("family", "case", "/onnxruntime", "graphc ms", "onnxruntime ms", "difference")
SLOW = 3.0
"""Ratio above which a case needs an explanation; see `FamilyCase.note`."""


def measure(
    case: FamilyCase, threads: int, plan: MeasurementPlan, aligned: bool = False
) -> tuple[float, tuple[str, ...]]:
    """The ratio to ONNX Runtime (infinite if graphc cannot run the case), and the row.

    Inputs are allocated by numpy, or, if `aligned`, so that both runtimes use them in place.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{case.name}.onnx")
        onnx.save(case.model(), path)
        feed = {name: _aligned(array) if aligned else array for name, array in case.feed().items()}
        theirs = load_onnxruntime(path, Terms(threads))
        try:
            ours = load_graphc(path, Terms(threads))
        except PeerError as error:
            return float("inf"), (case.family, case.name, "-", str(error)[:60], "", "")
        results = [peer.run(feed) for peer in (ours, theirs)]
        difference = max(map(largest_difference, *results))
        timings = in_turns({peer.name: partial(peer.run, feed) for peer in (ours, theirs)}, plan)
    ratio = timings["graphc"].ratio(timings["onnxruntime"])
    return ratio, (
        case.family,
        case.name,
        f"{ratio:.2f}",
        f"{timings['graphc'].median:.3f}",
        f"{timings['onnxruntime'].median:.3f}",
        f"{difference:.1e}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. The exit status is 1 if a case is slow without an explanation."""
    parser = argparse.ArgumentParser(description="Time one operator of each family.")
    parser.add_argument("cases", nargs="*", help="parts of names of families and cases")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burst", type=float, default=0.15, metavar="SECONDS")
    parser.add_argument(
        "--aligned", action="store_true", help="align inputs, as results of other models are"
    )
    options = parser.parse_args(arguments)
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    wanted = [
        case
        for case in CASES
        if not options.cases or any(part in f"{case.family} {case.name}" for part in options.cases)
    ]
    measured = []
    for case in wanted:
        measured.append((case, *measure(case, options.threads, plan, options.aligned)))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    measured.sort(key=lambda entry: -entry[1])
    print(format_table(HEADER, [row for _, _, row in measured]))
    slow = [case for case, ratio, _ in measured if ratio > SLOW]
    reasons = [case.note or _outside(case, plan) for case in slow]
    for case, reason in zip(slow, reasons, strict=True):
        print(f"{case.name}: {reason or 'more than three times as slow, for no known reason'}")
    return 0 if all(reasons) else 1


def _outside(case: FamilyCase, plan: MeasurementPlan) -> str:
    """The explanation if `case` is slow because of call overhead, not of its code; else empty."""
    ratio, (_, _, _, ours, theirs, _) = measure(case, 1, plan, aligned=True)
    if ratio > SLOW:
        return ""
    return (
        f"{ratio:.2f} on one thread with aligned inputs ({ours} and {theirs} ms): what is above "
        "comes of sharing the call, and of copying inputs that are not"
    )


def _aligned(array: np.ndarray) -> np.ndarray:
    copy = graphc.aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


if __name__ == "__main__":
    sys.exit(main())
