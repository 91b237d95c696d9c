"""Time graphc beside other runtimes: same model, same inputs, same threads, one run.

::

    python -m graphc.benchmarks.compare models/resnet50.onnx --threads 2

Ratios are time over time, below 1 being faster, each the median over rounds.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from .feeds import example_inputs
from .measure import Plan, Timing, interleave, largest_difference
from .peers import LOADERS, Peer, PeerError, processor
from .table import add_dim_option, dims_of, format_table

OURS = "graphc"
REFERENCE = "onnxruntime"
HEADER = (
    "runtime",
    "median ms",
    "p10",
    "p90",
    "best",
    "/best peer",
    f"/{REFERENCE}",
    "difference",
    "compile s",
)


@dataclass(frozen=True)
class Row:
    """What one runtime did with one model."""

    runtime: str
    options: Mapping[str, object]
    median_ms: float
    p10_ms: float
    p90_ms: float
    best_ms: float
    ratio_to_best_peer: float | None
    ratio_to_onnxruntime: float | None
    difference: float | None
    compile_seconds: float

    def cells(self) -> tuple[str, ...]:
        """The row as `HEADER` names it."""
        return (
            self.runtime,
            f"{self.median_ms:.4g}",
            f"{self.p10_ms:.4g}",
            f"{self.p90_ms:.4g}",
            f"{self.best_ms:.4g}",
            _optional(self.ratio_to_best_peer, ".2f"),
            _optional(self.ratio_to_onnxruntime, ".2f"),
            _optional(self.difference, ".1e"),
            f"{self.compile_seconds:.1f}",
        )


@dataclass(frozen=True)
class Comparison:
    """All runtimes on one model, and those that could not take it."""

    model: str
    inputs: Mapping[str, str]
    rows: tuple[Row, ...]
    failures: Mapping[str, str]


def compare(
    path: Path, runtimes: Sequence[str], threads: int, plan: Plan, dims: Mapping[str, int]
) -> Comparison:
    """Load `path` in every runtime and time them against each other."""
    feed = example_inputs(path, dims=dims)
    peers: dict[str, Peer] = {}
    failures: dict[str, str] = {}
    results: dict[str, list[np.ndarray]] = {}
    for runtime in runtimes:
        _progress(f"{path.name}: {runtime} compiles")
        try:
            peer = LOADERS[runtime](path, threads)
        except PeerError as error:
            failures[runtime] = str(error)
            continue
        # Copied, since some runtimes hand out views that the next run overwrites.
        results[runtime] = [output.copy() for output in peer.run(feed)]
        peers[runtime] = peer
    timings = interleave(
        {runtime: lambda peer=peer: peer.run(feed) for runtime, peer in peers.items()},
        plan,
        lambda done: _progress(f"{path.name}: round {done} of {plan.rounds}"),
    )
    _progress("")
    rows = tuple(_row(peer, timings, results) for peer in peers.values())
    inputs = {name: f"{value.dtype}{list(value.shape)}" for name, value in feed.items()}
    return Comparison(path.name, inputs, rows, failures)


def _row(
    peer: Peer, timings: Mapping[str, Timing], results: Mapping[str, Sequence[np.ndarray]]
) -> Row:
    timing = timings[peer.name]
    low, high = timing.spread
    others = [other for name, other in timings.items() if name != OURS]
    best = min(others, key=lambda other: other.median, default=None)
    reference = timings.get(REFERENCE)
    return Row(
        peer.name,
        peer.options,
        timing.median,
        low,
        high,
        timing.best,
        timing.ratio(best) if best else None,
        timing.ratio(reference) if reference else None,
        _difference(results[peer.name], results.get(REFERENCE)),
        peer.compile_seconds,
    )


def _difference(
    results: Sequence[np.ndarray], reference: Sequence[np.ndarray] | None
) -> float | None:
    if reference is None:
        return None
    return max(map(largest_difference, results, reference))


def machine() -> dict[str, object]:
    """Where the numbers come from, and how busy it was before."""
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        # Above zero before anything is measured, the machine is shared, which hurts the runtimes
        # whose idle threads spin more than the others: ratios are then not worth quoting.
        "load average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def show(comparison: Comparison) -> str:
    """One model's table, with the options every runtime ran under."""
    inputs = ", ".join(f"{name}: {kind}" for name, kind in comparison.inputs.items())
    lines = [f"{comparison.model} ({inputs})", ""]
    lines.append(format_table(HEADER, [row.cells() for row in comparison.rows]))
    lines += [f"{name}: failed: {reason}" for name, reason in comparison.failures.items()]
    lines.append("")
    for row in comparison.rows:
        options = ", ".join(f"{key}={value}" for key, value in row.options.items())
        lines.append(f"  {row.runtime}: {options}")
    return "\n".join(lines)


def _optional(value: float | None, format_spec: str) -> str:
    return "-" if value is None else format(value, format_spec)


def _progress(text: str) -> None:
    """One line on a terminal that the next one replaces; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time graphc beside other runtimes.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument(
        "--peers",
        default="onnxruntime,openvino",
        metavar="NAME,...",
        help=f"what to compare with, of: {', '.join(n for n in LOADERS if n != OURS)}",
    )
    parser.add_argument("--without-graphc", action="store_true", help="time the peers alone")
    parser.add_argument("--rounds", type=int, default=Plan.rounds, metavar="N")
    parser.add_argument("--burst", type=float, default=Plan.burst_seconds, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    add_dim_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. The exit status says whether every runtime took every model."""
    parser = _parser()
    options = parser.parse_args(arguments)
    peers = [name for name in options.peers.split(",") if name]
    unknown = sorted(set(peers) - set(LOADERS))
    if unknown:
        parser.error(f"no runtime {', '.join(unknown)}; there are: {', '.join(LOADERS)}")
    runtimes = ([] if options.without_graphc else [OURS]) + peers
    plan = Plan(rounds=options.rounds, burst_seconds=options.burst)
    where = machine()
    print(", ".join(f"{key}: {value}" for key, value in where.items()))
    print(f"{options.threads} threads, {plan.rounds} rounds of {plan.burst_seconds:g} s bursts\n")
    comparisons = []
    for path in options.models:
        comparison = compare(path, runtimes, options.threads, plan, dims_of(options))
        comparisons.append(comparison)
        print(show(comparison), end="\n\n", flush=True)
    if options.json is not None:
        record = {
            "machine": where,
            "threads": options.threads,
            "plan": asdict(plan),
            "models": [asdict(comparison) for comparison in comparisons],
        }
        options.json.write_text(json.dumps(record, indent=2, default=str) + "\n")
    return 1 if any(comparison.failures for comparison in comparisons) else 0


if __name__ == "__main__":
    sys.exit(main())
