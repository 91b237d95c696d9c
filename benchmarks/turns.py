"""Files and runtimes that are timed in turns."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Protocol

import numpy as np

from .compare import machine
from .contestant import Contestant
from .measure import MeasurementPlan, Timing, interleave
from .peers import PeerError, Terms
from .table import format_table


class TimedRow(Protocol):
    """A row of a report: a dataclass with its cells as text."""

    def cells(self) -> tuple[str, ...]: ...


def optional(value: float | None, form: str) -> str:
    """The text of a cell: a dash for None."""
    return "-" if value is None else format(value, form)


def parser_of(description: str) -> argparse.ArgumentParser:
    """The command line of a report by turns."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cases", nargs="*", help="parts of names, such as bert")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--burst", type=float, default=0.3, metavar="SECONDS")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser


def report(
    header: Sequence[str],
    rows: Iterable[TimedRow],
    ratios: Mapping[str, str],
    path: Path | None,
) -> None:
    """Print rows as they come, then as a table, and the geometric means of `ratios`: fields of
    rows, by what they are ratios to. Write all to `path`, if that is given."""
    known: list[Any] = []
    for row in rows:
        print(" ".join(row.cells()), file=sys.stderr, flush=True)
        known.append(row)
    print(format_table(header, [row.cells() for row in known]))
    for text, field in ratios.items():
        values = [value for row in known if (value := getattr(row, field)) is not None]
        if values:
            print(f"geometric mean of the ratios to {text}: {geometric_mean(values):.2f}")
    if path is not None:
        written = {"machine": machine(), "rows": [asdict(row) for row in known]}
        path.write_text(json.dumps(written, indent=1) + "\n")


@dataclass(frozen=True)
class Turns:
    """The timings of those that could run, and the outputs of their first runs."""

    timings: Mapping[str, Timing]
    results: Mapping[str, Sequence[np.ndarray]]

    def best(self, names: Sequence[str]) -> str | None:
        """The fastest of `names`, of those that ran."""
        ran = [name for name in names if name in self.timings]
        return min(ran, key=lambda name: self.timings[name].median, default=None)


def take_turns(
    entrants: Mapping[str, tuple[str, Path]],
    feed: Mapping[str, np.ndarray],
    terms: Terms,
    plan: MeasurementPlan,
    required: str,
) -> Turns:
    """Time `entrants`, each a runtime and a file, on `feed` in turns, each in a process of its own.

    Those that fail are left out, with a line on standard error. Raises `PeerError` if `required`
    fails.
    """
    contestants: dict[str, Contestant] = {}
    with ExitStack() as stack:
        for name, (runtime, path) in entrants.items():
            try:
                contestants[name] = Contestant(runtime, path, terms, feed, plan)
            except PeerError as error:
                if name == required:
                    raise
                print(f"{path.stem}: {name}: {error}", file=sys.stderr)
                continue
            stack.callback(contestants[name].close)
        bursts = {name: contestant.burst for name, contestant in contestants.items()}
        timings = interleave(bursts, plan.rounds)
        results = {name: contestant.loaded.results for name, contestant in contestants.items()}
    return Turns(timings, results)
