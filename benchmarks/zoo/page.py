"""The generated part of ``docs/zoo.md``: tables of a run."""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from ..measure import MeasurementPlan
from .catalogue import MODELS
from .outcome import FIXED, NAMED, RuntimeFigures, ZooOutcome, ZooRun

SLOW = 0.8
"""Ratios below this are counted."""
TOLERANCE = 1e-4
FAR = 10
"""Differences above the tolerance are listed if they are this many times those of the peers."""
ORT, OV = "onnxruntime", "openvino"


def page_lines(run: ZooRun) -> Iterator[str]:
    """The tables of `run`: packages, times, accuracy and cost."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    yield (
        f"{run.date}, {run.machine}, {run.threads} threads, {run.rounds} rounds of bursts of "
        f"{run.burst_seconds:g} s; load average {run.load_average:.1f} before; {versions}."
    )
    yield ""
    if run.rounds < MeasurementPlan.rounds:
        yield from ("**A quick run: its times are rough.**", "")
    yield from (f"- {line}" for line in summary_lines(run.outcomes))
    for title, table in (
        ("Time", _times(run)), ("Accuracy and cost", _costs(run)), ("Models", _models(run)),
        ("Packages", _packages(run)),
    ):  # fmt: skip
        yield from ("", f"## {title}", "", *table)


def summary_lines(outcomes: Sequence[ZooOutcome]) -> Iterator[str]:
    """Geometric means, the number of slow runs, large differences and failures."""
    both = [each for each in outcomes if {NAMED, FIXED} <= set(each.ratios)]
    named = [each.ratios[NAMED] for each in outcomes if NAMED in each.ratios]
    if named:
        slow = sum(ratio < SLOW for ratio in named)
        yield (
            f"Time of the best peer over that of graphc, geometric mean of {len(named)} runs: "
            f"**{geometric_mean(named):.2f}**; below {SLOW}: {slow}."
        )
    if both:
        means = [geometric_mean(each.ratios[name] for each in both) for name in (NAMED, FIXED)]
        yield (
            f"Of the {len(both)} runs with open sizes: {means[0]:.2f}, and {means[1]:.2f} with "
            "these fixed."
        )
    for each in outcomes:
        yield from (
            f"{each.model}, {each.size}, {name}: differs by {difference:.1e}."
            for name, difference in far(each)
        )
    yield from _failures(outcomes)


def _failures(outcomes: Sequence[ZooOutcome]) -> Iterator[str]:
    """Each message once, with the models and sizes that it is about."""
    runs: dict[tuple[str, str], dict[str, list[str]]] = {}
    for each in outcomes:
        for failure in each.failures.items():
            runs.setdefault(failure, {}).setdefault(each.model, []).append(each.size)
    for (runtime, message), models in sorted(runs.items()):
        listed = ", ".join(f"{model} ({', '.join(sizes)})" for model, sizes in models.items())
        yield f"{runtime} fails with {listed}: {message}"


def far(outcome: ZooOutcome) -> Iterator[tuple[str, float]]:
    """Differences of graphc that rounding does not explain, as the peers' are much smaller."""
    theirs = max(_difference(outcome.figures.get(peer)) or 0.0 for peer in (ORT, OV))
    for name in (NAMED, FIXED):
        found = _difference(outcome.figures.get(name))
        if found is not None and found > max(TOLERANCE, FAR * theirs):
            yield name, found


def line_of(outcome: ZooOutcome) -> str:
    """The outcome in one line, for the terminal."""
    ratios = [_number(outcome.ratios.get(name), ".2f") for name in (NAMED, FIXED)]
    times = " / ".join(f"{name} {_milliseconds(each)}" for name, each in outcome.figures.items())
    ours = outcome.figures.get(NAMED)
    parts = [
        f"best peer / graphc {ratios[0]}, sizes fixed {ratios[1]}",
        f"ms: {times}",
        f"compiled in {ours.compile_seconds:.1f} s" if ours else "",
        f"difference {_accuracy(ours)}, fixed {_accuracy(outcome.figures.get(FIXED))}, "
        f"ONNX Runtime {_accuracy(outcome.figures.get(ORT))}",
        *(f"{name} FAILED: {message}" for name, message in outcome.failures.items()),
    ]
    return f"{outcome.model} {outcome.size}: {'; '.join(filter(None, parts))}"


def _times(run: ZooRun) -> Iterator[str]:
    yield (
        "| model | input | best peer / graphc, above 1: graphc is faster | sizes fixed | graphc ms "
        "| fixed | ONNX Runtime | OpenVINO |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for each in run.outcomes:
        ratios = [_number(each.ratios.get(name), ".2f") for name in (NAMED, FIXED)]
        times = [_milliseconds(each.figures.get(name)) for name in (NAMED, FIXED, ORT, OV)]
        yield _row(each.model, each.size, *ratios, *times)


def _costs(run: ZooRun) -> Iterator[str]:
    yield (
        "| model | input | difference | sizes fixed | ONNX Runtime's | OpenVINO's | compile s "
        "| sizes fixed | MiB | sizes fixed | ONNX Runtime | OpenVINO | nodes on the host |"
    )
    yield f"| {' | '.join(['---'] * 13)} |"
    for each in run.outcomes:
        figures = [each.figures.get(name) for name in (NAMED, FIXED, ORT, OV)]
        accuracies = map(_accuracy, figures)
        seconds = [_number(_seconds(found), ".1f") for found in figures[:2]]
        memory = [_number(_mebibytes(found), ".0f") for found in figures]
        ours = each.figures.get(NAMED)
        host = str(ours.host_nodes) if ours else "-"
        yield _row(each.model, each.size, *accuracies, *seconds, *memory, host)


def _models(run: ZooRun) -> Iterator[str]:
    measured = {each.model for each in run.outcomes}
    yield "| model | task | package | file | input |"
    yield "| --- | --- | --- | --- | --- |"
    for model in MODELS:
        if model.name in measured:
            file = "/".join(model.file.split("/")[-2:])
            yield _row(model.name, model.task, model.package.name, f"`{file}`", model.drawn)


def _packages(run: ZooRun) -> Iterator[str]:
    yield "| package | licence in its metadata | title of its licence file |"
    yield "| --- | --- | --- |"
    for each in run.packages.values():
        yield _row(each.requirement, each.licence or "-", each.licence_file or "-")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, format_spec: str) -> str:
    return "-" if value is None else format(value, format_spec)


def _difference(figures: RuntimeFigures | None) -> float | None:
    return figures.difference if figures else None


def _milliseconds(figures: RuntimeFigures | None) -> str:
    if figures is None:
        return "-"
    return f"{figures.median_ms:.{3 if figures.median_ms < 100 else 4}g}"


def _seconds(figures: RuntimeFigures | None) -> float | None:
    return figures.compile_seconds if figures else None


def _mebibytes(figures: RuntimeFigures | None) -> float | None:
    return figures.run_peak_bytes / 2**20 if figures else None


def _accuracy(figures: RuntimeFigures | None) -> str:
    """The difference of floats, and the share of other elements that differ."""
    if figures is None:
        return "-"
    parts = [] if figures.difference is None else [f"{figures.difference:.1e}"]
    parts += [] if figures.unequal is None else [f"{figures.unequal:.1%} of integers"]
    return ", ".join(parts) or "-"
