"""The file of a run: see `harness.journal`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness import journal

from .outcome import Outcome


@dataclass(frozen=True)
class Run:
    """What was drawn, and with what it was compiled and compared."""

    seed: int
    target: str
    """What the code was made for: ``cpu:host``."""
    versions: Mapping[str, str]
    """Of the packages that decide the graphs and the results."""
    date: str = field(compare=False)
    """The day on which it began."""


class Journal(journal.Journal[Run, Outcome]):
    """The file of a run of graphs."""

    run_type = Run
    outcome_type = Outcome

    @staticmethod
    def key(outcome: Outcome) -> int:
        """The number of the graph."""
        return outcome.index
