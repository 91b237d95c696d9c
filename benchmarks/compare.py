"""Time graphc beside other runtimes: same model, same inputs, same threads, one run.

::

    python -m graphc.benchmarks.compare models/resnet50.onnx --threads 2
    gc-bench models/resnet50.onnx --compare onnxruntime,openvino

Every runtime has a process of its own, and they take turns. Ratios are time over time, so values
below 1 are faster; each is the median over rounds. The share of the peak is relative to the
multiply-adds that the threads can do in registers, for the operations of the model as written.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean

import numpy as np

from graphc.profiling.peak import peak_gflops

from .contestant import Contestant
from .feeds import example_inputs
from .flops import count_flops
from .loaders import LOADERS
from .measure import MeasurementPlan, Timing, interleave, largest_difference
from .peers import PeerError, Terms, processor
from .table import add_dim_option, dims_of, format_table

OURS = "graphc"
REFERENCE = "onnxruntime"
HEADER = (
    "runtime",
    "median ms",
    "p10",
    "p90",
    "/best peer",
    f"/{REFERENCE}",
    "of peak",
    "difference",
    "compile s",
    "compile MiB",
    "run MiB",
)


@dataclass(frozen=True)
class RuntimeTiming:
    """Results of one runtime with one model."""

    runtime: str
    options: Mapping[str, object]
    median_ms: float
    p10_ms: float
    p90_ms: float
    ratio_to_best_peer: float | None
    ratio_to_onnxruntime: float | None
    share_of_peak: float | None
    difference: float | None
    compile_seconds: float
    compile_peak_bytes: int
    run_peak_bytes: int

    def cells(self) -> tuple[str, ...]:
        """The cells of the row, in the order of `HEADER`."""
        return (
            self.runtime,
            f"{self.median_ms:.4g}",
            f"{self.p10_ms:.4g}",
            f"{self.p90_ms:.4g}",
            _optional(self.ratio_to_best_peer, ".2f"),
            _optional(self.ratio_to_onnxruntime, ".2f"),
            _optional(self.share_of_peak, ".0%"),
            _optional(self.difference, ".1e"),
            f"{self.compile_seconds:.1f}",
            f"{self.compile_peak_bytes / 2**20:.0f}",
            f"{self.run_peak_bytes / 2**20:.0f}",
        )


@dataclass(frozen=True)
class RuntimeComparison:
    """The results of all runtimes with one model, and the errors of those that failed."""

    model: str
    inputs: Mapping[str, str]
    flops: int | None
    rows: tuple[RuntimeTiming, ...]
    failures: Mapping[str, str]

    def of(self, runtime: str) -> RuntimeTiming | None:
        """The row of `runtime`, or None if it failed."""
        return next((row for row in self.rows if row.runtime == runtime), None)


@dataclass(frozen=True)
class Setting:
    """Settings that are the same for all models."""

    runtimes: Sequence[str]
    terms: Terms
    plan: MeasurementPlan
    dims: Mapping[str, int]
    peak: float | None
    """Peak of the CPU in 10^9 operations per second; None for other devices."""


def compare(path: Path, setting: Setting) -> RuntimeComparison:
    """Load `path` in every runtime and time them against each other."""
    feed = example_inputs(path, dims=setting.dims)
    flops = count_flops(path, feed)
    contestants: dict[str, Contestant] = {}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        for runtime in setting.runtimes:
            _progress(f"{path.name}: {runtime} compiles")
            try:
                contestant = Contestant(runtime, path, setting.terms, feed, setting.plan)
            except PeerError as error:
                failures[runtime] = str(error)
                continue
            stack.callback(contestant.close)
            contestants[runtime] = contestant
        timings = interleave(
            {runtime: contestant.burst for runtime, contestant in contestants.items()},
            setting.plan.rounds,
            lambda done: _progress(f"{path.name}: round {done} of {setting.plan.rounds}"),
        )
    _progress("")
    rows = tuple(_row(runtime, contestants, timings, flops, setting) for runtime in contestants)
    inputs = {name: f"{value.dtype}{list(value.shape)}" for name, value in feed.items()}
    return RuntimeComparison(path.name, inputs, flops, rows, failures)


def _row(
    runtime: str,
    contestants: Mapping[str, Contestant],
    timings: Mapping[str, Timing],
    flops: int | None,
    setting: Setting,
) -> RuntimeTiming:
    timing, contestant = timings[runtime], contestants[runtime]
    low, high = timing.spread
    others = [other for name, other in timings.items() if name != OURS]
    best = min(others, key=lambda other: other.median, default=None)
    reference = timings.get(REFERENCE)
    expected = contestants[REFERENCE].loaded.results if reference else None
    loaded = contestant.loaded
    work = None if flops is None or setting.peak is None else flops / (1e6 * setting.peak)
    return RuntimeTiming(
        runtime,
        loaded.options,
        timing.median,
        low,
        high,
        timing.ratio(best) if best else None,
        timing.ratio(reference) if reference else None,
        None if work is None else work / timing.median,
        _difference(loaded.results, expected),
        loaded.compile_seconds,
        contestant.compile_peak_bytes,
        loaded.run_peak_bytes,
    )


def _difference(
    results: Sequence[np.ndarray], reference: Sequence[np.ndarray] | None
) -> float | None:
    if reference is None:
        return None
    return max(map(largest_difference, results, reference))


def machine() -> dict[str, object]:
    """Description of the machine, and its load before the measurement."""
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        # A load above zero before the measurement means that the machine is shared, which hurts
        # runtimes with spinning idle threads most: such ratios should not be quoted.
        "load average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def show(comparison: RuntimeComparison) -> str:
    """The table of one model, with the options of every runtime."""
    inputs = ", ".join(f"{name}: {kind}" for name, kind in comparison.inputs.items())
    size = "" if comparison.flops is None else f", {comparison.flops / 1e9:.3g} GFLOP"
    lines = [f"{comparison.model} ({inputs}{size})", ""]
    lines.append(format_table(HEADER, [row.cells() for row in comparison.rows]))
    lines += [f"{name}: failed: {reason}" for name, reason in comparison.failures.items()]
    lines.append("")
    for row in comparison.rows:
        options = ", ".join(f"{key}={value}" for key, value in row.options.items())
        lines.append(f"  {row.runtime}: {options}")
    return "\n".join(lines)


def summary(comparisons: Sequence[RuntimeComparison]) -> str:
    """graphc's ratios to the best peer, and their geometric mean."""
    ours = {comparison.model: comparison.of(OURS) for comparison in comparisons}
    ratios = {
        model: row.ratio_to_best_peer
        for model, row in ours.items()
        if row is not None and row.ratio_to_best_peer is not None
    }
    if not ratios:
        return ""
    listed = ", ".join(f"{model} {ratio:.2f}" for model, ratio in ratios.items())
    mean = geometric_mean(ratios.values())
    return f"time of graphc over that of the best peer: {listed}; geometric mean {mean:.2f}"


