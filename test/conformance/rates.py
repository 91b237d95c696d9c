"""The table of pass rates by target in ``docs/targets.md``."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gpu_check.device_results import DeviceReport, read_reports
from harness.generated import with_generated

from .matrix import title
from .suite_results import SuiteResults, read_results, share

PAGE = Path(__file__).resolve().parents[2] / "docs" / "targets.md"


def targets_page() -> str:
    """The page with an up-to-date table."""
    lines = rates(read_results(), read_reports())
    return with_generated(PAGE, "docs/conformance/ and docs/gpu/", lines)


def rates(results: Iterable[SuiteResults], reports: Iterable[DeviceReport]) -> Iterator[str]:
    """One line per run of ONNX's tests, then one per run of `make gpu-check` on a device."""
    yield "| target | device | date | passing cases | tensor-only cases, fully compiled | models |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for each in results:
        yield _line(title(each), each.run.device or "none", each, "")
    for report in reports:
        models = share(report.models_passed, len(report.models)) if report.models else ""
        yield _line(report.results.run.target, report.device, report.results, models)


def _line(target: str, device: str, results: SuiteResults, models: str) -> str:
    passed = share(results.passed, results.total) if results.total else ""
    native = share(results.native_tensors, results.tensors) if results.total else ""
    return f"| {target} | {device} | {results.run.date} | {passed} | {native} | {models} |"
