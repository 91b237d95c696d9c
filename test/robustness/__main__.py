"""The command line."""

import argparse
import importlib.metadata
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from graphc.errors import UsageError
from graphc.tools.cli import FAILED, OK, run_tool
from harness.reliability import write_run

from .guiding import run_guided
from .input_outcome import InputOutcome
from .kinds import KINDS, draw_for
from .minimize_model import minimized
from .robustness_results import KindResults, RobustnessResults
from .watch import run_all, run_one

SHARES = {
    "structure": 0.60,
    "bytes": 0.15,
    "guided": 0.15,
    "external-data": 0.04,
    "file": 0.035,
    "cache": 0.015,
    "compile": 0.01,
}
"""Fractions of all inputs, by kind. An input that is compiled takes as long as a hundred others."""

_MAX_FILES = 40
"""Number of violations of one kind that are reduced and kept; more would repeat the same ones."""
_PACKAGES = ("graphc", "onnx", "numpy", "protobuf", "torch-mlir", "iree-base-runtime")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested inputs; return 1 if there was a violation."""
    options = _parser().parse_args(arguments)
    return run_tool(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    counts = _counts(options)
    if options.number is not None:
        return _run_number(options, counts)
    results = RobustnessResults(options.seed)
    for kind, count in counts.items():
        start = time.monotonic()
        results.kinds[kind] = KindResults()
        run = run_guided if kind == "guided" else _run_kind
        run(kind, count, results, options.keep)
        results.kinds[kind].seconds = time.monotonic() - start
        print(results.lines()[-1], flush=True)
    if options.json is not None:
        versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
        results.write(options.json, versions)
    if options.summary is not None:
        write_run(results.summary(), options.summary)
    for violation in results.violations:
        print(f"{violation.kind} {violation.number}: {violation.name} {violation.where}")
        print(f"  {violation.message}")
        print(f"  {violation.file}")
    return FAILED if results.violations else OK


def _counts(options: argparse.Namespace) -> dict[str, int]:
    """The number of inputs of each kind. Raises UsageError."""
    unknown = [name for name in options.kinds if name not in SHARES]
    if unknown:
        raise UsageError(f"no kind is called {', '.join(unknown)}; there are: {', '.join(SHARES)}")
    total = sum(SHARES[name] for name in options.kinds)
    return {name: max(round(options.inputs * SHARES[name] / total), 1) for name in options.kinds}


def _run_number(options: argparse.Namespace, counts: dict[str, int]) -> int:
    """Run one input in this process, where a debugger can follow it."""
    if len(counts) != 1 or "guided" in counts:
        raise UsageError("--number is of one kind, which --kinds names")
    (name,) = counts
    kind = KINDS[name]
    data = kind.make(draw_for(name, options.seed, options.number))
    path = options.keep / f"{name}-{options.number}{kind.suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"wrote {path}", flush=True)
    kind.run(data)
    return OK


def _run_kind(name: str, count: int, results: RobustnessResults, keep: Path) -> None:
    kind = KINDS[name]

    def make(number: int) -> bytes:
        return kind.make(draw_for(name, results.seed, number))

    make(0)  # load what all inputs are made from, before processes start
    seen: set[str] = set()
    for number, outcome in run_all(lambda number: kind.run(make(number)), range(count)):
        results.add(name, outcome)
        if not outcome.violation:
            continue
        print(f"{name} {number}: {outcome.name} {outcome.violation}", flush=True)
        if outcome.label not in seen and len(seen) < _MAX_FILES:
            seen.add(outcome.label)
            path = keep / f"{name}-{outcome.label}{kind.suffix}"
            keep.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_small(kind, make(number), outcome))
            results.add_violation(name, number, outcome, path)


def _small(kind, data: bytes, outcome: InputOutcome) -> bytes:
    if kind.suffix != ".onnx":
        return data
    return minimized(data, lambda smaller: run_one(lambda: kind.run(smaller)) == outcome)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m robustness",
        description="Hand graphc broken and malicious models, compiled files and cache entries.",
    )
    parser.add_argument("--inputs", type=int, default=100_000, metavar="N", help="in all (100000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the numbers drawn (0)")
    parser.add_argument(
        "--kinds", nargs="+", default=list(SHARES), metavar="KIND", help=", ".join(SHARES)
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was counted")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write it summed up")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/robustness"), metavar="FOLDER",
        help="for the inputs of violations (build/robustness)",
    )  # fmt: skip
    parser.add_argument("--number", type=int, metavar="N", help="one input, in this process")
    return parser


if __name__ == "__main__":
    sys.exit(main())