def _optional(value: float | None, format_spec: str) -> str:
    return "-" if value is None else format(value, format_spec)


def _progress(text: str) -> None:
    """Print a progress line on a terminal, which the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-bench", description="Time graphc beside other runtimes."
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument(
        "--target", default="cpu", help="where all run: cpu, cuda, vulkan:ampere, ... (cpu)"
    )
    parser.add_argument("--precision", default="f32", help="f32, f16 or bf16 (f32)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument(
        "--compare",
        default="onnxruntime,openvino",
        metavar="NAME,...",
        help=f"the peers, of: {', '.join(n for n in LOADERS if n != OURS)}",
    )
    parser.add_argument("--without-graphc", action="store_true", help="time the peers alone")
    parser.add_argument("--rounds", type=int, default=MeasurementPlan.rounds, metavar="N")
    parser.add_argument(
        "--burst", type=float, default=MeasurementPlan.burst_seconds, metavar="SECONDS"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--chart", type=Path, metavar="FILE.svg", help="draw the ratios there")
    add_dim_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. The exit status is 1 if a runtime failed with a model."""
    parser = _parser()
    options = parser.parse_args(arguments)
    peers = [name for name in options.compare.split(",") if name]
    unknown = sorted(set(peers) - set(LOADERS))
    if unknown:
        parser.error(f"no runtime {', '.join(unknown)}; there are: {', '.join(LOADERS)}")
    runtimes = ([] if options.without_graphc else [OURS]) + peers
    plan = MeasurementPlan(rounds=options.rounds, burst_seconds=options.burst)
    where = machine()
    terms = Terms(options.threads, options.target, options.precision)
    peak = peak_gflops(terms.threads) if terms.device == "cpu" else None
    setting = Setting(runtimes, terms, plan, dims_of(options), peak)
    print(", ".join(f"{key}: {value}" for key, value in where.items()))
    in_registers = "" if peak is None else f", {peak:.0f} GFLOP/s in registers"
    print(f"{terms.device} in {terms.precision}, {terms.threads} threads{in_registers}")
    print(f"{plan.rounds} rounds of {plan.burst_seconds:g} s bursts\n")
    comparisons = []
    for path in options.models:
        comparison = compare(path, setting)
        comparisons.append(comparison)
        print(show(comparison), end="\n\n", flush=True)
    print(summary(comparisons))
    record = {
        "machine": where,
        **asdict(terms),
        "peak_gflops": peak,
        "plan": asdict(plan),
        "models": [asdict(comparison) for comparison in comparisons],
    }
    if options.json is not None:
        options.json.write_text(json.dumps(record, indent=2, default=str) + "\n")
    if options.chart is not None:
        from .chart import draw

        draw(record, options.chart)
    return 1 if any(comparison.failures for comparison in comparisons) else 0


if __name__ == "__main__":
    sys.exit(main())
