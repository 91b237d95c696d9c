"""What became of a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a graph ended."""

    PASS = "pass"
    ILL_CONDITIONED = "ill-conditioned"
    """Beyond the tolerance, but not farther from float64 than the reference, by much; or rounding
    decides it, with other inputs than those it was drawn with."""
    UNSUPPORTED = "declared limit"
    """Refused as it should be, with the nodes that are not supported."""
    WRONG = "wrong answer"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"


FINDINGS = (Status.WRONG, Status.ERROR, Status.CRASH, Status.HANG)
"""What must not be."""


@dataclass(frozen=True)
class Outcome:
    """One graph, compiled and run."""

    index: int
    status: Status
    detail: str = ""
    nodes: int = 0
    operators: Sequence[str] = ()
    types: Sequence[str] = ()
    """Element types of all values that go in or come out."""
    opset: int = 0
    reference: str = ""
    """Who computed what is expected."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Draws that were given up, by reason."""
    seconds: float = 0.0
    inputs: int = 0
    """The number of the inputs that showed it, 0 for those that the graph was drawn with."""
    alone: bool = True
    """True if the outcome occurs without earlier calls, too."""

    @property
    def is_finding(self) -> bool:
        """Whether it must not be."""
        return self.status in FINDINGS

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(written: dict[str, Any]) -> "Outcome":
        """What `to_json` wrote. ValueError, TypeError or KeyError for anything else."""
        return Outcome(**{**written, "status": Status(written["status"])})
