"""The command line."""

import argparse
import datetime
import importlib
import importlib.metadata
import logging
import re
import sys
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from conformance.known import suggested_groups
from converted.conversion_outcome import (
    OTHERS,
    ConversionJournal,
    ConversionOutcome,
    ConversionRun,
    ConversionStatus,
)
from graphc.compiler.driver import package_versions
from graphc.tools.cli import run_tool
from harness.isolation import Lost, call_each, default_jobs
from harness.reliability import finished, write_run

SUITES = {"torch-ops": "torch_ops", "sklearn": "sklearn_models"}
WHAT = {
    "torch-ops": "operators of PyTorch's database, exported by torch.onnx, beside ONNX Runtime",
    "sklearn": "estimators and pipelines that skl2onnx converts, beside ONNX Runtime",
}
SECONDS = 400.0
"""Time limit for a case in seconds; a case may have several models."""
LISTS = Path(__file__).with_name("not_passing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the requested cases; return 1 if the outcome of one differs from the list."""
    options = _parser().parse_args(arguments)
    return run_tool(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    suite = importlib.import_module(f"converted.{SUITES[options.suite]}")
    everything = suite.names()
    names = [each for each in everything if re.search(options.matching, each)][:: options.every]
    known, start = read_list(options.suite), time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    run = _describe(options.suite, suite.FRAMEWORKS)
    file = options.output / f"{options.suite}.jsonl"
    with ConversionJournal(file, run, options.resume) as journal:
        outcomes = {name: each for name, each in journal.outcomes.items() if name in set(names)}
        left = [name for name in names if name not in outcomes]
        for outcome in _outcomes(suite, left, options.jobs):
            journal.add(outcome)
            outcomes[outcome.name] = outcome
            if is_surprise(outcome, known):
                print(f"{outcome.status.upper():12} {outcome.name}: {outcome.detail}", flush=True)
    surprises = [each for each in outcomes.values() if is_surprise(each, known)]
    counts = _counts(outcomes.values())
    print(", ".join(f"{label}: {count}" for label, count in counts.items()))
    if options.suggest:
        print("", *suggested_groups(surprises), sep="\n")  # type: ignore[arg-type]
    if options.summary is not None:
        seconds = sum(each.seconds for each in outcomes.values()) / options.jobs
        row = finished(
            WHAT[options.suite], f"make {options.suite}", counts, violations=len(surprises),
            seconds=max(seconds, time.monotonic() - start),
        )  # fmt: skip
        write_run(row, options.summary)
    return 1 if surprises else 0


def _outcomes(suite: Any, names: Sequence[str], jobs: int) -> Iterable[ConversionOutcome]:
    check = partial(_quietly, suite.__name__)
    for name, ended in call_each(check, names, jobs=jobs, timeout=SECONDS):
        if isinstance(ended, Lost):
            status = ConversionStatus.CRASH if ended.crashed else ConversionStatus.HANG
            ended = ConversionOutcome(name, status, ended.detail, seconds=SECONDS)
        yield ended


def _quietly(module: str, name: str) -> ConversionOutcome:
    warnings.simplefilter("ignore")
    logging.getLogger("graphc").setLevel(logging.ERROR)
    start = time.perf_counter()
    outcome = importlib.import_module(module).run(name)
    return ConversionOutcome(
        **{**outcome.__dict__, "name": name, "seconds": time.perf_counter() - start}
    )


def read_list(suite: str) -> Mapping[str, ConversionStatus]:
    """The statuses of the cases that are known not to pass."""
    written = tomllib.loads((LISTS / f"{suite}.toml").read_text(encoding="utf-8"))
    groups = written.get("group", ())
    return {name: ConversionStatus(each["status"]) for each in groups for name in each["cases"]}


def is_surprise(outcome: ConversionOutcome, known: Mapping[str, ConversionStatus]) -> bool:
    """True if a case ended differently from what the list says."""
    if outcome.name not in known:
        return not outcome.passed
    return outcome.status is not known[outcome.name] and outcome.status not in OTHERS


def _counts(outcomes: Iterable[ConversionOutcome]) -> dict[str, int]:
    ended = list(outcomes)
    by_status = Counter(each.status for each in ended)
    counts = {"cases": len(ended), "models": sum(each.models for each in ended)}
    counts |= {"calls": sum(each.calls for each in ended)}
    counts |= {each.value: by_status[each] for each in ConversionStatus if by_status[each]}
    return counts | {"with parts on the host": sum(not each.native for each in ended)}


def _describe(suite: str, frameworks: Sequence[str]) -> ConversionRun:
    names = ("numpy", "onnxruntime", *frameworks)
    versions = {**package_versions(), **{name: importlib.metadata.version(name) for name in names}}
    return ConversionRun(suite, versions, datetime.datetime.now(datetime.UTC).date().isoformat())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m converted",
        description="Convert models, and compare them with ONNX Runtime.",
    )
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("-k", dest="matching", default="", metavar="REGEX", help="only such names")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th of them")
    parser.add_argument("-j", "--jobs", type=int, default=default_jobs(), metavar="N")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/converted"), metavar="FOLDER",
        help="keep each outcome, as JSON lines (build/converted)",
    )  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="what is in the folder is not redone")
    parser.add_argument(
        "--suggest", action="store_true", help="print surprises as groups for the list"
    )
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write it summed up")
    return parser


if __name__ == "__main__":
    sys.exit(main())
