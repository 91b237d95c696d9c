"""What long runs of tests left behind: ``docs/reliability/``, a file for each.

Such a run takes minutes or hours; `make test` has its short form. Its last whole result is kept, so
that the page of `docs/` can say what was seen without anything being run for it::

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

from ..benchmarks.peers import processor
from ..driver import package_versions
from ..errors import OutputError
from .generated import with_generated

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reliability.md"
FOLDER = PAGE.parent / "reliability"
COMMANDS = {
    "fuzz": "make fuzz",
    "torch-ops": "make torch-ops",
    "sklearn": "make sklearn",
    "hostile": "make hostile",
    "rewrites": "make check-rewrites",
    "faults": "make faults",
    "interpreter": "make interpreter",
    "property": "make property",
    "pages": "make pages",
    "memory": "make memory",
    "errors": "make errors",
    "cache": "make cache",
    "soak": "make soak",
}
"""The long runs that there are, by the names of their files."""


@dataclass(frozen=True)
class LongRun:
    """One run, summed up."""

    what: str
    """What was done, in a few words."""
    command: str
    """What does it again."""
    date: str
    """When it ended, ``2026-01-31``, in UTC."""
    machine: str
    """The processor, and how many threads of it there are."""
    versions: Mapping[str, str]
    """Of graphc and what it stands on, by package."""
    counts: Mapping[str, float]
    """How much was done, and what was measured, by a label that tells the unit."""
    violations: int
    """How often something else happened than is right."""
    minutes: float
    """How long it took."""


def finished(
    what: str, command: str, counts: Mapping[str, float], *, violations: int, seconds: float
) -> LongRun:
    """A run that ended now, on this machine, after so many `seconds`."""
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
    """``docs/reliability.md`` with the table as it should be."""
    return with_generated(PAGE, "docs/reliability/", long_runs(read_runs()))


def long_runs(runs: Mapping[str, LongRun]) -> Iterator[str]:
    """A line for each long run that there is, and for those that were not made yet."""
    yield "| command | what | counts | violations | minutes | date | machine |"
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
