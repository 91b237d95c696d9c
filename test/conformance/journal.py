"""What a run leaves behind as it goes. Files of the shards of one run are read together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphc.errors import UsageError
from harness import journal

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


class Journal(journal.Journal[Run, Outcome]):
    """The file of a run of the suite."""

    run_type = Run
    outcome_type = Outcome


def merge_journals(paths: Iterable[Path]) -> tuple[Run, dict[str, Outcome]]:
    """What the files of one run's shards hold together.

    Raises `UsageError` where a file cannot be read, is of another run, or there is none.
    """
    merged: tuple[Run, dict[str, Outcome]] | None = None
    for path in paths:
        run, outcomes = Journal.read(path)
        if merged is None:
            merged = run, outcomes
        else:
            journal.require_same(path, run, merged[0])
            merged[1].update(outcomes)
    if merged is None:
        raise UsageError("no file of results is named")
    return merged
