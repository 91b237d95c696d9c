"""The journal of a run; see `harness.journal`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness import journal

from .graph_outcome import GraphOutcome


@dataclass(frozen=True)
class FuzzRun:
    """The seed of a run, and the target and versions that it was made with."""

    seed: int
    target: str
    """The target that the code was compiled for: ``cpu:host``."""
    versions: Mapping[str, str]
    """Versions of the packages that determine the graphs and the results."""
    date: str = field(compare=False)
    """The day on which the run began."""
    family: str | None = None
    """The family that all graphs are of; None if they are of several."""


class FuzzJournal(journal.Journal[FuzzRun, GraphOutcome]):
    """The journal of a fuzzing run."""

    run_type = FuzzRun
    outcome_type = GraphOutcome

    @staticmethod
    def key(outcome: GraphOutcome) -> int:
        """The index of the graph."""
        return outcome.index
