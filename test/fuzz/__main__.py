"""The command line."""

import argparse
import datetime
import importlib.metadata
import sys
from collections.abc import Sequence
from pathlib import Path

from graphc.compiler.driver import package_versions
from graphc.runtime import resolve_target
from graphc.runtime.device.discovery import on_this_machine
from graphc.tools.cli import run_tool
from harness.isolation import default_jobs
from harness.reliability import write_run

from .draw_registry import FAMILIES
from .findings import reduce_findings
from .fuzz_journal import FuzzJournal, FuzzRun
from .graph_outcome import GraphOutcome
from .run_graphs import check_batch, check_graphs
from .summary import sum_up, write_summary

EVERY = 500
"""Number of graphs between two progress messages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the requested graphs; return 1 if one of them is a finding."""
    options = _parser().parse_args(arguments)
    return run_tool(lambda: _run(options) if options.only is None else _some(options))


def _run(options: argparse.Namespace) -> int:
    options.output.mkdir(parents=True, exist_ok=True)
    run = describe_run(options.seed, options.family)
    with FuzzJournal(options.output / "outcomes.jsonl", run, options.resume) as journal:
        outcomes = {i: each for i, each in journal.outcomes.items() if i < options.graphs}
        left = [index for index in range(options.graphs) if index not in outcomes]
        jobs, timeout, family = options.jobs, options.timeout, options.family
        for outcome in check_graphs(options.seed, left, jobs=jobs, timeout=timeout, family=family):
            journal.add(outcome)
            outcomes[outcome.index] = outcome
            _show(outcome, len(outcomes), options.graphs)
    found = reduce_findings(
        outcomes.values(), options.seed, options.output, jobs=options.jobs, family=options.family
    )
    for line in found:
        print(line, flush=True)
    summary = sum_up(journal.run, outcomes.values())
    print("\n".join(summary.figures()))
    print(f"wrote {write_summary(summary, options.output / 'summary.json')}")
    if options.summary is not None:
        write_run(summary.long_run(options.jobs), options.summary)
    return 1 if any(outcome.is_finding for outcome in outcomes.values()) else 0


def _show(outcome: GraphOutcome, done: int, graphs: int) -> None:
    if outcome.is_finding:
        print(f"{outcome.status.upper():14} {outcome.index}: {outcome.detail}", flush=True)
    if done % EVERY == 0:
        print(f"{done} of {graphs} graphs", flush=True)


def _some(options: argparse.Namespace) -> int:
    """Check one graph, or a batch of them, in this process and save the findings."""
    ended = check_batch(options.seed, options.timeout, {}, tuple(options.only), options.family)
    for outcome in ended.outcomes:
        print(f"{outcome.status.upper()} {outcome.detail}".strip())
    if ended.detail:
        print(f"{ended.status.upper()} {ended.detail}")
    for line in reduce_findings(
        ended.outcomes, options.seed, options.output, jobs=1, family=options.family
    ):
        print(line)
    return 1 if ended.detail or any(outcome.is_finding for outcome in ended.outcomes) else 0


def describe_run(seed: int, family: str | None = None) -> FuzzRun:
    """A run of `seed` and `family` on this machine, begun today."""
    others = {name: importlib.metadata.version(name) for name in ("numpy", "onnxruntime")}
    versions = {**package_versions(), **others}
    target = on_this_machine(resolve_target("cpu")).spelling
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return FuzzRun(seed, target, versions, today, family)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz",
        description="Draw models at random and hold them against ONNX Runtime.",
    )
    parser.add_argument("--graphs", type=int, default=10_000, metavar="N", help="how many (10000)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (0)")
    parser.add_argument("--family", choices=FAMILIES, help="only graphs of it (all)")
    parser.add_argument("-j", "--jobs", type=int, default=default_jobs(), metavar="N")
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="for the backend, per graph"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("build/fuzz"),
        metavar="FOLDER",
        help="outcomes, what they add up to, and a folder for each finding (build/fuzz)",
    )
    parser.add_argument("--resume", action="store_true", help="what is in the folder is not redone")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="INDEX",
        help="check this graph alone, or these as one batch, in this process",
    )  # fmt: skip
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write it summed up")
    return parser


if __name__ == "__main__":
    sys.exit(main())
