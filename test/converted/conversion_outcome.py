"""The outcome of a case, and the file of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from harness import journal


class ConversionStatus(StrEnum):
    """The status of a case."""

    PASS = "pass"
    WRONG = "wrong answer"
    UNSUPPORTED = "unsupported"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"
    NOT_CONVERTED = "not converted"
    """The framework or its exporter failed."""
    NO_REFERENCE = "no reference"
    """ONNX Runtime refuses the model, or disagrees with the framework or with its own earlier
    results."""


OTHERS = (ConversionStatus.NOT_CONVERTED, ConversionStatus.NO_REFERENCE)
"""Statuses that say nothing about graphc."""
SEVERITY: Sequence[ConversionStatus] = tuple(
    ConversionStatus[name]
    for name in (
        *("CRASH", "WRONG", "ERROR", "HANG", "UNSUPPORTED", "PASS"),
        *("NO_REFERENCE", "NOT_CONVERTED"),
    )
)
"""The statuses by precedence in a case of several models: failures come before passes."""


@dataclass(frozen=True)
class ConversionOutcome:
    """The outcome of one case that was converted and run."""

    name: str
    status: ConversionStatus
    detail: str = ""
    models: int = 0
    """Number of models of the case that were compiled."""
    calls: int = 0
    native: bool = True
    """True if no part ran on the host."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the results were right, or if the right ones are not known."""
        return self.status is ConversionStatus.PASS or self.status in OTHERS

    def to_json(self) -> dict[str, Any]:
        """The outcome in the form that `from_json` reads."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(written: dict[str, Any]) -> "ConversionOutcome":
        """The outcome that `to_json` wrote. Raises ValueError, TypeError or KeyError for others."""
        return ConversionOutcome(**{**written, "status": ConversionStatus(written["status"])})


def worst_of(name: str, outcomes: Sequence[ConversionOutcome]) -> ConversionOutcome:
    """The outcome of a case of several models."""
    worst = min(outcomes, key=lambda each: SEVERITY.index(each.status))
    return ConversionOutcome(
        name,
        worst.status,
        worst.detail,
        sum(each.models for each in outcomes),
        sum(each.calls for each in outcomes),
        all(each.native for each in outcomes),
    )


@dataclass(frozen=True)
class ConversionRun:
    """The suite that was converted, with which package versions, and when."""

    suite: str
    versions: Mapping[str, str]
    date: str = field(compare=False)


class ConversionJournal(journal.Journal[ConversionRun, ConversionOutcome]):
    """The file of a run."""

    run_type = ConversionRun
    outcome_type = ConversionOutcome
