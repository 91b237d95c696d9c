"""The executing half, for the machine with the device. It needs only numpy and
``iree-base-runtime``."""

import argparse
import datetime
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from conformance.case_outcome import CaseOutcome, CaseStatus
from conformance.known import is_surprise, surprises
from conformance.suite_journal import SuiteJournal, SuiteRun
from conformance.suite_results import sum_up
from graphc.errors import DeviceError
from graphc.runtime import find_devices, resolve_target
from graphc.runtime.device.discovery import device_details
from graphc.tools.cli import run_tool

from .check_archive import Archive, Manifest, PackedModel
from .device_results import DeviceReport, read_report
from .worker import Worker, run_cases

PACKAGES = ("numpy", "ml-dtypes", "iree-base-runtime")
_SHOWN_SECONDS = 15.0
_NVIDIA_VERSION = Path("/proc/driver/nvidia/version")


def main(path: Path, arguments: Sequence[str] | None = None) -> int:
    """Run the archive at `path`. Return 1 if the outcome of a case differs from the list, or if a
    model is wrong."""
    options = _parser(path).parse_args(arguments)
    return run_tool(lambda: _run(path, options))


def _run(path: Path, options: argparse.Namespace) -> int:
    archive = Archive(path)
    run, machine = describe(archive)
    print(f"{run.variant} on {run.device}", flush=True)
    partial = options.output / f"{path.stem}.jsonl"
    partial.parent.mkdir(parents=True, exist_ok=True)
    workers = [Worker(path) for _ in range(options.jobs)]
    start = time.monotonic()
    try:
        with closing(SuiteJournal(partial, run, options.resume)) as journal:
            outcomes = {o.name: o for o in _outcomes(archive.manifest, workers, journal, options)}
        chosen = [m for m in archive.manifest.models if re.search(options.models, m.name)]
        for worker in workers:
            worker.stop()  # models are timed alone
        models = {model.name: _run_model(workers[0], model, options) for model in chosen}
    finally:
        for worker in workers:
            worker.stop()
    machine["seconds"] = round(time.monotonic() - start)
    report = _report(archive.manifest, journal.run, outcomes, models, machine, options)
    result = options.output / report.file_name()
    whole = report.over(read_report(result)) if result.exists() else report
    result.write_text(whole.to_json(), encoding="utf-8")
    partial.unlink()
    return _conclude(report, archive.manifest, outcomes, result)


def describe(archive: Archive) -> tuple[SuiteRun, dict[str, Any]]:
    """The run that begins now, and the machine. Raises DeviceError if the device is missing."""
    manifest = archive.manifest
    row = resolve_target(manifest.variant)
    devices = find_devices(row.driver)
    if not devices:
        raise DeviceError(f"the driver of '{row.name}' finds no device")
    here = {package: _version(package) for package in PACKAGES}
    versions = {**manifest.versions, **here, "archive": archive.digest}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    run = SuiteRun(manifest.target, row.spelling, devices[0].name, True, False, versions, today)
    machine = {
        "system": platform.platform(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "kernel_driver": _first_line(_NVIDIA_VERSION),
        "device": device_details(row.driver),
    }
    return run, machine


def _first_line(path: Path) -> str:
    try:
        return " ".join(path.read_text().partition("\n")[0].split())
    except OSError:  # another kind of device, or system
        return ""


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _outcomes(
    manifest: Manifest,
    workers: Sequence[Worker],
    journal: SuiteJournal,
    options: argparse.Namespace,
) -> Iterator[CaseOutcome]:
    """Yield the outcome of each requested case; print those that differ from the list."""
    names = [c.info.name for c in manifest.cases if re.search(options.matching, c.info.name)]
    yield from (journal.outcomes[name] for name in names if name in journal.outcomes)
    left = [name for name in names if name not in journal.outcomes]
    shown = time.monotonic()
    for done, outcome in enumerate(run_cases(workers, left, options.timeout), 1):
        journal.add(outcome)
        yield outcome
        if is_surprise(outcome, manifest.known):
            print(*surprises([outcome], manifest.known), sep="\n", flush=True)
        if time.monotonic() - shown > _SHOWN_SECONDS:
            shown = time.monotonic()
            print(f"{done} of {len(left)} cases", flush=True)


def _run_model(worker: Worker, model: PackedModel, options: argparse.Namespace) -> dict[str, Any]:
    worker.stop()  # each in a process of its own, which has all memory of the device
    reply = worker.ask("model", model.name, options.model_timeout, rounds=options.rounds)
    figures = {"tolerance": model.tolerance, "onnxruntime_difference": model.onnxruntime_difference}
    print(f"{reply['status'].upper():12} {model.name}: {_figures(reply)}", flush=True)
    return {**reply, **figures}


def _figures(reply: dict[str, Any]) -> str:
    words = [reply["detail"]] if reply["detail"] else []
    if "difference" in reply:
        words.append(f"differs by {reply['difference']:.2g}")
    if "milliseconds" in reply:
        words.append(f"{reply['milliseconds']['median']:.3f} ms")
    return ", ".join(words)


def _report(
    manifest: Manifest,
    run: SuiteRun,
    outcomes: dict[str, CaseOutcome],
    models: dict[str, Any],
    machine: dict[str, Any],
    options: argparse.Namespace,
) -> DeviceReport:
    """The report of the run, including cases and models that did not compile."""
    infos = [case.info for case in manifest.cases if case.info.name in outcomes]
    for info, outcome in manifest.not_compiled:
        if re.search(options.matching, info.name):
            infos.append(info)
            outcomes[info.name] = outcome
    refused = {
        name: {"status": CaseStatus.ERROR, "detail": detail}
        for name, detail in manifest.models_not_compiled.items()
        if re.search(options.models, name)
    }
    models = {name: {**each, "date": run.date} for name, each in {**models, **refused}.items()}
    matching = " & ".join(filter(None, (manifest.matching, options.matching)))
    results = sum_up(run, infos, outcomes)
    return DeviceReport(results, matching if infos else "", manifest.on_host, machine, models)


def _conclude(
    report: DeviceReport, manifest: Manifest, outcomes: dict[str, CaseOutcome], path: Path
) -> int:
    otherwise = [o for o in outcomes.values() if is_surprise(o, manifest.known)]
    figures = report.results.figures() if outcomes else []
    models = [f"{report.models_passed} of {len(report.models)} models"] if report.models else []
    print(*figures, *models, sep="\n")
    if otherwise:
        print(f"{len(otherwise)} otherwise than the list for {report.results.run.target} says:")
        print(*surprises(otherwise, manifest.known), sep="\n")
    print(f"wrote {path}")
    return 1 if otherwise or report.models_passed < len(report.models) else 0


def _parser(path: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python {path.name}",
        description="Run what is in this archive on the device of this machine.",
    )
    parser.add_argument(
        "-k", dest="matching", default="", metavar="REGEX", help="only cases whose names match"
    )
    parser.add_argument(
        "--models", default="", metavar="REGEX", help="only models whose names match"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="for the results (.)"
    )
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="per case")
    parser.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="processes that run cases (1)"
    )
    parser.add_argument(
        "--model-timeout", type=float, default=600, metavar="SECONDS", help="per model"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=10,
        metavar="N",
        help="bursts that time a model, fewer for slow ones (10)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with a run that was interrupted"
    )
    return parser
