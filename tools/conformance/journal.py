"""What a run leaves behind as it goes: a file of JSON lines, from which it can be taken up again.

The first line says what was run and with what, each further one how a case ended. Files of the
shards of one run are read together.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ...errors import OutputError, UsageError
from .outcome import Outcome


@dataclass(frozen=True)
class Run:
    """What was run, and with what. Outcomes belong together where these are equal."""

    target: str
    """As it was asked for: ``vulkan``."""
    variant: str
    """What the code was made for: ``vulkan:llvmpipe``."""
    device: str
    """What the device calls itself; empty where nothing was executed."""
    executed: bool
    """Whether what was compiled was run, and not compiled alone."""
    host: bool
    """Whether parts might run on the host."""
    versions: Mapping[str, str]
    """Of the packages that decide the results."""
    date: str = field(compare=False)
    """The day on which it began."""


class Journal:
    """The file of a run that goes on; outcomes are in it as soon as they are added."""

    def __init__(self, path: Path, run: Run, resume: bool):
        """Begin the file for `run`, or with `resume` go on with it.

        Raises `UsageError` where the file is there and is not to be resumed, or is of another run;
        `OutputError` where it cannot be written.
        """
        self.run = run
        self.outcomes: dict[str, Outcome] = {}
        """What was in the file before."""
        if path.exists():
            if not resume:
                raise UsageError(f"'{path}' is there already: --resume goes on with it")
            self._take_up(path)
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write to '{path}': {error.strerror}") from error
        if not self._file.tell():
            self._write({"run": asdict(run)})

    def add(self, outcome: Outcome) -> None:
        """Keep `outcome`."""
        self._write(outcome.to_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _take_up(self, path: Path) -> None:
        with path.open("rb+") as file:
            file.truncate(len(_whole_lines(file.read())))
        if not path.stat().st_size:
            return
        earlier, self.outcomes = read_journal(path)
        if earlier != self.run:
            raise UsageError(f"'{path}' is of another run: {_differences(earlier, self.run)}")
        self.run = earlier

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def read_journal(path: Path) -> tuple[Run, dict[str, Outcome]]:
    """The run and the outcomes in a file. Raises `UsageError` where it is none of a run's."""
    try:
        first, *rest = _whole_lines(path.read_bytes()).splitlines()
        run = Run(**json.loads(first)["run"])
        outcomes = [Outcome.from_json(json.loads(line)) for line in rest]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"'{path}' is no file of results: {error}") from error
    return run, {outcome.name: outcome for outcome in outcomes}


def merge_journals(paths: Iterable[Path]) -> tuple[Run, dict[str, Outcome]]:
    """What the files of one run's shards hold together.

    Raises `UsageError` where a file cannot be read, is of another run, or there is none.
    """
    merged: tuple[Run, dict[str, Outcome]] | None = None
    for path in paths:
        run, outcomes = read_journal(path)
        if merged is None:
            merged = run, outcomes
        elif run != merged[0]:
            raise UsageError(f"'{path}' is of another run: {_differences(run, merged[0])}")
        else:
            merged[1].update(outcomes)
    if merged is None:
        raise UsageError("no file of results is named")
    return merged


def _whole_lines(contents: bytes) -> bytes:
    """`contents` without the half of a line that a run leaves which is killed."""
    return contents[: contents.rfind(b"\n") + 1]


def _differences(theirs: Run, ours: Run) -> str:
    pairs = ((each.name, getattr(theirs, each.name), getattr(ours, each.name))
             for each in fields(Run) if each.compare)  # fmt: skip
    return "; ".join(f"{name} is {a!r}, not {b!r}" for name, a, b in pairs if a != b)
