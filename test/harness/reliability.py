"""Results of long test runs: ``docs/reliability/``, one file each.

Such a run takes minutes or hours; `make test` has a short form of it. The last complete result is
kept, so that the page of `docs/` can be written without a new run::

    clock = time.monotonic()
    ...
    run = finished("models drawn at random", "make fuzz", {"models": 5000}, violations=0,
                   seconds=time.monotonic() - clock)
    write_run(run, FOLDER / "fuzz.json")
"""

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from graphc.benchmarks.peers import processor
from graphc.compiler.driver import package_versions
from graphc.errors import OutputError

from .generated import with_generated

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
FOLDER = PAGE.parent / "reliability"
COMMANDS = {
    "fuzz": "make fuzz",
    "torch-ops": "make torch-ops",
    "sklearn": "make sklearn",
    "robustness": "make robustness",
    "rewrites": "make check-rewrites",
    "faults": "make faults",
    "interpreter": "make interpreter",
    "property": "make property",
    "pages": "make pages",
    "memory": "make memory",
    "errors": "make errors",
    "placement": "make placement",
    "cache": "make cache",
    "distributed": "make distributed",
    "soak": "make soak",
}
"""Commands of the long runs, by file name."""


@dataclass(frozen=True)
class LongRun:
    """Summary of one run."""

    what: str
    """The scope of the run, in a few words."""
    command: str
    """The command that repeats the run."""
    date: str
    """Date of its end in UTC, ``2026-01-31``."""
    machine: str
    """CPU and number of hardware threads."""
    versions: Mapping[str, str]
    """Versions of graphc and its dependencies, by package."""
    counts: Mapping[str, float]
    """Counts and measurements, by a label that includes the unit."""
    violations: int
    """Number of outcomes that contradict the claim."""
    minutes: float
    """Duration."""


def finished(
    what: str, command: str, counts: Mapping[str, float], *, violations: int, seconds: float
) -> LongRun:
    """A run of `seconds` that ended now, on this machine."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{processor()}, {os.cpu_count()} threads"
    minutes = round(seconds / 60, 1)
    return LongRun(
        what, command, today, machine, package_versions(), dict(counts), violations, minutes
    )


def write_run(run: LongRun, path: Path) -> None:
    """Write `run` as JSON. Raises `OutputError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}") from error


def read_runs(folder: Path = FOLDER) -> dict[str, LongRun]:
    """The runs in `folder`, by the names of their files."""
    return {
        path.stem: LongRun(**json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("*.json"))
    }


def reliability_page() -> str:
    """``docs/reliability.md`` with an up-to-date table."""
    return with_generated(PAGE, "docs/reliability/", long_runs(read_runs()))


def long_runs(runs: Mapping[str, LongRun]) -> Iterator[str]:
    """Table with one line per long run, including those without a result."""
    yield "| command | scope | counts | violations | minutes | date | machine |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name in dict.fromkeys([*COMMANDS, *runs]):
        yield _line(runs[name]) if name in runs else f"| `{COMMANDS[name]}` | not run yet |||||"


def _line(run: LongRun) -> str:
    counts = ", ".join(f"{label}: {_number(value)}" for label, value in run.counts.items())
    return (
        f"| `{run.command}` | {run.what} | {counts} | {run.violations} | {run.minutes:g} "
        f"| {run.date} | {run.machine} |"
    )


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
