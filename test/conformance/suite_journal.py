"""The journal of a run. The journals of the shards of one run can be merged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphc.errors import UsageError
from harness import journal

from .case_outcome import CaseOutcome


@dataclass(frozen=True)
class SuiteRun:
    """The settings and the environment of a run. Outcomes belong together if these are equal."""

    target: str
    """The target as requested: ``vulkan``."""
    variant: str
    """The target that the code was compiled for: ``vulkan:llvmpipe``."""
    device: str
    """The name that the device reports; empty if nothing was executed."""
    executed: bool
    """True if the compiled cases were executed; False if they were only compiled."""
    host: bool
    """True if parts of a model were allowed to run on the host."""
    versions: Mapping[str, str]
    """Versions of the packages that determine the results."""
    date: str = field(compare=False)
    """The day on which the run began."""


class SuiteJournal(journal.Journal[SuiteRun, CaseOutcome]):
    """The journal of a run of the suite."""

    run_type = SuiteRun
    outcome_type = CaseOutcome


def merge_journals(paths: Iterable[Path]) -> tuple[SuiteRun, dict[str, CaseOutcome]]:
    """The run and the outcomes of the journals of its shards.

    Raises `UsageError` if a file cannot be read or belongs to another run, or if there are no
    files.
    """
    merged: tuple[SuiteRun, dict[str, CaseOutcome]] | None = None
    for path in paths:
        run, outcomes = SuiteJournal.read(path)
        if merged is None:
            merged = run, outcomes
        else:
            journal.require_same(path, run, merged[0])
            merged[1].update(outcomes)
    if merged is None:
        raise UsageError("no file of results is named")
    return merged
