"""The result of a search: what was tried, and what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .database import TuningRecord


@dataclass(frozen=True)
class TuningTrial:
    """A point that was tried: what differs from the default, and its time over the default's.

    The ratio is None for a candidate that was refused, with the reason in `outcome`.
    """

    changes: Mapping[str, str]
    ratio: float | None
    outcome: str


@dataclass(frozen=True)
class TuningResult:
    """The fastest pipeline that was found, and what was tried.

    `ratio` is the time of a call over that with the default pipeline; 1.0 if nothing was faster.
    `elsewhere` has the trials that were measured on machines other than that of the search.
    """

    record: TuningRecord
    trials: Sequence[TuningTrial] = field(default_factory=tuple[TuningTrial, ...])
    elsewhere: Sequence[TuningRecord] = field(default_factory=tuple[TuningRecord, ...])

    @property
    def records(self) -> Sequence[TuningRecord]:
        """All records, for a database."""
        return self.record, *self.elsewhere

    @property
    def pipeline(self) -> str:
        """The pipeline, for ``graphc.compile(model, pipeline=...)`` and gc-opt."""
        return self.record.pipeline

    @property
    def ratio(self) -> float:
        """The time of a call over that with the default pipeline."""
        return self.record.ratio

    def __str__(self) -> str:
        lines = [f"{self.record.name}: {self.ratio:.3f} of the default's time"]
        lines += [f"  {name} = {value}" for name, value in self.record.changes.items()]
        lines.append(f"{len(self.trials)} trials:")
        for trial in sorted(self.trials, key=lambda each: each.ratio or float("inf")):
            changes = ", ".join(f"{n} = {v}" for n, v in trial.changes.items())
            ratio = "   -  " if trial.ratio is None else f"{trial.ratio:6.3f}"
            lines.append(f"  {ratio}  {changes}: {trial.outcome}")
        return "\n".join(lines)
