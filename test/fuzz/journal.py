"""The journal of a run; see `harness.journal`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness import journal

from .outcome import Outcome


@dataclass(frozen=True)
class Run:
    """The seed of a run, and the target and versions that it was made with."""

    seed: int
    target: str
    """The target that the code was compiled for: ``cpu:host``."""
    versions: Mapping[str, str]
    """Versions of the packages that determine the graphs and the results."""
    date: str = field(compare=False)
    """The day on which the run began."""


class Journal(journal.Journal[Run, Outcome]):
    """The journal of a fuzzing run."""

    run_type = Run
    outcome_type = Outcome

    @staticmethod
    def key(outcome: Outcome) -> int:
        """The index of the graph."""
        return outcome.index
